"""Which agent a program is that calls in: over MCP, from a hook, or at the command line."""

from __future__ import annotations

import getpass
from hashlib import blake2b

from lifelong.collect.descriptors import User
from lifelong.memory import DEFAULT_USER

LONGEST = 300  # bytes of a name that is kept as it is
NOBODY = ("root", "")


def caller(connector: str, user: str, channel: str) -> User:
    """A program that a person uses: a channel each, e.g. `mcp` and the client's name. Names may be any text. The
    person goes by the user's name; in the default one, by their login, for that is who the facts speak of."""
    return User(connector, user if user != DEFAULT_USER else login(), _part(channel) or "client")


def login() -> str:
    """The person's name on this machine; `user` where it is nobody's own."""
    try:
        name = _part(getpass.getuser())
    except (OSError, KeyError):  # this process's user has no name
        name = ""
    return "user" if name in NOBODY else name


def _part(name: str) -> str:
    """A part of an address: one line, short enough, and different for names that differ."""
    shown = "".join(sign for sign in name if sign.isprintable()).strip()
    if len(shown.encode()) <= LONGEST:
        return shown
    return f"{shown[:40]}-{blake2b(shown.encode(), digest_size=9).hexdigest()}"
