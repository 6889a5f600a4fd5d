"""What the database of a home is encrypted with: the key of the settings, or that of the system's keyring."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from lifelong.errors import ConfigError
from lifelong.home import Home

if TYPE_CHECKING:
    from lifelong.settings import StorageSettings

SERVICE = "lifelong"


def database_key(home: Home, storage: StorageSettings) -> str:
    """Return the key of a home's database; empty where it is not encrypted."""
    key = storage.key.get_secret_value()
    return _keyring_key(home.path) if storage.keyring and not key else key


def _keyring_key(home: Path) -> str:
    try:
        import keyring
        from keyring.errors import KeyringError
    except ImportError as error:
        raise ConfigError(
            "storage.keyring is true, but the package keyring is not installed. "
            "Run: pip install 'lifelong[encryption]'"
        ) from error
    name = os.path.realpath(home)
    try:
        key = keyring.get_password(SERVICE, name)
    except KeyringError as error:
        raise ConfigError(
            f"storage.keyring is true, but the system's keyring cannot be read: {error}. Unlock it, or set "
            "LIFELONG_STORAGE_KEY."
        ) from error
    if not key:
        raise ConfigError(
            "storage.keyring is true, but the keyring has no key for this home. "
            f"Store one: keyring set {SERVICE} {name}"
        )
    return str(key)
