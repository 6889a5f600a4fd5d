"""Figures, as ratios in one run: `make bench`, or one part of it with `make bench PART=append`.

A part is a module with `run`, which measures, prints a table and returns its figures by name. They are
written to `results/<part>.json`, flat keys to numbers, for a script to read.
"""
