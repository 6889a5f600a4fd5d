"""`python -m recollect`: the command line without its script."""

from recollect.serve.cli import main

main()
