"""Configuration (K1, K2, K3): every key, its default, where it may stand, and what is said of a wrong one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr, ValidationError

from lifelong import Memory, User, UserMessage
from lifelong.collect.descriptors import KINDS
from lifelong.errors import ConfigError, InputError, StorageUnavailable
from lifelong.home import Home
from lifelong.settings import NOT_SETTINGS, Settings, known_keys, reference, shown

CONTINUITY: dict[str, Any] = {
    "memory_compaction_enabled": False,
    "memory_compaction_schedule_cron": "",
    "memory_compaction_interval_ms": 86_400_000,
    "memory_compaction_min_age_days": 7,
    "memory_compaction_max_records": 500,
    "memory_compaction_max_chars": 64_000,
    "long_memory_path": "LONGMEMORY.md",
    "long_memory_max_chars": 16_000,
    "include_long_memory_in_session": True,
    "session_memory_cap": 32_000,
    "experience_store_enabled": False,
    "experience_store_path": "tmp/chroma",
    "experience_uniqueness_threshold": 0.85,
    "experience_max_count": 5_000,
    "inject_experience_context": True,
    "inject_for": (),
    "memory_archive_path": "",
    "memory_embeddings_enabled": True,
    "journal_enabled": False,
    "flush_pre_compaction": False,
    "memory_max_records": None,
    "memory_max_chars": None,
    "experience_extraction_cron": "",
    "notes_threshold": 16_000,
    "notes_load_cap": 8_000,
    "retain_history_days": None,
}
"""K1, word for word."""

DOCS = Path(__file__).parent.parent / "docs"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lifelong.toml"


# Defaults


def test_the_continuity_section_has_the_keys_and_defaults_that_k1_names() -> None:
    ours = {"time_zone": "UTC", "notes_query": "auto", "core_memory_cap": 1_500, "retention_schedule_cron": ""}
    ours |= {"retain_journal_days": None, "retain_experience_days": None, "retain_recall_log_days": None}
    assert Settings.load().continuity.model_dump() == CONTINUITY | ours


@pytest.mark.parametrize(
    ("key", "default"),
    [
        ("collect.turn_threshold", 5),
        ("collect.idle_after", 60.0),
        ("collect.dead_after", 3600.0),
        ("worker.tick_seconds", 30.0),
        ("storage.url", SecretStr("")),
        ("storage.synchronous", "full"),
    ],
)
def test_what_the_spec_names_elsewhere_has_its_default(key: str, default: object) -> None:
    """C4, C9, O1."""
    section, name = key.split(".")
    assert getattr(getattr(Settings.load(), section), name) == default


def test_a_home_without_a_file_has_the_defaults(file: Path) -> None:
    assert Settings.load(file).model_dump() == Settings.load().model_dump()
    assert not file.exists()


# Where a setting may stand


def test_arguments_stand_above_the_environment_and_that_above_the_file(
    file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file.write_text("[collect]\nturn_threshold = 6\nidle_after = 6\ndead_after = 6\n[worker]\ntick_seconds = 6\n")
    monkeypatch.setenv("LIFELONG_COLLECT_IDLE_AFTER", "7")
    monkeypatch.setenv("LIFELONG_COLLECT_DEAD_AFTER", "7")
    settings = Settings.load(file, collect={"dead_after": 8})
    assert settings.collect.turn_threshold == 6
    assert settings.collect.idle_after == 7
    assert settings.collect.dead_after == 8
    assert settings.collect.max_record_chars == 1_000_000
    assert settings.worker.tick_seconds == 6


def test_a_memory_is_opened_with_the_settings_of_its_home(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file.write_text("[collect]\nturn_threshold = 1\n")
    monkeypatch.setenv("LIFELONG_WORKER_TICK_SECONDS", "9")
    with Memory.open(file.parent, storage={"synchronous": "normal"}) as memory:
        assert memory.settings.collect.turn_threshold == 1
        assert memory.settings.worker.tick_seconds == 9
        assert memory.settings.storage.synchronous == "normal"
        alice = memory.agent(User("cli", "alice", "main"))
        memory.append(alice, UserMessage("one"))
        assert memory.sessions.list(alice)[0].invalidated_at is None
        assert memory.append(alice, UserMessage("two")) == memory.sessions.list(alice)[0].invalidated_at


def test_names_in_the_environment_may_have_many_underscores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFELONG_CONTINUITY_MEMORY_COMPACTION_MAX_RECORDS", "77")
    monkeypatch.setenv("LIFELONG_CONTINUITY_INJECT_FOR", '["cron", "system"]')
    monkeypatch.setenv("LIFELONG_CONTINUITY_JOURNAL_ENABLED", "true")
    monkeypatch.setenv("LIFELONG_STORAGE_SCHEMA_NAME", "mine_too")
    settings = Settings.load()
    assert settings.continuity.memory_compaction_max_records == 77
    assert settings.continuity.inject_for == ("cron", "system")
    assert settings.continuity.journal_enabled is True
    assert settings.storage.schema_name == "mine_too"


@pytest.mark.parametrize("key", known_keys())
def test_every_key_can_be_set_in_the_environment(key: str, monkeypatch: pytest.MonkeyPatch) -> None:
    section, name = key.split(".")
    default = getattr(getattr(Settings.load(), section), name)
    values: dict[type, tuple[str, Any]] = {
        bool: ("false" if default else "true", not default),
        int: ("2000", 2000) if name.endswith(("_chars", "_bytes")) else ("3", 3),
        float: ("0.5", 0.5),
        tuple: ('["forget"]', ("forget",)) if section == "review" else ('["cron"]', ("cron",)),
        type(None): ("3", 3),
        str: ("other", "other"),
        SecretStr: ("postgresql://other", SecretStr("postgresql://other")),
    }
    chosen = {"synchronous": "normal", "organizer": "rules", "time_zone": "Asia/Tokyo", "notes_query": "claude"}
    chosen |= {"provider": "fastembed", "pooling": "cls", "store": "chroma"}
    text, value = (chosen[name], chosen[name]) if name in chosen else values[type(default)]
    monkeypatch.setenv(f"LIFELONG_{section}_{name}".upper(), text)
    assert getattr(getattr(Settings.load(), section), name) == value


@pytest.mark.parametrize("name", ["LIFELONG_HOME", "LIFELONG_TOKEN", "LIFELONG_BENCH_DATA"])
def test_what_says_where_things_are_is_no_setting(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert name in NOT_SETTINGS
    before = Settings.load().model_dump()
    for written in (name, name.lower(), name.title()):
        monkeypatch.setenv(written, "/somewhere")
        assert Settings.load().model_dump() == before


def test_nothing_else_is_excepted(monkeypatch: pytest.MonkeyPatch) -> None:
    """K1: a name that nobody reads would be a setting that does nothing."""
    assert {"LIFELONG_HOME", "LIFELONG_TOKEN", "LIFELONG_OLD_KEY", "LIFELONG_BENCH_DATA"} == NOT_SETTINGS
    monkeypatch.setenv("LIFELONG_USER", "work")
    with pytest.raises(ConfigError, match=r"Unknown setting 'user' in the environment\..* --user"):
        Settings.load()
    monkeypatch.delenv("LIFELONG_USER")
    monkeypatch.setenv("LIFELONG_XYZZY", "work")
    with pytest.raises(ConfigError, match=r"Unknown setting 'xyzzy' in the environment\. See: lifelong config$"):
        Settings.load()


def test_the_case_of_a_name_in_the_environment_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("lifelong_collect_turn_threshold", "9")
    monkeypatch.setenv("Lifelong_Worker_Tick_Seconds", "8")
    settings = Settings.load()
    assert (settings.collect.turn_threshold, settings.worker.tick_seconds) == (9, 8)
    monkeypatch.setenv("lifelong_collect_turn_treshold", "9")
    with pytest.raises(ConfigError, match=r"in the environment\. Did you mean 'collect\.turn_threshold'\?"):
        Settings.load()


def test_a_list_in_the_environment_that_is_not_json_says_how_to_write_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """K1: also one that is nested without an end."""
    for value in ("cron", '["cron"', "cron,system", "[" * 100_000):
        monkeypatch.setenv("LIFELONG_CONTINUITY_INJECT_FOR", value)
        with pytest.raises(
            ConfigError, match=r"LIFELONG_CONTINUITY_INJECT_FOR in the environment cannot be read"
        ) as raised:
            Settings.load()
        assert """Write a list as JSON, e.g. '["cron"]'.""" in str(raised.value)


def test_the_address_of_a_database_is_never_shown(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S4: it may hold a password."""
    address = "postgresql://me:hunter2@db.example/notes"
    file.write_text(f'[storage]\nurl = "{address}"\n')
    from_file = Settings.load(file)
    from_arguments = Settings.load(storage={"url": address})
    monkeypatch.setenv("LIFELONG_STORAGE_URL", address)
    for settings in (from_file, from_arguments, Settings.load()):
        assert settings.storage.url.get_secret_value() == address
        texts = [repr(settings), str(settings), f"{settings.storage}", f"{settings.storage.url}"]
        texts += [settings.model_dump_json(), str(settings.model_dump()), str(shown(settings))]
        for text in texts:
            assert "hunter2" not in text
            assert "db.example" not in text
    assert shown(Settings.load())["storage"]["url"]


def test_settings_are_frozen() -> None:
    settings = Settings.load()
    with pytest.raises(ValidationError, match="frozen"):
        settings.collect.turn_threshold = 9
    with pytest.raises(ValidationError, match="frozen"):
        settings.worker = settings.worker
    assert settings.collect.turn_threshold == 5


# What is wrong, and what is said


def test_an_unknown_key_in_the_file_names_the_nearest(file: Path) -> None:
    file.write_text("[collect]\nturn_treshold = 8\n")
    with pytest.raises(ConfigError) as raised:
        Memory.open(file.parent)
    assert "'collect.turn_treshold'" in str(raised.value)
    assert str(file) in str(raised.value)
    assert "Did you mean 'collect.turn_threshold'?" in str(raised.value)
    assert [path.name for path in file.parent.iterdir()] == ["lifelong.toml"]


def test_an_unknown_key_in_the_environment_names_the_nearest(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LIFELONG_CONTINUITY_JOURNAL_ENABLE", "true")
    with pytest.raises(ConfigError) as raised:
        Memory.open(tmp_path / "home")
    assert "in the environment" in str(raised.value)
    assert "Did you mean 'continuity.journal_enabled'?" in str(raised.value)
    assert not (tmp_path / "home").exists()


def test_an_unknown_key_in_the_arguments_names_the_nearest(tmp_path: Path) -> None:
    with pytest.raises(ConfigError) as raised:
        Memory.open(tmp_path / "home", worker={"tick_second": 1})
    assert "in the arguments" in str(raised.value)
    assert "Did you mean 'worker.tick_seconds'?" in str(raised.value)
    assert not (tmp_path / "home").exists()


def test_a_section_that_is_given_no_keys_says_how_to_write_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """K1: as an argument, in the file and in the environment."""
    for section, example in (("collect", "collect={'turn_threshold': 5}"), ("storage", "storage={'url': ''}")):
        with pytest.raises(ConfigError) as raised:
            Memory.open(tmp_path / "home", **{section: 8})  # type: ignore[arg-type]
        assert str(raised.value) == f"The section '{section}' takes keys: {example}."
    file = tmp_path / "lifelong.toml"
    file.write_text("collect = 8\n")
    with pytest.raises(ConfigError, match=r"'collect' in .*\.toml takes keys, e\.g\. collect\.turn_threshold\."):
        Settings.load(file)
    monkeypatch.setenv("LIFELONG_COLLECT", "8")
    with pytest.raises(ConfigError, match="'collect' in the environment takes keys"):
        Settings.load()


@pytest.mark.parametrize(
    ("section", "key", "value", "reason"),
    [
        ("collect", "turn_threshold", "many", "it must be a whole number"),
        ("collect", "turn_threshold", 1.5, "it must be a whole number"),
        ("collect", "turn_threshold", 0, "it must be at least 1"),
        ("collect", "idle_after", "long", "it must be a number"),
        ("worker", "threads", 65, "it must be at most 64"),
        ("continuity", "journal_enabled", "perhaps", "it must be true or false"),
        ("storage", "synchronous", "off", "it must be 'full' or 'normal'"),
        ("models", "model", 3, "it must be text"),
        ("continuity", "inject_for", "cron", "it must be a list"),
    ],
)
def test_a_value_that_does_not_fit_says_what_it_must_be(
    section: str, key: str, value: object, reason: str
) -> None:
    """K1."""
    with pytest.raises(ConfigError) as raised:
        Settings.load(None, **{section: {key: value}})
    assert f"cannot be {value!r}: {reason}. See" in str(raised.value)


@pytest.mark.parametrize(
    ("section", "nearest"),
    [
        ("[continuty]", "continuity.journal_enabled"),
        ("[collect]", "continuity.journal_enabled"),
        ("", "continuity.journal_enabled"),
    ],
)
def test_a_known_key_in_the_wrong_place_names_the_right_one(file: Path, section: str, nearest: str) -> None:
    """K1."""
    file.write_text(f"{section}\njournal_enabled = true\n")
    with pytest.raises(ConfigError, match=f"Did you mean '{nearest}"):
        Settings.load(file)


def test_an_unknown_section_is_refused_also_when_it_is_empty(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ConfigError, match="storrage"):
        Settings.load(storrage={"url": ""})
    with pytest.raises(ConfigError, match="storrage"):
        Settings.load(storrage={})
    file.write_text("[storrage]\n")
    with pytest.raises(ConfigError, match="storrage"):
        Settings.load(file)
    monkeypatch.setenv("LIFELONG_STORRAGE_URL", "x")
    with pytest.raises(ConfigError, match=r"Did you mean 'storage\.url'"):
        Settings.load()


def test_an_empty_unknown_section_names_the_nearest_too(file: Path) -> None:
    file.write_text("[storrage]\n")
    with pytest.raises(ConfigError, match="Did you mean 'storage"):
        Settings.load(file)


def test_experiences_can_be_for_every_kind_of_agent_that_is_organized() -> None:
    """K1, R8: and for no other, nor for what is no kind."""
    kinds = [kind for kind in KINDS if kind != "memory-agent"]
    assert Settings.load(None, continuity={"inject_for": kinds}).continuity.inject_for == tuple(kinds)
    for wrong in ("memory-agent", "crn"):
        with pytest.raises(ConfigError, match=r"continuity\.inject_for"):
            Settings.load(None, continuity={"inject_for": [wrong]})


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("collect", "turn_threshold", 0),
        ("collect", "turn_threshold", "many"),
        ("collect", "idle_after", 0),
        ("collect", "idle_after", -1),
        ("collect", "idle_after", float("nan")),
        ("worker", "tick_seconds", float("inf")),
        ("storage", "synchronous", "off"),
        ("storage", "schema_name", "No Such"),
        ("storage", "pool_size", 0),
        ("continuity", "experience_uniqueness_threshold", 1.5),
        ("continuity", "memory_compaction_min_age_days", -1),
        ("continuity", "inject_for", "cron"),
        ("continuity", "journal_enabled", "perhaps"),
    ],
)
def test_a_value_that_does_not_fit_is_named_with_its_key(section: str, key: str, value: object) -> None:
    with pytest.raises(ConfigError) as raised:
        Settings.load(None, **{section: {key: value}})
    assert str(raised.value).startswith(f"The setting '{section}.{key}' cannot be {value!r}: ")
    assert str(raised.value).endswith("See docs/configuration.md.")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("LIFELONG_COLLECT_TURN_THRESHOLD", "many"),
        ("LIFELONG_CONTINUITY_INJECT_FOR", "cron"),
        ("LIFELONG_CONTINUITY_INJECT_FOR", '["cron"'),
        ("LIFELONG_CONTINUITY_MEMORY_MAX_RECORDS", ""),
        ("LIFELONG_STORAGE", '{"url": ""}'),
        ("LIFELONG_STORAGE", "x"),
    ],
)
def test_a_value_in_the_environment_that_does_not_fit_is_a_config_error(
    name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError) as raised:
        Settings.load()
    assert name.removeprefix("LIFELONG_").partition("_")[0].lower() in str(raised.value).lower()


def test_a_wrong_address_is_not_repeated_in_the_error() -> None:
    """S4: it may hold a password."""
    with pytest.raises(ConfigError) as raised:
        Settings.load(storage={"url": ["postgresql://me:hunter2@db.example/notes"]})
    assert "storage.url" in str(raised.value)
    assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize(
    "content", [b"[collect\nturn_threshold = 8", b"[collect]\nx = \xff\xfe", b"= 8", b"x = " + b"[" * 5000]
)
def test_a_broken_file_is_named_with_what_is_broken(file: Path, content: bytes) -> None:
    file.write_bytes(content)
    with pytest.raises(ConfigError, match="cannot be read: ") as raised:
        Memory.open(file.parent)
    assert str(raised.value).startswith(str(file))
    assert "Correct it" in str(raised.value)
    assert [path.name for path in file.parent.iterdir()] == ["lifelong.toml"]


def test_a_folder_in_place_of_the_file_is_an_error(file: Path) -> None:
    file.mkdir()
    with pytest.raises(ConfigError, match="cannot be read"):
        Settings.load(file)


def test_a_file_with_a_byte_order_mark_is_read(file: Path) -> None:
    file.write_bytes("\ufeff[collect]\nturn_threshold = 8\n".encode())
    assert Settings.load(file).collect.turn_threshold == 8


def test_an_empty_file_changes_nothing(file: Path) -> None:
    file.write_text("")
    assert Settings.load(file).model_dump() == Settings.load().model_dump()


# The page


def test_the_page_is_what_the_model_says() -> None:
    assert (DOCS / "configuration.md").read_text(encoding="utf-8") == reference()


def test_the_page_explains_every_key() -> None:
    section = ""
    explained = set()
    for line in reference().splitlines():
        if line.startswith("## `["):
            section = line.removeprefix("## `[").removesuffix("]`")
        elif line.startswith("| `"):
            name, default, meaning = (cell.strip() for cell in line.strip("|").split("|"))
            assert default
            assert meaning.endswith("."), f"{section}.{name} has no meaning"
            explained.add(f"{section}.{name.strip('`')}")
    assert explained == set(known_keys())
    assert {f"continuity.{key}" for key in CONTINUITY} <= explained


# Users and the home


def test_each_user_has_a_folder_of_its_own(tmp_path: Path) -> None:
    """C0, K3."""
    home = Home(tmp_path)
    assert home.user_folder("default") == tmp_path / "users" / "default"
    assert home.user_folder("work") == tmp_path / "users" / "work"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["..", "a/b", "/etc", "", "A", ".hidden", "a\\b", "x" * 65, "a\0", "con.", "a b"])
def test_a_user_never_leaves_its_folder(tmp_path: Path, name: str) -> None:
    """S3."""
    with pytest.raises(InputError, match="cannot name a user"):
        Home(tmp_path).user_folder(name)
    with pytest.raises(InputError, match="cannot name a user"):
        Memory.open(tmp_path / "home", name)
    assert not (tmp_path / "home").exists()


def test_one_user_does_not_see_another(tmp_path: Path) -> None:
    """C0."""
    with Memory.open(tmp_path, "mine") as mine, Memory.open(tmp_path, "yours") as yours:
        alice = mine.agent(User("cli", "alice", "main"))
        mine.append(alice, UserMessage("a secret"))
        assert yours.agents.list() == []
        assert yours.agent(User("cli", "alice", "main")).id != alice.id
        with pytest.raises(LookupError):
            yours.sessions.transcript(alice)


def test_nothing_but_the_database_appears_in_a_home(tmp_path: Path) -> None:
    """K2: journal, compaction and experiences are off."""
    home = tmp_path / "home"
    with Memory.open(home, "work") as memory:
        alice = memory.agent(User("cli", "alice", "main"))
        for number in range(10):
            memory.append(alice, UserMessage(f"number {number}"))
        memory.end_turn(alice)
        memory.end_session(alice)
        assert {path.name for path in home.rglob("*")} <= {
            "lifelong.db",
            "lifelong.db-wal",
            "lifelong.db-shm",
        }
    assert [path.name for path in home.rglob("*")] == ["lifelong.db"]


def test_a_home_below_a_file_names_that_file(tmp_path: Path) -> None:
    """K3."""
    file = tmp_path / "file"
    file.touch()
    for home, what in ((file, "it"), (file / "x", file / "x"), (file / "x" / "y", file / "x" / "y")):
        with pytest.raises(StorageUnavailable) as raised:
            Memory.open(home)
        assert str(raised.value) == f"{file} is a file, so {what} cannot be a home. Name a folder."


def test_a_home_is_for_its_owner_alone(tmp_path: Path) -> None:
    Memory.open(tmp_path / "deep" / "home").close()
    assert (tmp_path / "deep" / "home").stat().st_mode & 0o777 == 0o700


def test_a_home_may_be_named_from_the_users_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    with Memory.open("~/notes") as memory:
        assert memory.home.path == tmp_path / "notes"
    monkeypatch.chdir(tmp_path)
    with Memory.open("elsewhere") as memory:
        assert memory.home.path == tmp_path / "elsewhere"


@pytest.mark.parametrize(
    ("section", "key", "value"),
    [
        ("collect", "idle_after", 1e12),
        ("collect", "dead_after", 0),
        ("collect", "turn_threshold", 10**30),
        ("worker", "tick_seconds", 1e12),
        ("storage", "busy_timeout", 0.0004),
        ("storage", "connect_timeout", 1e12),
        ("continuity", "long_memory_path", "../LONGMEMORY.md"),
        ("continuity", "memory_archive_path", "/etc/archive"),
        ("continuity", "experience_store_path", "a/../../b"),
    ],
)
def test_a_value_that_could_only_fail_later_is_refused_now(section: str, key: str, value: object) -> None:
    """K1, S3: numbers have bounds, and a path stays in the user's folder."""
    with pytest.raises(ConfigError, match=f"{section}.{key}"):
        Settings.load(None, **{section: {key: value}})
