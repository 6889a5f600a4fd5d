"""3. What comes back: everything that is known can be found by words, by meaning, by speaker and by time.

ARCHITECTURE.md lists the modules in reading order.
"""
