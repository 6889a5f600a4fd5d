"""`python -m lifelong`: the command line without its script."""

from lifelong.serve.cli import main

main()
