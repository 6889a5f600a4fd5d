"""The command `lifelong`, and `python -m lifelong`: a hook takes the short way, since its host waits for it."""

import sys


def main() -> None:
    """Run a command, and exit."""
    if sys.argv[1:2] == ["hook"]:
        import gc

        from lifelong.serve import hook

        gc.disable()  # the process ends before there is anything worth collecting
        if hook.run(sys.argv[2:]):
            hook.exit_at_once()
    from lifelong.serve import cli

    cli.main()


if __name__ == "__main__":
    main()
