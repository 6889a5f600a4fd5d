"""The command `lifelong`, and `python -m lifelong`: a hook takes the short way, since its host waits for it."""

import os
import sys


def main() -> None:
    """Run a command, and exit."""
    _open_closed_streams()
    if sys.argv[1:2] == ["hook"]:
        import gc

        from lifelong.serve import hook

        gc.disable()  # the process ends before there is anything worth collecting
        if hook.run(sys.argv[2:]):
            hook.exit_at_once()
    from lifelong.serve import cli

    cli.main()


def _open_closed_streams() -> None:
    """Open each standard stream that the caller closed: reading from it finds its end, and what is written to it
    is dropped. Else `sys.stdout` would be None, and the next file that is opened would get its number."""
    sys.stdin = sys.stdin or open(os.devnull)  # noqa: PTH123, SIM115 - pathlib takes a while
    sys.stdout = sys.stdout or open(os.devnull, "w")  # noqa: PTH123, SIM115
    sys.stderr = sys.stderr or open(os.devnull, "w")  # noqa: PTH123, SIM115


if __name__ == "__main__":
    main()
