"""The folder everything lives in. A person can open it, read it and put it in git."""

from __future__ import annotations

from pathlib import Path

from recollect.errors import StorageUnavailable
from recollect.gate import checked_profile


class Home:
    """Where the files of a home are. Making one creates nothing."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path).expanduser().absolute()

    @property
    def database(self) -> Path:
        return self.path / "recollect.db"

    @property
    def settings(self) -> Path:
        return self.path / "recollect.toml"

    def profile(self, name: str) -> Path:
        """The folder of a profile's own files. It appears with the first of them."""
        return self.path / "profiles" / checked_profile(name)

    def ensure(self) -> None:
        """Make the folder, for its owner alone, or say why it cannot be one."""
        if self.path.exists() and not self.path.is_dir():
            raise StorageUnavailable(f"{self.path} is a file, so it cannot be a home. Name a folder.")
        try:
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise StorageUnavailable(
                f"The home {self.path} cannot be made: {error.strerror}. Name a folder that can be written."
            ) from error
