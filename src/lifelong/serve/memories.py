"""The memories of one home that a server holds open: one a user."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Self

from lifelong.errors import MemoryClosed, StorageUnavailable, UserNotFound
from lifelong.home import Home
from lifelong.memory import Memory
from lifelong.settings import Settings
from lifelong.types import Clock, utc_now
from lifelong.validation import validate_user

DEFAULT = "default"


def existing_home(home: str | Path) -> Home:
    """The home, if there is a memory in it, or the settings of one: a typing mistake must not make a new one."""
    place = Home(home)
    place.check()
    made = place.settings.exists() or (place.database.exists() and place.database.stat().st_size > 0)
    if not (made or Settings.load(place.settings).storage.url.get_secret_value()):
        raise StorageUnavailable(
            f"There is no memory at {place.path}. Name its home with --home or LIFELONG_HOME, or make one: "
            "lifelong init"
        )
    return place


def check_known(user: str, known: Collection[str], by: str = "") -> None:
    """A user that holds nothing is unknown, but for the default one: a typing mistake must not make one."""
    if user not in known:
        names = ", ".join(sorted({DEFAULT, *known}))
        raise UserNotFound(f"Nothing is known in the user {user!r}. Name one of these{by}: {names}.")


class _Served(Memory):
    """A memory that tells of the worker's work as of its own."""

    heard: Callable[[], list[str]]

    def remarks(self) -> list[str]:
        return list(dict.fromkeys([*super().remarks(), *self.heard()]))


class Memories:
    """Opens a user's memory when it is first asked for. It starts no background work: that is a worker's, in a
    process of its own. Safe to share between threads."""

    def __init__(self, home: str | Path, *, clock: Clock = utc_now, **settings: Mapping[str, object]) -> None:
        self.home = Home(home)
        self._clock = clock
        self._settings = settings
        self._open: dict[str, Memory] = {}
        self._heard: dict[str, list[str]] = {}
        self._known = {DEFAULT}  # those that hold something
        self._gate = threading.Lock()
        self._closed = False
        self.get()  # so that a home that cannot be used is said at once

    def get(self, user: str = DEFAULT, *, new: bool = False) -> Memory:
        """The user's memory: of one that is known, or of a `new` one."""
        found = self._open.get(validate_user(user))
        if found and (new or user in self._known):
            return found
        if not new and user not in self._known:
            self._known.update(self.users())
            check_known(user, self._known)
        with self._gate:
            if self._closed:
                raise MemoryClosed
            if user not in self._open:
                made = _Served.open(self.home.path, user, clock=self._clock, organizer=None, **self._settings)
                made.heard = lambda: [*self._heard.get("", ()), *self._heard.get(user, ())]
                self._open[user] = made
            return self._open[user]

    def hear(self, remarks: dict[str, list[str]]) -> None:
        """What the worker says now of its work, by user; under no name, what everybody should know."""
        self._heard = remarks

    def users(self) -> list[str]:
        """The default one, and all that hold something."""
        return sorted({DEFAULT, *self.get().users()})

    def close(self) -> None:
        """Close every memory. Safe to call twice."""
        with self._gate:
            self._closed = True
            opened, self._open = list(self._open.values()), {}
        for memory in opened:
            memory.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()
