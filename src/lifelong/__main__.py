"""The command `lifelong`, and `python -m lifelong`: a hook takes the short way, since its host waits for it."""

import sys


def main() -> None:
    """Run a command, and exit."""
    if sys.argv[1:2] == ["hook"]:
        from lifelong.serve import hook

        if hook.run(sys.argv[2:]):
            return
    from lifelong.serve import cli

    cli.main()


if __name__ == "__main__":
    main()
