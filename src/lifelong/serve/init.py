"""`lifelong init`: make a home whose settings switch on everything that is recommended."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import SecretStr

from lifelong.disk import write_new
from lifelong.errors import InputError
from lifelong.home import Home
from lifelong.memory import Memory
from lifelong.settings import Settings, descriptions

RECOMMENDED = {"continuity": ("journal_enabled", "memory_compaction_enabled", "experience_store_enabled")}
"""What the library leaves off, and a person who starts with the command line wants."""


def make_home(home: str | Path) -> Home:
    """Make the home, its settings and its database. Existing settings are never overwritten; if the database
    cannot be made, no settings are left behind."""
    place = Home(home)
    place.check()
    place.ensure()
    try:
        write_new(place.settings, settings().encode())  # for its owner alone: it may hold a password one day
    except FileExistsError:
        raise InputError(
            f"{place.settings} exists already, and was left as it is. Edit it, or name another home with --home."
        ) from None
    try:
        Memory.open(place.path).close()
    except BaseException:
        place.settings.unlink()
        raise
    return place


def settings() -> str:
    """Return lifelong.toml: every key, as a comment if it has its default."""
    lines = [
        "# The settings of this home. A line that begins with '#' shows a default: remove the '#' to change it.",
        "# LIFELONG_<SECTION>_<KEY> in the environment overrides it. See what is in force with: lifelong config",
    ]
    texts = descriptions()
    for name, section in Settings():
        lines += ["", f"[{name}]  # {' '.join((type(section).__doc__ or '').split())}"]
        for key, field in type(section).model_fields.items():
            lines.append(f"# {texts[type(section).__name__, key]}")
            if key in RECOMMENDED.get(name, ()):
                lines.append(f"{key} = true")
            else:
                lines.append(f"# {key} = {_to_toml(field.default)}")
    return "\n".join(lines) + "\n"


def _to_toml(default: object) -> str:
    if default is None:
        return "(not set)"
    return json.dumps(default.get_secret_value() if isinstance(default, SecretStr) else default)
