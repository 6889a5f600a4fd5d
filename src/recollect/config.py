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
from pathlib import PurePath
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, SettingsError

from recollect.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

PREFIX = "RECOLLECT_"
NOT_SETTINGS = {"RECOLLECT_HOME", "RECOLLECT_BENCH_DATA"}
"""Names in the environment that say where things are, not how they behave."""

Seconds = Annotated[float, Field(ge=0.001, le=86_400)]
LongSeconds = Annotated[float, Field(ge=0.001, le=1e9)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]


def _within(path: str) -> str:
    """S3: a path in the profile's folder never leaves it."""
    place = PurePath(path)
    if place.is_absolute() or ".." in place.parts or "\0" in path:
        raise ValueError("the path must stay within the profile's folder")
    return path


Within = Annotated[str, AfterValidator(_within)]


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class StorageSettings(Section):
    """Where rows live."""

    url: SecretStr = SecretStr("")
    """A PostgreSQL address, `postgresql://user:password@host/database`. Empty: SQLite, in the home."""
    schema_name: str = Field(default="recollect", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    """The PostgreSQL schema that holds our tables."""
    synchronous: Literal["full", "normal"] = "full"
    """`full`: what was acknowledged survives a power cut. `normal`: it survives a crash of the program."""
    busy_timeout: Seconds = 30.0
    """How many seconds to wait for another process that is writing."""
    connect_timeout: Seconds = 10.0
    """How many seconds to wait for PostgreSQL before an error says that it does not answer."""
    pool_size: Count = 8
    """How many connections to PostgreSQL a process may hold."""


class CollectSettings(Section):
    """What comes in, and when it is marked for organizing."""

    turn_threshold: Count = 5
    """A session is marked when more than this many of its records wait to be organized."""
    idle_after: LongSeconds = 60.0
    """An agent falls asleep after this many seconds without activity."""
    dead_after: LongSeconds = 3600.0
    """A subagent dies this many seconds after it fell asleep."""
    max_record_chars: Count = 1_000_000
    """The longest text a record may hold, in characters."""
    tool_result_chars: Count = 2_000
    """A longer tool result is cut to this many characters in a transcript; history keeps all of it."""


class WorkerSettings(Section):
    """What runs in the background."""

    tick_seconds: Seconds = 30.0
    """How many seconds pass between two looks at what is due."""


class ContinuitySettings(Section):
    """The journal, its compaction, and the store of experiences."""

    journal_enabled: bool = False
    """Keep a journal: MEMORY.md, a file a day, LONGMEMORY.md."""
    session_memory_cap: Count = 32_000
    """The most characters of journal that open a session."""
    include_long_memory_in_session: bool = True
    """Put LONGMEMORY.md first in what opens a session, where the file exists."""
    long_memory_path: Within = "LONGMEMORY.md"
    """The file of long-term summaries, in the profile's folder."""
    long_memory_max_chars: Count = 16_000
    """The most characters that file may hold; older blocks move to the archive."""
    memory_max_records: Count | None = None
    """Rolling window of MEMORY.md: the most records. None: no window."""
    memory_max_chars: Count | None = None
    """Rolling window of MEMORY.md: the most characters. None: no window."""
    memory_archive_path: Within = ""
    """The folder that keeps what left the journal, in the profile's folder. Empty: no archive."""
    memory_embeddings_enabled: bool = True
    """Make the journal searchable by meaning, not only by words."""
    memory_compaction_enabled: bool = False
    """Compact MEMORY.md in the background."""
    memory_compaction_schedule_cron: str = ""
    """When to compact, as a cron expression. Empty: by the interval."""
    memory_compaction_interval_ms: Count = 86_400_000
    """How many milliseconds lie between two compactions."""
    memory_compaction_min_age_days: int = Field(default=7, ge=0)
    """Younger records are never compacted."""
    memory_compaction_max_records: Count = 500
    """Compact when MEMORY.md holds more records than this."""
    memory_compaction_max_chars: Count = 64_000
    """Compact when MEMORY.md holds more characters than this; also the size to stay under."""
    flush_pre_compaction: bool = False
    """Write pending turn summaries before a compaction."""
    experience_store_enabled: bool = False
    """Keep a store of unique experiences."""
    experience_store_path: Within = "tmp/chroma"
    """Where Chroma keeps their vectors, in the profile's folder."""
    experience_uniqueness_threshold: float = Field(default=0.85, ge=0, le=1)
    """An experience at least this similar to one that is there is not added."""
    experience_max_count: Count = 5_000
    """The most experiences a profile keeps."""
    experience_extraction_cron: str = ""
    """When to look for experiences, as a cron expression. Empty: before each compaction."""
    inject_experience_context: bool = True
    """Put relevant past experiences into the context at the start of a turn."""
    inject_for: tuple[str, ...] = ()
    """The kinds of agent, besides `user`, that get them."""
    retain_history_days: Count | None = None
    """How many days history is kept. None: for ever."""


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
        if isinstance(keys, Mapping) and section in Settings.model_fields:
            yield from (f"{section}.{key}" for key in keys)
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
    given = "that" if key.startswith("storage.url") else repr(first["input"])
    return f"The setting {key!r} cannot be {given}: {first['msg']}. See docs/configuration.md."


def _shown(default: object) -> str:
    if default is None:
        return "none"
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return f"`{json.dumps(default)}`"
