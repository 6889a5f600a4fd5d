"""Settings: the only reader of `recollect.toml` and of the environment.

In rising order: the defaults, `recollect.toml` in the home, `RECOLLECT_<SECTION>_<KEY>` in the environment,
and arguments. An unknown key is an error that names the nearest known one, wherever it stands.
"""

from __future__ import annotations

import difflib
import json
import os
import tomllib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from pydantic import SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from recollect.errors import ConfigError
from recollect.sections import (
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

PREFIX = "RECOLLECT_"
NOT_SETTINGS = {"RECOLLECT_HOME", "RECOLLECT_TOKEN", "RECOLLECT_BENCH_DATA"}
"""Names in the environment that say where things are and who may come in, not how they behave."""

SECRET = ("storage.url", "models.api_key", "embeddings.api_key")
"""Keys whose value is shown to nobody."""


class Settings(BaseSettings):
    """Every key there is, by section. Frozen: a memory's settings are those it was opened with."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="forbid",
        frozen=True,
        nested_model_default_partial_update=True,
    )

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
        written = _read(file) if file else {}
        _check_known(_flat(written), f"{file}")
        _check_known(_flat(_in_environment()), "the environment")
        _check_known(_flat(arguments), "the arguments")
        try:
            return _with_file(written)(**arguments)  # type: ignore[arg-type]  # pydantic checks them
        except ValidationError as error:
            raise ConfigError(_explain(error)) from None
        except SettingsError as error:
            names = ", ".join(_lists_in_environment())
            raise ConfigError(
                f"{names} in the environment cannot be read. Write a list as JSON, e.g. '[\"cron\"]'."
            ) from error


def reference() -> str:
    """docs/configuration.md: every key, from the model itself."""
    lines = [
        "# Configuration",
        "",
        "Generated from `recollect.config` by `make docs`; do not edit by hand.",
        "",
        "In rising order: the defaults, `recollect.toml` in the home, the environment, arguments:",
        "",
        "```toml",
        "[collect]",
        "turn_threshold = 8",
        "```",
        "```console",
        "$ export RECOLLECT_COLLECT_TURN_THRESHOLD=8",
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


class _Written(PydanticBaseSettingsSource):
    """What the file says, already read."""

    def __init__(self, settings: type[BaseSettings], written: Mapping[str, Any]) -> None:
        super().__init__(settings)
        self._written = dict(written)

    def get_field_value(self, field: Any, field_name: str) -> tuple[Any, str, bool]:
        return self._written.get(field_name), field_name, False

    def __call__(self) -> dict[str, Any]:
        return self._written


def _with_file(written: Mapping[str, Any]) -> type[Settings]:
    class Located(Settings):
        @classmethod
        def settings_customise_sources(
            cls,
            settings_cls: type[BaseSettings],
            init_settings: PydanticBaseSettingsSource,
            env_settings: PydanticBaseSettingsSource,
            dotenv_settings: PydanticBaseSettingsSource,
            file_secret_settings: PydanticBaseSettingsSource,
        ) -> tuple[PydanticBaseSettingsSource, ...]:
            return init_settings, env_settings, _Written(settings_cls, written)

    return Located


def _read(file: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text(encoding="utf-8-sig"))
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ConfigError(f"{file} cannot be read: {error}. Mend it and try again.") from error


def _flat(sections: Mapping[str, object]) -> Iterator[str]:
    for section, keys in sections.items():
        if isinstance(keys, Mapping) and (keys or section in Settings.model_fields):
            yield from (f"{section}.{key}" if key != "" else section for key in keys)
        else:
            yield section


def _in_environment() -> dict[str, dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for name, value in os.environ.items():
        if name.upper().startswith(PREFIX) and name.upper() not in NOT_SETTINGS:
            section, _, key = name[len(PREFIX) :].lower().partition("_")
            found.setdefault(section, {})[key] = value
    return found


def _lists_in_environment() -> Iterator[str]:
    for section, keys in _in_environment().items():
        for key in keys:
            default = getattr(Settings.model_fields[section].default, key)
            if isinstance(default, tuple):
                yield f"{PREFIX}{section}_{key}".upper()


def _check_known(keys: Iterator[str], source: str) -> None:
    known = known_keys()
    for key in keys:
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
