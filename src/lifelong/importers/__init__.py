"""Pick yours: readers of what people have elsewhere, one module a format, behind the protocol in `base.py`.

`sources.py` finds the files, `importing.py` reads conversations in the order of time and stores what is new.
"""
