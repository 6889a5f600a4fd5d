"""The command line: `app.py` puts it together, and each other file holds the commands of one noun."""

from lifelong.serve.cli.app import app, main

__all__ = ["app", "main"]
