"""3. What comes back: everything that is known can be found, by words, by meaning, and by who said it when.

ARCHITECTURE.md has the modules in the order they are read.
"""
