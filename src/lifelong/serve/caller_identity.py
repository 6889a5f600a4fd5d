"""Name the agent of a program that calls: over MCP, from a hook, or at the command line."""

from __future__ import annotations

from lifelong.collect.descriptors import User, channel_name
from lifelong.memory import person_of


def caller(connector: str, user: str, channel: str) -> User:
    """Return the agent of a program that a person uses, e.g. of the connector `mcp` and the client's name as its
    channel. Names may be any text."""
    return User(connector, person_of(user), channel_name(channel) or "client")
