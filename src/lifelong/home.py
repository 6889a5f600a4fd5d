"""The folder everything lives in. A person can open it, read it and put it in git."""

from __future__ import annotations

import os
import stat
from pathlib import Path

from lifelong.disk import MIN_FREE_BYTES, file_identity, free_bytes, make_folder, open_to_others
from lifelong.errors import StorageUnavailable
from lifelong.validation import is_user_name, validate_path, validate_user


class Home:
    """Where the files of a home are. Making one creates nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = validate_path(path, "The home")
        self._held: tuple[int, int] | None = None

    @property
    def database(self) -> Path:
        return self.path / "lifelong.db"

    @property
    def settings(self) -> Path:
        return self.path / "lifelong.toml"

    def user_folder(self, name: str) -> Path:
        """Return the folder of a user's own files. It appears with the first of them. Raise `StorageUnavailable`
        for a link: it may lead out of the home, or to another user."""
        users = self.path / "users"
        for place in (users, users / validate_user(name)):
            if os.path.islink(place):  # noqa: PTH114 - which never fails; what cannot be looked at, cannot be read
                raise StorageUnavailable(
                    f"{place} is a link, so nothing is read or written there. Put the folder itself in its place."
                )
        return users / name

    def users(self) -> list[str]:
        """Return the users that have files."""
        try:
            found = [place for place in self.path.glob("users/*") if is_user_name(place.name) and place.is_dir()]
        except OSError as error:
            raise self._unusable(error) from error
        return [place.name for place in found if not place.is_symlink()]

    def exposed(self) -> list[str]:
        """Return what other users of the machine may change or read here, a sentence with the fix for each."""
        found = []
        if mode := open_to_others(self.path, 0o755):
            found.append(f"Others may write to {self.path} (mode {mode}). Run: chmod 700 {self.path}")
        for place in (self.settings, self.database, self.path / "users"):
            if not open_to_others(self.path, 0o700) or not (mode := open_to_others(place)):
                continue  # nobody gets past the home's own folder
            private = 700 if place.is_dir() else 600
            found.append(f"Others may read {place} (mode {mode}). Run: chmod {private} {place}")
        return found

    def full(self) -> str:
        """Return a sentence where hardly any room is left, so that nothing can be stored or organized."""
        if free_bytes(self.path) >= MIN_FREE_BYTES:
            return ""
        return f"There is no room left in {self.path}, so nothing can be stored or organized. Free some space."

    def hold(self) -> None:
        """Remember which folder this is, so that `check_in_place` notices another one in its place."""
        self._held = file_identity(self.path)

    def check_in_place(self) -> None:
        """Raise `StorageUnavailable` where the folder is not the one that is held: what is written elsewhere
        is not found again."""
        if moved := self.moved():
            raise StorageUnavailable(moved)

    def moved(self) -> str:
        """Return a sentence where the folder was moved, removed or replaced since it is held."""
        if self._held is None or file_identity(self.path) == self._held:
            return ""
        return (
            f"{self.path} was moved, removed or replaced while it was open. Nothing was stored; put it back, or "
            "close the memory and open it again."
        )

    def check(self) -> None:
        """Say why this cannot be a home, before anything is made or read."""
        try:
            usable = stat.S_ISDIR(self.path.stat().st_mode)
        except FileNotFoundError:
            return
        except NotADirectoryError:
            usable = False
        except OSError as error:
            raise self._unusable(error) from error
        if not usable:
            file = next(place for place in (self.path, *self.path.parents) if place.exists())
            what = "it" if file == self.path else self.path
            raise StorageUnavailable(f"{file} is a file, so {what} cannot be a home. Name a folder.")

    def ensure(self) -> None:
        """Make the folder, for its owner alone, durable on return."""
        try:
            make_folder(self.path)
        except OSError as error:
            raise self._unusable(error) from error

    def _unusable(self, error: OSError) -> StorageUnavailable:
        return StorageUnavailable(
            f"The home {self.path} cannot be used: {error.strerror}. Name a folder that can be read and written."
        )


def existing_home(path: str | Path) -> Home:
    """Return the home, if there is a memory in it or the settings of one. Raise `StorageUnavailable` otherwise: a
    typing mistake must not make a new home."""
    from lifelong.settings import Settings

    home = Home(path)
    home.check()
    made = home.settings.exists() or (home.database.exists() and home.database.stat().st_size > 0)
    if not (made or Settings.load(home.settings).storage.url.get_secret_value()):
        raise StorageUnavailable(
            f"There is no memory at {home.path}. Name its home with --home or LIFELONG_HOME, or make one: "
            "lifelong init"
        )
    return home
