"""Settings: the only reader of `lifelong.toml` and of the environment.

In rising order: the defaults, `lifelong.toml` in the home, `LIFELONG_<SECTION>_<KEY>` in the environment,
and arguments. An unknown key is an error that names the nearest known one, wherever it stands.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ConfigDict, SecretStr, ValidationError

from lifelong.errors import ConfigError
from lifelong.settings_sections import (
    CollectSettings,
    ContinuitySettings,
    EmbeddingsSettings,
    ModelsSettings,
    OrganizeSettings,
    Section,
    StorageSettings,
    VectorsSettings,
    WorkerSettings,
)

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "LIFELONG_"
NOT_SETTINGS = {"LIFELONG_HOME", "LIFELONG_TOKEN", "LIFELONG_BENCH_DATA"}
"""Names in the environment that say where things are and who may come in, not how they behave."""

SECRET = ("storage.url", "models.api_key", "embeddings.api_key")
"""Keys whose value is shown to nobody."""


class Settings(BaseModel):
    """Every key there is, by section. Frozen: a memory's settings are those it was opened with."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    storage: StorageSettings = StorageSettings()
    collect: CollectSettings = CollectSettings()
    worker: WorkerSettings = WorkerSettings()
    organize: OrganizeSettings = OrganizeSettings()
    models: ModelsSettings = ModelsSettings()
    embeddings: EmbeddingsSettings = EmbeddingsSettings()
    vectors: VectorsSettings = VectorsSettings()
    continuity: ContinuitySettings = ContinuitySettings()

    @classmethod
    def load(cls, file: Path | None = None, **arguments: Mapping[str, object]) -> Settings:
        """The settings of a home, with the environment and the arguments on top."""
        written = (_read(file), f"{file}") if file else ({}, "")
        merged: dict[str, dict[str, object]] = {}
        for sections, source in (written, (_in_environment(), "the environment"), (arguments, "the arguments")):
            _check_known(sections, source)
            for section, keys in sections.items():
                merged.setdefault(section, {}).update(keys)
        try:
            return cls.model_validate(merged)
        except ValidationError as error:
            raise ConfigError(_explain(error)) from None


def reference() -> str:
    """docs/configuration.md: every key, from the model itself."""
    lines = [
        "# Configuration",
        "",
        "Generated from `lifelong.settings` by `make docs`; do not edit by hand.",
        "",
        "In rising order: the defaults, `lifelong.toml` in the home, the environment, arguments:",
        "",
        "```toml",
        "[collect]",
        "turn_threshold = 8",
        "```",
        "```console",
        "$ export LIFELONG_COLLECT_TURN_THRESHOLD=8",
        "```",
        "```python",
        'Memory.open("home", collect={"turn_threshold": 8})',
        "```",
        "",
        "An unknown key is an error that names the nearest known one.",
    ]
    for section, field in Settings.model_fields.items():
        model = field.annotation
        assert isinstance(model, type) and issubclass(model, Section)  # noqa: PT018
        lines += [
            "",
            f"## `[{section}]`",
            "",
            f"{model.__doc__}",
            "",
            "| key | default | meaning |",
            "|---|---|---|",
        ]
        lines += [
            f"| `{name}` | {_shown(key.default)} | {key.description} |" for name, key in model.model_fields.items()
        ]
    return "\n".join(lines) + "\n"


def shown(settings: Settings) -> dict[str, dict[str, Any]]:
    """The settings for a person's eyes: the address of a database, with its password, is not shown."""
    return settings.model_dump(mode="json")


def known_keys() -> list[str]:
    """Every key there is, as `section.key`."""
    return [
        f"{section}.{key}"
        for section, field in Settings.model_fields.items()
        for key in field.annotation.model_fields  # type: ignore[union-attr]
    ]


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ConfigError(f"{file} cannot be read: {why}. Mend it and try again.") from error


def _flat(sections: Mapping[str, object]) -> Iterator[str]:
    for section, keys in sections.items():
        if isinstance(keys, Mapping) and (keys or section in Settings.model_fields):
            yield from (f"{section}.{key}" if key != "" else section for key in keys)
        else:
            yield section


def _in_environment() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    for name, value in os.environ.items():
        if name.upper().startswith(PREFIX) and name.upper() not in NOT_SETTINGS:
            section, _, key = name[len(PREFIX) :].lower().partition("_")
            default = getattr(getattr(Settings.model_fields.get(section), "default", None), key, None)
            found.setdefault(section, {})[key] = _list(name, value) if isinstance(default, tuple) else value
    return found


def _list(name: str, value: str) -> object:
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{name.upper()} in the environment cannot be read. Write a list as JSON, e.g. '[\"cron\"]'."
        ) from error


def _check_known(sections: Mapping[str, object], source: str) -> None:
    known = known_keys()
    for key in _flat(sections):
        if key not in known:
            near = difflib.get_close_matches(key, known, n=1, cutoff=0.0)[0]
            raise ConfigError(f"Unknown setting {key!r} in {source}. Did you mean {near!r}?")


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    given = "that" if key.startswith(SECRET) else repr(first["input"])
    why = first["msg"].removeprefix("Value error, ")
    return f"The setting {key!r} cannot be {given}: {why}. See docs/configuration.md."


def _shown(default: object) -> str:
    if default is None:
        return "none"
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return f"`{json.dumps(default)}`"
