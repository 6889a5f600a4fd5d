"""`python -m recollect.serve`: the command line without its script."""

from recollect.serve.cli import main

main()
