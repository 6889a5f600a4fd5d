"""`lifelong init`: a home with its settings, in which everything recommended is on."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import SecretStr

from lifelong.errors import InputError
from lifelong.home import Home
from lifelong.memory import Memory
from lifelong.settings import Settings

ON = {"continuity": ("journal_enabled", "memory_compaction_enabled", "experience_store_enabled")}
"""What the library leaves off, and a person who starts the program wants."""


def begin(home: str | Path) -> Home:
    """Make the home, its settings and its database. Settings that are there are never written over, and where the
    database cannot be made, no settings are left behind."""
    place = Home(home)
    place.check()
    place.ensure()
    try:
        place.settings.touch(mode=0o600, exist_ok=False)  # it may come to hold a password
    except FileExistsError:
        raise InputError(
            f"{place.settings} is there already, and was left as it is. Edit it, or name another home with --home."
        ) from None
    try:
        place.settings.write_text(settings(), encoding="utf-8")
        Memory.open(place.path).close()
    except BaseException:
        place.settings.unlink()
        raise
    return place


def settings() -> str:
    """lifelong.toml: every key there is, as a comment where it has its default."""
    lines = [
        "# The settings of this home. A line with '#' before it shows a default: take the '#' away to change it.",
        "# LIFELONG_<SECTION>_<KEY> in the environment counts more. What is in force: lifelong config",
    ]
    for name, section in Settings():
        lines += ["", f"[{name}]  # {' '.join((type(section).__doc__ or '').split())}"]
        for key, field in type(section).model_fields.items():
            lines.append(f"# {field.description}")
            if key in ON.get(name, ()):
                lines.append(f"{key} = true")
            else:
                lines.append(f"# {key} = {_written(field.default)}")
    return "\n".join(lines) + "\n"


def _written(default: object) -> str:
    if default is None:
        return "(not set)"
    return json.dumps(default.get_secret_value() if isinstance(default, SecretStr) else default)
