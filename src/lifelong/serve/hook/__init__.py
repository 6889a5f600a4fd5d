"""`lifelong hook`: what a coding agent's hooks call, so that its conversations are remembered.

A host (Claude Code, Codex, Gemini CLI) gives an event as JSON, and takes back what to add to its context or to
tell the user. A server or worker of the home answers through a socket, if one runs; else this process does. The
host is never stopped, and waits a few seconds at most. This module imports next to nothing: a prompt waits for it.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from typing import BinaryIO, TextIO

MAX_EVENT_BYTES = 8 * 2**20
MAX_ANSWER_SECONDS = 3.0  # for the process at the socket
SOCKET = "hook.sock"  # in the home
ENVIRONMENT = ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "GEMINI_SESSION_ID")
"""Variables by which hosts say more than their events do."""


def hook(stdin: BinaryIO, stdout: TextIO, home: str | Path, user: str = "default", *, tools: bool = False) -> None:
    """Handle one event, and write what the host should add to its context or tell the user. With `tools`, tool
    calls and what subagents report are stored, too."""
    try:
        data = stdin.read(MAX_EVENT_BYTES + 1)
        environment = {name: os.environ[name] for name in ENVIRONMENT if name in os.environ}
        answer = _ask(str(home), encode_request(data, user, environment, tools=tools))
        if answer is None:
            from lifelong.serve.hook.answer import answer_alone

            answer = answer_alone(data, home, user, environment, tools=tools)
        stdout.write(answer)
    except Exception as error:  # the host must continue
        message = "".join(sign for sign in f"{error}"[:500] if sign.isprintable())
        kind = "" if type(error).__module__ == "lifelong.errors" else f"{type(error).__name__}: "
        try:
            sys.stderr.write(f"lifelong hook: {kind}{message}\n")
        except OSError:  # there is nobody else to tell
            return


def run(words: Sequence[str]) -> bool:
    """Run `lifelong hook` with these arguments, if they are the plain ones: `--home`, `--user`, `--tools` and an
    event, which Codex's `notify` adds. Return whether it did; the command line takes what is left."""
    home, user, tools, event = os.environ.get("LIFELONG_HOME") or "~/.lifelong", "default", False, ""
    rest = list(words)
    while rest:
        word = rest.pop(0)
        if word == "--tools":
            tools = True
        elif word in ("--home", "--user") and rest and not rest[0].startswith("-"):
            home, user = (rest.pop(0), user) if word == "--home" else (home, rest.pop(0))
        elif word.startswith("{") and not rest:
            event = word
        else:
            return False
    if event:
        import io

        hook(io.BytesIO(event.encode("utf-8", "replace")), sys.stdout, home, user, tools=tools)
    else:
        hook(sys.stdin.buffer, sys.stdout, home, user, tools=tools)
    return True


def exit_at_once() -> None:
    """End the process without taking its modules apart, which takes as long as a search. All is closed already."""
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    finally:
        os._exit(0)


def encode_request(data: bytes, user: str, environment: dict[str, str], *, tools: bool) -> bytes:
    """Return what is sent through the socket: the user, "tools" or "-" and the environment, with a zero between
    them; two zeros; the event."""
    lines = [user, "tools" if tools else "-", *(f"{name}={value}" for name, value in environment.items())]
    head = "\0".join(line.replace("\0", "") for line in lines)
    return head.encode("utf-8", "surrogateescape") + b"\0\0" + data


def _ask(home: str, request: bytes) -> str | None:
    """Return the answer of the process that listens at the home's socket; none where there is no such process, or
    it does not answer in time."""
    path = os.path.join(os.path.expanduser(home), SOCKET)  # noqa: PTH111, PTH118 - pathlib takes a while
    if not os.path.exists(path):  # noqa: PTH110
        return None
    import _socket  # `socket` takes as long to import as the answer takes

    try:
        line = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
        try:
            line.settimeout(MAX_ANSWER_SECONDS)
            line.connect(path)
            line.sendall(request)
            line.shutdown(_socket.SHUT_WR)
            received = b"".join(iter(lambda: line.recv(65536), b""))
        finally:
            line.close()
    except (OSError, AttributeError):  # nobody listens; there are no such sockets here
        return None
    return received[1:].decode() if received.startswith(b"+") else None
