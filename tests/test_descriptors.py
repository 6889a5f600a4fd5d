"""Who an agent is: keys, strategy, target, owner and prompt follow from the kind alone (SPEC C1, C2)."""

from __future__ import annotations

import dataclasses
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import get_args
from urllib.parse import unquote

import pytest
from hypothesis import given
from hypothesis import strategies as st

import lifelong
from lifelong import App, Cron, Descriptor, MemoryAgent, Permanent, Subagent, System, Task, User
from lifelong.collect.descriptors import KINDS as BY_NAME
from lifelong.collect.descriptors import (
    AgentKind,
    Prompt,
    Target,
    cache_key,
    decode,
    encode,
    is_foreground,
    is_mortal,
    is_organized,
    matches,
    memory_agent_prompt,
    prompt,
    source_agent,
    target,
)
from lifelong.errors import InputError, PromptError, StorageCorrupt

USER = User("telegram", "u1", "c9")
CRON = Cron("nightly", "Tidy up")
TASK = Task("t1")
SYSTEM = System("heartbeat")
SUBAGENT = Subagent("s1", "parent", "Scout")
APP = App("a1", "parent", "Mail", "You sort mail.", "com.example.mail")
PERMANENT = Permanent("p1", "Ada", "An engineer", "You are Ada.")
MEMORY_AGENT = MemoryAgent("0123abcd")

EVERY_KIND: list[Descriptor] = [USER, CRON, TASK, SYSTEM, SUBAGENT, APP, PERMANENT, MEMORY_AGENT]
KINDS = [type(descriptor).__name__ for descriptor in EVERY_KIND]

MATCHING_FUNCTIONS = ["cache_key", "matches", "target", "source_agent", "is_organized", "is_mortal", "prompt"]

characters = st.characters(codec="utf-8", exclude_characters="\0")
parts = st.text(characters, min_size=1, max_size=8).filter(str.strip)
slashed = st.text("/%.2Fa ", min_size=1, max_size=6).filter(str.strip)


# Cache keys


@pytest.mark.parametrize(
    ("descriptor", "key"),
    [
        (USER, "/connectors/telegram/u1/c9"),
        (CRON, "/cron/nightly"),
        (TASK, "/task/t1"),
        (SYSTEM, "/system/heartbeat"),
        (SUBAGENT, "/subagent/s1"),
        (APP, "/app/a1"),
        (PERMANENT, "/permanent/p1"),
        (MEMORY_AGENT, "/memory-agent/0123abcd"),
    ],
    ids=KINDS,
)
def test_every_kind_has_its_own_cache_key(descriptor: Descriptor, key: str) -> None:
    """C1: the key of each kind, exactly."""
    assert cache_key(descriptor) == key


def test_a_slash_in_a_part_is_percent_encoded() -> None:
    """C1: a '/' in one part cannot reach into the next."""
    assert cache_key(User("a/b", "c", "d")) == "/connectors/a%2Fb/c/d"
    assert cache_key(User("a", "b/c", "d")) == "/connectors/a/b%2Fc/d"
    assert cache_key(Task("a%2Fb")) == "/task/a%252Fb"
    assert cache_key(System("größe 学")) == "/system/gr%C3%B6%C3%9Fe%20%E5%AD%A6"


@given(first=st.tuples(parts, parts, parts), second=st.tuples(parts, parts, parts))
def test_distinct_parts_give_distinct_keys(first: tuple[str, str, str], second: tuple[str, str, str]) -> None:
    """C1: whatever the parts hold."""
    assert (cache_key(User(*first)) == cache_key(User(*second))) == (first == second)


@given(first=st.tuples(slashed, slashed, slashed), second=st.tuples(slashed, slashed, slashed))
def test_parts_made_of_slashes_and_percent_signs_never_collide(
    first: tuple[str, str, str], second: tuple[str, str, str]
) -> None:
    """C1: the same, where a collision is most likely."""
    assert (cache_key(User(*first)) == cache_key(User(*second))) == (first == second)


@given(parts, parts, parts)
def test_the_parts_can_be_read_back_from_the_key(connector: str, user_id: str, channel_id: str) -> None:
    """C1: three parts stay three parts."""
    key = cache_key(User(connector, user_id, channel_id))
    assert [unquote(part) for part in key.split("/")] == ["", "connectors", connector, user_id, channel_id]


@given(parts)
def test_the_same_id_in_two_kinds_gives_two_keys(part: str) -> None:
    """C1: the kind is part of the key."""
    same_id: list[Descriptor] = [
        Cron(part),
        Task(part),
        System(part),
        Subagent(part, part, part),
        App(part, part, part, part, part),
        Permanent(part, part, part, part),
        MemoryAgent(part),
    ]
    assert len({cache_key(descriptor) for descriptor in same_id}) == len(same_id)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (CRON, dataclasses.replace(CRON, name="Another")),
        (SUBAGENT, dataclasses.replace(SUBAGENT, name="Another", parent_agent_id="another")),
        (
            APP,
            dataclasses.replace(APP, name="Another", system_prompt="Else.", parent_agent_id="x", app_id="x"),
        ),
        (PERMANENT, dataclasses.replace(PERMANENT, name="Bob", description="A poet", system_prompt="Else.")),
    ],
    ids=["Cron", "Subagent", "App", "Permanent"],
)
def test_a_name_or_a_prompt_is_not_part_of_the_key(one: Descriptor, other: Descriptor) -> None:
    """C1: the key is stable while what describes the agent changes."""
    assert one != other
    assert cache_key(one) == cache_key(other)


# What follows from the kind


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_only_a_user_is_found_as_most_recent_foreground(descriptor: Descriptor) -> None:
    """C2: the strategy matches `user` only; a memory-agent matches none."""
    assert matches(descriptor.kind, "most-recent-foreground") is (descriptor is USER)
    assert is_foreground(descriptor.kind) is (descriptor is USER)


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_only_a_user_has_a_target(descriptor: Descriptor) -> None:
    """C2: `user` → (connector, channel); every other kind → none."""
    assert target(descriptor) == (Target("telegram", "c9") if descriptor is USER else None)


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_only_a_memory_agent_has_a_source_agent(descriptor: Descriptor) -> None:
    """C2: a memory-agent belongs to its source agent's user."""
    assert source_agent(descriptor) == ("0123abcd" if descriptor is MEMORY_AGENT else None)


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_every_kind_but_the_memory_agent_is_organized(descriptor: Descriptor) -> None:
    """C9: a memory-agent's sessions are never marked."""
    assert is_organized(descriptor.kind) is (descriptor is not MEMORY_AGENT)


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_only_a_subagent_is_mortal(descriptor: Descriptor) -> None:
    """C4: no other kind dies."""
    assert is_mortal(descriptor.kind) is (descriptor is SUBAGENT)


@pytest.mark.parametrize(
    ("descriptor", "text"),
    [
        (USER, ""),
        (CRON, ""),
        (TASK, ""),
        (SYSTEM, ""),
        (SUBAGENT, ""),
        (APP, "You sort mail."),
        (PERMANENT, "You are Ada."),
    ],
    ids=KINDS[:-1],
)
def test_a_prompt_adds_to_the_hosts_own(descriptor: Descriptor, text: str) -> None:
    """C2: no kind but the memory-agent replaces the system prompt or brings tools."""
    assert prompt(descriptor) == Prompt(text, replaces=False, tools=())


def test_a_memory_agents_prompt_replaces_the_whole_and_brings_its_tools() -> None:
    """C2: the bundled prompt, in full, and the three document tools."""
    bundled = Path(lifelong.__file__).parent / "prompts" / "memory_agent.md"
    told = prompt(MEMORY_AGENT)
    assert told.replaces
    assert told.text == memory_agent_prompt() == bundled.read_text(encoding="utf-8")
    assert told.text.strip()
    assert told.tools[:2] == ("add_fact", "supersede")
    assert told.tools[-3:] == ("document_read", "document_write", "document_edit")


@pytest.mark.parametrize("text", ["", " ", "\n\t "])
def test_an_empty_replacement_is_an_error(text: str) -> None:
    """C2: an agent with no prompt at all would be nobody."""
    with pytest.raises(PromptError, match="must not be empty"):
        Prompt(text, replaces=True)
    assert Prompt(text).text == text, "only a replacement must say something"


# As the database holds it


@pytest.mark.parametrize("descriptor", EVERY_KIND, ids=KINDS)
def test_every_kind_comes_back_as_it_was(descriptor: Descriptor) -> None:
    """C1: encode, then decode."""
    assert decode(encode(descriptor)) == descriptor
    assert type(decode(encode(descriptor))) is type(descriptor)


@given(parts, parts, parts)
def test_any_text_in_a_descriptor_comes_back(connector: str, user_id: str, channel_id: str) -> None:
    """C1: unicode, quotes and line ends included."""
    descriptor = User(connector, user_id, channel_id)
    assert decode(encode(descriptor)) == descriptor


def test_a_name_a_description_and_a_prompt_may_be_empty() -> None:
    """C1: `cron{id, name?}` and friends."""
    for descriptor in (Cron("c"), Subagent("s", "p", ""), App("a", "p", "", "", "x"), Permanent("p", "", "", "")):
        assert decode(encode(descriptor)) == descriptor


@pytest.mark.parametrize("bad", ["", "   ", "\n"])
def test_an_empty_part_is_refused_by_name(bad: str) -> None:
    """C1: the message says which part."""
    with pytest.raises(InputError, match=r"User\.user_id must not be empty"):
        encode(User("cli", bad, "main"))
    with pytest.raises(InputError, match=r"MemoryAgent\.id must not be empty"):
        encode(MemoryAgent(bad))


def test_a_nul_in_a_part_is_refused_with_its_place() -> None:
    """C1: what PostgreSQL cannot hold never gets that far."""
    with pytest.raises(InputError, match=r"Cron\.id has a NUL character at position 1\. Remove it"):
        encode(Cron("a\0b"))
    with pytest.raises(InputError, match=r"Permanent\.system_prompt has a NUL character at position 0"):
        encode(Permanent("p", "n", "d", "\0"))


def test_a_lone_surrogate_in_a_part_is_refused_with_the_way_out() -> None:
    """C1: text that is not Unicode."""
    with pytest.raises(InputError, match=r"Task\.id has a lone surrogate at position 2.*errors='replace'"):
        encode(Task("ab\ud83d"))


def test_a_part_that_is_not_text_is_refused() -> None:
    """C1: the message names the part and the type."""
    with pytest.raises(InputError, match=r"Task\.id must be text, not int"):
        encode(Task(7))  # type: ignore[arg-type]


def test_a_part_that_is_too_long_is_refused() -> None:
    """C1: a part of an address is at most 500 bytes."""
    assert encode(Task("x" * 500))
    assert encode(Task("é" * 250))
    with pytest.raises(InputError, match=r"Task\.id takes 501 bytes; the limit is 500\. Make it shorter"):
        encode(Task("x" * 501))
    with pytest.raises(InputError, match=r"Task\.id takes 501 bytes; the limit is 500\. Make it shorter"):
        encode(Task("x" * 499 + "é"))


def test_parts_that_are_too_long_together_are_refused() -> None:
    """C1: a whole key is at most 2,000 bytes, as it is kept: percent-encoded."""
    longest = User("%" * 200, "%" * 262, "%" * 200)
    assert len(cache_key(longest)) == 2_000
    assert decode(encode(longest)) == longest
    with pytest.raises(
        InputError, match=r"The parts of User\(.*are too long together\. Make them shorter"
    ) as caught:
        encode(User("%" * 200, "%" * 262, "%" * 200 + "x"))
    assert len(str(caught.value)) < 500


def test_a_name_and_a_prompt_have_room() -> None:
    """C1: what is no part of the key is not bound by an index."""
    descriptor = Permanent("p", "n" * 5_000, "é" * 5_000, "s" * 1_000_000)
    assert decode(encode(descriptor)) == descriptor
    with pytest.raises(
        InputError, match=r"Permanent\.system_prompt has 1,000,001 characters; the limit is 1,000,000"
    ):
        encode(Permanent("p", "n", "d", "s" * 1_000_001))


@pytest.mark.parametrize("bad", ["user", None, 3, {"kind": "user"}, User, Prompt("x")])
def test_what_is_not_a_descriptor_is_refused_with_the_kinds_there_are(bad: object) -> None:
    """C1: the error lists what would do."""
    with pytest.raises(InputError, match="does not describe an agent") as caught:
        encode(bad)  # type: ignore[arg-type]
    assert all(name in str(caught.value) for name in KINDS)


@pytest.mark.parametrize(
    "stored",
    [
        "",
        "{",
        "null",
        "[]",
        "3",
        '"user"',
        "{}",
        '{"kind": "martian", "id": "x"}',
        '{"kind": ["user"]}',
        '{"kind": "task"}',
        '{"kind": "task", "id": "x", "extra": 1}',
    ],
)
def test_a_broken_stored_descriptor_is_said_to_be_corrupt(stored: str) -> None:
    """C1: the message shows what was stored."""
    with pytest.raises(StorageCorrupt, match="descriptor cannot be read") as caught:
        decode(stored)
    assert stored in str(caught.value)


# A new kind


def test_a_kind_that_is_not_handled_everywhere_fails_the_type_check(tmp_path: Path) -> None:
    """C1: add a kind to the names and to the union, and mypy names every function that forgot it."""
    package = shutil.copytree(
        Path(lifelong.__file__).parent, tmp_path / "lifelong", ignore=shutil.ignore_patterns("__pycache__")
    )
    module = package / "collect" / "descriptors.py"
    source = module.read_text(encoding="utf-8")
    union = "Descriptor: TypeAlias = User | "
    kinds = "AgentKind = Literal["
    assert source.count(union) == source.count(kinds) == 1
    dog = (
        '@dataclass(frozen=True, slots=True)\nclass Dog:\n    kind: ClassVar[AgentKind] = "dog"\n    id: str\n\n\n'
    )
    source = source.replace(kinds, f'{kinds}"dog", ').replace(union, f"{dog}{union}Dog | ")
    module.write_text(source, encoding="utf-8")

    errors = _mypy(module, tmp_path)

    lines = module.read_text(encoding="utf-8").splitlines()
    unhandled = {_function_at(lines, number) for number, text in errors if "assert_never" in text}
    assert unhandled == set(MATCHING_FUNCTIONS)
    assert len(errors) == len(MATCHING_FUNCTIONS), errors


def test_the_names_of_the_kinds_are_those_of_the_union() -> None:
    """C1: a kind that is only in one of the two would be stored and never read, or the reverse."""
    assert {descriptor.kind for descriptor in EVERY_KIND} == set(get_args(AgentKind)) == set(BY_NAME)
    assert [BY_NAME[descriptor.kind] for descriptor in EVERY_KIND] == [type(kind) for kind in EVERY_KIND]


ALONE = ("--no-site-packages", "--follow-imports=silent")  # most of the time would go into what others wrote


def _mypy(module: Path, folder: Path) -> list[tuple[int, str]]:
    """What mypy has against the module: line and message of each error."""
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *ALONE, "--cache-dir", str(folder / "cache"), str(module)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    found = re.findall(r"descriptors\.py:(\d+): error: (.*)", done.stdout)
    return [(int(number), text) for number, text in found]


def _function_at(lines: list[str], number: int) -> str:
    """The function that this line stands in."""
    before = (re.match(r"def (\w+)", line) for line in reversed(lines[:number]))
    return next(found[1] for found in before if found)
