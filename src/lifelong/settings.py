"""Settings: every key there is, and the only reader of `lifelong.toml` and of the environment.

In rising order: the defaults, `lifelong.toml` in the home, `LIFELONG_<SECTION>_<KEY>` in the environment,
and arguments. An unknown key is an error that names the nearest known one.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, SecretStr, ValidationError, ValidationInfo

from lifelong.errors import ConfigError

PREFIX = "LIFELONG_"
NOT_SETTINGS = {"LIFELONG_HOME", "LIFELONG_TOKEN", "LIFELONG_OLD_KEY", "LIFELONG_BENCH_DATA"}
"""Names in the environment that say where things are and who may come in, not how they behave."""

FROM_ARGUMENTS = "the arguments"

SECRET_KEYS = ("storage.url", "storage.key", "models.api_key", "embeddings.api_key")
"""Keys whose value is never shown."""

Seconds = Annotated[float, Field(ge=0.001, le=86_400)]
LongSeconds = Annotated[float, Field(ge=0.001, le=1e9)]
Count = Annotated[int, Field(ge=1, le=2**31 - 1)]
Days = Annotated[int, Field(ge=1, le=36_500)]


def _validate_within(path: str) -> str:
    """Return the path, or raise if it leaves the user's folder (S3)."""
    place = PurePath(path)
    if place.is_absolute() or ".." in place.parts or "\0" in path:
        raise ValueError("the path must stay within the user's folder")
    return path


RelativePath = Annotated[str, AfterValidator(_validate_within)]


def _validate_apart(path: str, *others: str) -> str:
    """Return the path, or raise if it overlaps another file or folder of the journal, compared without case."""
    parts = PurePath(_validate_within(path).casefold()).parts
    for other in ("MEMORY.md", "memory", "tmp", "workers", ".journal-id", *others):
        taken = PurePath(other.casefold()).parts
        common = min(len(parts), len(taken))
        if parts[:common] == taken[:common] or parts[-1:] == taken:
            raise ValueError(f"it overlaps {other!r}, another file or folder of the journal")
    return path


def _validate_archive(path: str, info: ValidationInfo) -> str:
    _validate_apart(path or "archive", info.data.get("long_memory_path", "LONGMEMORY.md"))
    return path


def _validate_zone(name: str) -> str:
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        ZoneInfo(name)
    except (ValueError, OSError, ZoneInfoNotFoundError) as error:
        raise ValueError("no such time zone; name one like 'Europe/Lisbon'") from error
    return name


class Section(BaseModel):
    """A table of `lifelong.toml`. The text below each key is its description: `reference` prints it."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)


class StorageSettings(Section):
    """Where rows live."""

    url: SecretStr = SecretStr("")
    """A PostgreSQL address, `postgresql://user:password@host/database`. Empty: SQLite, in the home."""
    schema_name: str = Field(default="lifelong", pattern=r"^[a-z_][a-z0-9_]{0,62}$")
    """The PostgreSQL schema that holds our tables."""
    synchronous: Literal["full", "normal"] = "full"
    """`full`: what was acknowledged survives a power cut. `normal`: it survives a crash of the program."""
    busy_timeout: Seconds = 30.0
    """How many seconds to wait for another process that is writing."""
    connect_timeout: Seconds = 10.0
    """How many seconds to wait for PostgreSQL before an error says that it does not answer."""
    pool_size: Count = 8
    """How many connections to PostgreSQL a process may hold."""
    key: SecretStr = SecretStr("")
    """SQLite: encrypts the database. From `LIFELONG_STORAGE_KEY`, never in `lifelong.toml`. See deploy.md."""
    keyring: bool = False
    """SQLite: take that key from the system's keyring, service `lifelong`, name: the path of the home."""


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
    threads: int = Field(default=1, ge=1, le=64)
    """How many workers `start` runs in this process. A slow model holds up one of them."""
    lease_seconds: Seconds = 120.0
    """A worker that gives no sign of life for this long loses its work to another, by the database's clock."""
    max_attempts: Count = 5
    """An inbox item that failed this often waits for a person."""
    retry_seconds: Seconds = 30.0
    """How long to wait after the first failure; twice as long after each further one."""
    retry_longest_seconds: LongSeconds = 3_600.0
    """The longest wait between two attempts."""
    overdue_seconds: LongSeconds = 3_600.0
    """Health is red when something has been waiting for longer than this."""


class OrganizeSettings(Section):
    """What becomes of a transcript."""

    organizer: Literal["auto", "rules", "llm"] = "auto"
    """`rules`: offline. `llm`: the model of `[models]`. `auto`: the model where one can be used, else rules."""
    rules_during_outage: bool = False
    """`auto`: let the rules organize while the model cannot be asked. False: the work waits for the model."""
    batch_records: int = Field(default=200, ge=1, le=10_000)
    """The most records in one transcript."""
    batch_chars: int = Field(default=60_000, ge=1_000, le=10_000_000)
    """The most characters in one transcript."""
    context_chars: int = Field(default=8_000, ge=100, le=1_000_000)
    """A memory-agent's own session is closed, and a new one opened, when it holds more than this."""
    consolidation_enabled: bool = False
    """Tidy the documents in the background: merge, move, split, delete what is empty."""
    consolidation_schedule_cron: str = ""
    """When to tidy, as a cron expression. Empty: by the interval."""
    consolidation_interval_ms: Count = 604_800_000
    """How many milliseconds lie between two consolidations."""
    consolidation_max_loss: float = Field(default=0.01, ge=0, le=0.5)
    """The share of the words that a model may lose when it merges facts. The rules lose none."""


class ModelsSettings(Section):
    """Who thinks, when it is a model, and what that may cost."""

    model: str = ""
    """`anthropic:…`, `openai:…`, `ollama:…` or another provider and model. Empty: no model."""
    base_url: str = ""
    """The address of an OpenAI-compatible (or, with `anthropic:`, Anthropic-compatible) server."""
    api_key: SecretStr = SecretStr("")
    """The provider's key. Empty: from the provider's own variable, e.g. ANTHROPIC_API_KEY."""
    timeout_seconds: Seconds = 60.0
    """How long to wait for one answer."""
    run_budget_usd: float = Field(default=0.25, ge=0, le=1_000_000)
    """The most one run may cost."""
    daily_cap_usd: float = Field(default=1.0, ge=0, le=1_000_000)
    """The most the home may spend in a day (UTC). At the cap, work waits."""
    run_requests: Count = 20
    """The most calls of the model in one run."""
    run_tokens: Count = 1_000_000
    """The most tokens of one run."""
    input_usd_per_million: float | None = Field(default=None, ge=0)
    """What a million input tokens cost. None: from the price list."""
    output_usd_per_million: float | None = Field(default=None, ge=0)
    """What a million output tokens cost. None: from the price list."""
    organize_after_pause_s: float = Field(default=60.0, ge=0, le=86_400)
    """Give a model what was said when the conversation has paused for so long. 0: as soon as it is marked."""
    organize_min_chars: Count = 12_000
    """Do not wait for a pause when this many characters wait."""
    organize_longest_wait_s: LongSeconds = 1_800.0
    """Nothing waits longer than this for a pause."""
    context_chars: int = Field(default=60_000, ge=1_000, le=10_000_000)
    """The most characters a model is shown at once; older tool results are cut first."""


class EmbeddingsSettings(Section):
    """Who turns text into vectors, so that meanings can be compared. Another one embeds everything again."""

    provider: Literal["static", "fastembed", "openai"] = "static"
    """`static`: bundled, fast. `fastembed`: a transformer on this machine. `openai`: a server with its API."""
    model: str = ""
    """The model's name. `fastembed`: also `multilingual`; empty: `snowflake/snowflake-arctic-embed-s`."""
    path: str = ""
    """`fastembed`: a folder with an ONNX file and its tokenizer, so that nothing is downloaded."""
    pooling: Literal["", "mean", "cls", "last", "none"] = ""
    """`path` without `model`: how the vectors of tokens become one. Empty: as the folder says, or `mean`."""
    query_prefix: str = ""
    """The words that the model wants before a question. Empty: with `fastembed`, those it is known to want."""
    document_prefix: str = ""
    """The words that the model wants before a text. Empty: with `fastembed`, those it is known to want."""
    base_url: str = "https://api.openai.com/v1"
    """`openai`: where the server is; for Ollama, `http://localhost:11434/v1`. Texts are sent there."""
    api_key: SecretStr = SecretStr("")
    """`openai`: the server's key. Empty: none is sent."""
    dimensions: Count | None = None
    """`openai`: how long vectors to ask for. None: as long as the model makes them."""
    batch: Count = 64
    """`openai`: how many texts to send at once."""
    window_bytes: int = Field(default=8_000, ge=8, le=10_000_000)
    """`openai`: the longest text to send; of a longer one, the parts are averaged."""
    timeout_seconds: Seconds = 60.0
    """`openai`: how long to try to get a batch's vectors."""


class VectorsSettings(Section):
    """Where the vectors of items live. They are derived: whatever happens to them, they are made again."""

    store: Literal["local", "chroma", "pgvector"] = "local"
    """`local`: in the database. `chroma`: in Chroma. `pgvector`: in PostgreSQL, by an index of its own."""
    chroma_url: str = ""
    """A Chroma server, `http://host:port`. Empty: the folder `continuity.experience_store_path`."""


class ContinuitySettings(Section):
    """The journal, its compaction, the store of experiences, and how long things are kept."""

    journal_enabled: bool = False
    """Keep a journal: MEMORY.md, a file a day, LONGMEMORY.md."""
    session_memory_cap: Count = 32_000
    """The most characters of a context, and of the journal that opens a session."""
    core_memory_cap: int = Field(default=1_500, ge=0, le=1_000_000)
    """The most characters of standing facts (allergies, rules, preferences) in every context. 0: none."""
    include_long_memory_in_session: bool = True
    """Put LONGMEMORY.md first in what opens a session, where the file exists."""
    time_zone: Annotated[str, AfterValidator(_validate_zone)] = "UTC"
    """Which day a record falls on, and the zone of the times in the journal and in cron expressions."""
    long_memory_path: Annotated[str, AfterValidator(lambda path: _validate_apart(path))] = "LONGMEMORY.md"
    """The file of long-term summaries, in the user's folder."""
    long_memory_max_chars: Count = 16_000
    """The most characters that file may hold; older blocks move to the archive."""
    memory_max_records: Count | None = None
    """Rolling window of MEMORY.md: the most records. None: no window."""
    memory_max_chars: Count | None = None
    """Rolling window of MEMORY.md: the most characters. None: no window."""
    memory_archive_path: Annotated[str, AfterValidator(_validate_archive), Field(validate_default=True)] = ""
    """The folder that keeps what left the journal, in the user's folder. Empty: `archive`."""
    memory_embeddings_enabled: bool = True
    """Make the journal searchable by meaning, not only by words."""
    memory_compaction_enabled: bool = False
    """Compact MEMORY.md in the background."""
    memory_compaction_schedule_cron: str = ""
    """When to compact, as a cron expression. Empty: by the interval."""
    memory_compaction_interval_ms: Count = 86_400_000
    """How many milliseconds lie between two compactions."""
    memory_compaction_min_age_days: int = Field(default=7, ge=0, le=36_500)
    """Younger records are never compacted."""
    memory_compaction_max_records: Count = 500
    """Compact when MEMORY.md holds more records than this."""
    memory_compaction_max_chars: Count = 64_000
    """Compact when MEMORY.md holds more characters than this; also the size to stay under."""
    flush_pre_compaction: bool = False
    """Write pending turn summaries before a compaction."""
    notes_query: Literal["auto", "model", "claude"] = "auto"
    """Who compacts worker notes: the model of `[models]`, the Claude Agent SDK, or (`auto`) a model if any."""
    notes_threshold: Count = 16_000
    """Compact a worker's notes when they take more bytes than this."""
    notes_load_cap: Count = 8_000
    """The most characters of a worker's notes that are loaded into its prompt."""
    experience_store_enabled: bool = False
    """Keep a store of unique experiences."""
    experience_store_path: RelativePath = "tmp/chroma"
    """Where Chroma keeps their vectors, in the user's folder."""
    experience_uniqueness_threshold: float = Field(default=0.85, ge=0, le=1)
    """An experience at least this similar to one that is there is not added."""
    experience_max_count: Count = 5_000
    """The most experiences a user keeps."""
    experience_extraction_cron: str = ""
    """When to look for experiences, as a cron expression. Empty: before each compaction."""
    inject_experience_context: bool = True
    """Put relevant past experiences into the context at the start of a turn."""
    inject_for: tuple[Literal["user", "cron", "task", "system", "subagent", "app", "permanent"], ...] = ()
    """The kinds of agent, besides `user`, that get them."""
    retain_history_days: Days | None = None
    """Forget records so many days after they were said, with all that was made of them. None: keep them."""
    retain_journal_days: Days | None = None
    """Forget lines, day files, summaries and the archive of the journal after so many days. None: keep them."""
    retain_experience_days: Days | None = None
    """Forget experiences after so many days. None: keep them."""
    retain_recall_log_days: Days | None = None
    """Forget what was asked, in the log of searches, after so many days. None: the newest 10,000 are kept."""
    retention_schedule_cron: str = ""
    """When to forget what is older, as a cron expression. Empty: once a day."""

    @property
    def retains_for_a_time(self) -> bool:
        """Whether anything is forgotten by its age."""
        limits = (self.retain_history_days, self.retain_journal_days)
        return any((*limits, self.retain_experience_days, self.retain_recall_log_days))


class ReviewSettings(Section):
    """What agents write that waits for a person."""

    wait_for: tuple[Literal["fact", "remember", "document", "forget"], ...] = (
        "fact",
        "remember",
        "document",
        "forget",
    )
    """Which writes wait, where they bind somebody on an agent's word alone. `[]`: none; see concepts/review.md."""


class ServeSettings(Section):
    """The server."""

    retain_write_log_days: Days | None = 365
    """Keep the log of what was changed with tokens for so many days. None: the newest million are kept."""


class TelemetrySettings(Section):
    """OpenTelemetry: traces and metrics of what is done, without any text. Needs `lifelong[otel]`."""

    enabled: bool = False
    """Send them."""
    endpoint: str = ""
    """An OTLP collector, `http://host:4318`. Empty: `OTEL_EXPORTER_OTLP_ENDPOINT`, or this machine's."""
    interval_seconds: Seconds = 60.0
    """How many seconds lie between two reports of the metrics."""
    timeout_seconds: Seconds = 2.0
    """How long to wait for the collector. What it does not take in that time is dropped."""


class Settings(BaseModel):
    """Every key there is, by section. Frozen: a memory's settings are those it was opened with."""

    model_config = ConfigDict(extra="forbid", frozen=True, defer_build=True)

    storage: StorageSettings = Field(default_factory=StorageSettings)
    collect: CollectSettings = Field(default_factory=CollectSettings)
    worker: WorkerSettings = Field(default_factory=WorkerSettings)
    organize: OrganizeSettings = Field(default_factory=OrganizeSettings)
    models: ModelsSettings = Field(default_factory=ModelsSettings)
    embeddings: EmbeddingsSettings = Field(default_factory=EmbeddingsSettings)
    vectors: VectorsSettings = Field(default_factory=VectorsSettings)
    continuity: ContinuitySettings = Field(default_factory=ContinuitySettings)
    review: ReviewSettings = Field(default_factory=ReviewSettings)
    serve: ServeSettings = Field(default_factory=ServeSettings)
    telemetry: TelemetrySettings = Field(default_factory=TelemetrySettings)

    @classmethod
    def load(cls, file: Path | None = None, **arguments: Mapping[str, object]) -> Settings:
        """Return the settings of a home, with the environment and the arguments on top."""
        from_file = (_read_toml(file), f"{file}") if file else ({}, "")
        _check_no_key(*from_file)
        merged: dict[str, dict[str, object]] = {section: {} for section in cls.model_fields}
        for sections, source in (
            from_file,
            (_read_environment(), "the environment"),
            (arguments, FROM_ARGUMENTS),
        ):
            _check_known(sections, source)
            for section, keys in sections.items():
                merged[section].update(keys)
        try:
            return cls.model_validate(merged)
        except ValidationError as error:
            raise ConfigError(_explain(error)) from None


def reference() -> str:
    """Return the text of docs/configuration.md: every key, from the models themselves."""
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
    texts = descriptions()
    for section, model in _sections().items():
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
            f"| `{name}` | {_format_default(key.default)} | {texts[model.__name__, name]} |"
            for name, key in model.model_fields.items()
        ]
    return "\n".join(lines) + "\n"


def descriptions() -> dict[tuple[str, str], str]:
    """Return the text below each key in the source of this module, by class and key."""
    import ast

    found: dict[tuple[str, str], str] = {}
    for section in ast.parse(Path(__file__).read_text(encoding="utf-8")).body:
        if isinstance(section, ast.ClassDef):
            for key, text in zip(section.body, section.body[1:], strict=False):
                match key, text:
                    case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(about))):
                        found[section.name, name] = about
    return found


def shown(settings: Settings) -> dict[str, dict[str, Any]]:
    """Return the settings for a person to read, without keys and passwords."""
    return settings.model_dump(mode="json")


def known_keys() -> list[str]:
    """Return every key as `section.key`."""
    return [f"{section}.{key}" for section, model in _sections().items() for key in model.model_fields]


def _sections() -> dict[str, type[Section]]:
    models = {name: field.annotation for name, field in Settings.model_fields.items()}
    return {
        name: model for name, model in models.items() if isinstance(model, type) and issubclass(model, Section)
    }


def _read_toml(file: Path) -> dict[str, Any]:
    try:
        text = file.read_text(encoding="utf-8-sig")
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise _unreadable(file, error) from error
    import tomllib

    try:
        return tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise _unreadable(file, error) from error


def _unreadable(file: Path, error: Exception) -> ConfigError:
    reason = error.strerror if isinstance(error, OSError) else error
    return ConfigError(f"{file} cannot be read: {reason}. Correct it and try again.")


def _flatten(sections: Mapping[str, object]) -> Iterator[str]:
    for section, keys in sections.items():
        if isinstance(keys, Mapping) and (keys or section in Settings.model_fields):
            yield from (f"{section}.{key}" if key != "" else section for key in keys)
        else:
            yield section


def _read_environment() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    models = _sections()
    for name, value in os.environ.items():
        if name.upper().startswith(PREFIX) and name.upper() not in NOT_SETTINGS:
            section, _, key = name[len(PREFIX) :].lower().partition("_")
            field = models[section].model_fields.get(key) if section in models else None
            is_list = field is not None and isinstance(field.default, tuple)
            found.setdefault(section, {})[key] = _parse_list(name, value) if is_list else value
    return found


def _parse_list(name: str, value: str) -> object:
    import json

    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise ConfigError(
            f"{name.upper()} in the environment cannot be read. Write a list as JSON, e.g. '[\"cron\"]'."
        ) from error


def _nearest(key: str, known: Collection[str]) -> str:
    """Return the setting that may be meant, if any. A section that both have makes two keys no more alike."""
    from difflib import get_close_matches

    nearest = next(iter(get_close_matches(key, known, n=1)), "")
    section, _, name = key.rpartition(".")
    if section and nearest.startswith(f"{section}."):
        return nearest if get_close_matches(name, [nearest.removeprefix(f"{section}.")]) else ""
    return nearest


def _check_known(sections: Mapping[str, object], source: str) -> None:
    known = known_keys()
    for section, keys in sections.items():
        if section in Settings.model_fields and (not isinstance(keys, Mapping) or "" in keys):
            raise ConfigError(_explain_section(section, source))
    for key in _flatten(sections):
        if key not in known:
            nearest = _nearest(key, known)
            advice = f"Did you mean {nearest!r}?" if nearest else "See: lifelong config"
            if key == "user":
                advice = "A command says whose memory it uses with --user; --home is LIFELONG_HOME."
            raise ConfigError(f"Unknown setting {key!r} in {source}. {advice}")


def _check_no_key(sections: Mapping[str, object], source: str) -> None:
    """Raise where the key of the database lies beside the database."""
    storage = sections.get("storage")
    if isinstance(storage, Mapping) and storage.get("key"):
        raise ConfigError(
            f"storage.key is in {source}, beside the database that it encrypts. Take it out there, and set "
            "LIFELONG_STORAGE_KEY, or storage.keyring."
        )


def _explain_section(section: str, source: str) -> str:
    key, field = next(iter(_sections()[section].model_fields.items()))
    if source != FROM_ARGUMENTS:
        return f"The section {section!r} in {source} takes keys, e.g. {section}.{key}."
    value = field.default.get_secret_value() if isinstance(field.default, SecretStr) else field.default
    return f"The section {section!r} takes keys: {section}={{{key!r}: {value!r}}}."


REASONS = {
    "int": "it must be a whole number",
    "float": "it must be a number",
    "finite_number": "it must be a number",
    "bool": "it must be true or false",
    "string": "it must be text",
    "tuple": "it must be a list",
    "literal_error": "it must be {expected}",
    "greater_than": "it must be more than {gt:g}",
    "greater_than_equal": "it must be at least {ge:,}",
    "less_than_equal": "it must be at most {le:,}",
}
"""What a value must be, by the name of pydantic's error or by how that name begins."""


def _explain(error: ValidationError) -> str:
    first = error.errors()[0]
    key = ".".join(str(part) for part in first["loc"])
    value = "that" if key.startswith(SECRET_KEYS) else repr(first["input"])
    kind = first["type"]
    known = REASONS.get(kind) or (REASONS.get(kind.partition("_")[0]) if kind != "string_pattern_mismatch" else "")
    reason = known.format(**first.get("ctx", {})) if known else first["msg"].removeprefix("Value error, ")
    return f"The setting {key!r} cannot be {value}: {reason}. See docs/configuration.md."


def _format_default(default: object) -> str:
    import json

    if default is None:
        return "none"
    if isinstance(default, SecretStr):
        default = default.get_secret_value()
    return f"`{json.dumps(default)}`"
