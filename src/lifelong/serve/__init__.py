"""How to reach it: the command line."""
