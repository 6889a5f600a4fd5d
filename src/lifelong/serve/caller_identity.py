"""Name the agent of a program that calls: over MCP, from a hook, or at the command line."""

from __future__ import annotations

import getpass
from hashlib import blake2b

from lifelong.collect.descriptors import User
from lifelong.memory import DEFAULT_USER

MAX_NAME_BYTES = 300  # a longer name is cut and hashed
ANONYMOUS_LOGINS = ("root", "")


def caller(connector: str, user: str, channel: str) -> User:
    """Return the agent of a program that a person uses, e.g. of the connector `mcp` and the client's name as its
    channel. Names may be any text. The person has the user's name; for the default user, their login, because
    facts name the person so."""
    return User(connector, user if user != DEFAULT_USER else login(), _part(channel) or "client")


def login() -> str:
    """Return the person's login name on this machine; `user` where it is not a person's."""
    try:
        name = _part(getpass.getuser())
    except (OSError, KeyError):  # the process's user has no name
        name = ""
    return "user" if name in ANONYMOUS_LOGINS else name


def _part(name: str) -> str:
    """Return a name as one line, short enough, and different for different names."""
    shown = "".join(sign for sign in name if sign.isprintable()).strip()
    if len(shown.encode()) <= MAX_NAME_BYTES:
        return shown
    return f"{shown[:40]}-{blake2b(shown.encode(), digest_size=9).hexdigest()}"
