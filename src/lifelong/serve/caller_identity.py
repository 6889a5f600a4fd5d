"""Name the agent of a program that calls: over MCP, from a hook, or at the command line."""

from __future__ import annotations

from hashlib import blake2b

from lifelong.collect.descriptors import User
from lifelong.memory import person_of

MAX_NAME_BYTES = 300  # a longer name is cut and hashed


def caller(connector: str, user: str, channel: str) -> User:
    """Return the agent of a program that a person uses, e.g. of the connector `mcp` and the client's name as its
    channel. Names may be any text."""
    return User(connector, person_of(user), _part(channel) or "client")


def _part(name: str) -> str:
    """Return a name as one line, short enough, and different for different names."""
    shown = "".join(sign for sign in name if sign.isprintable()).strip()
    if len(shown.encode()) <= MAX_NAME_BYTES:
        return shown
    return f"{shown[:40]}-{blake2b(shown.encode(), digest_size=9).hexdigest()}"
