"""The public surface: a tested list, one tree of errors, and an import that brings nothing heavy."""

from __future__ import annotations

import ast
import inspect
import operator
import re
import subprocess
import sys
from pathlib import Path

import pytest

import lifelong
from lifelong import Memory, errors
from lifelong.errors import LifelongError

PUBLIC = [
    "Agent",
    "App",
    "AssistantMessage",
    "AsyncMemory",
    "Cron",
    "Descriptor",
    "Document",
    "Embedder",
    "Fact",
    "Health",
    "Hit",
    "LifecycleResult",
    "LifelongError",
    "Memory",
    "MemoryAgent",
    "Note",
    "Organizer",
    "Permanent",
    "Receipt",
    "Record",
    "Session",
    "Store",
    "StoredRecord",
    "Subagent",
    "System",
    "SystemMessage",
    "Task",
    "Tool",
    "ToolCall",
    "ToolResult",
    "Turn",
    "User",
    "UserMessage",
    "nothing_known",
]

HEAVY = ["psycopg", "psycopg_pool", "chromadb", "mcp", "pydantic_ai", "fastapi", "uvicorn", "numpy", "anthropic"]


def test_the_public_names_are_these() -> None:
    assert lifelong.__all__ == PUBLIC
    assert all(hasattr(lifelong, name) for name in PUBLIC)


def test_no_other_name_looks_public() -> None:
    assert dir(lifelong) == [name for name in PUBLIC if getattr(lifelong, name)]
    names = {
        name for name, value in vars(lifelong).items() if not name.startswith("_") and not inspect.ismodule(value)
    }
    assert names == set(PUBLIC)


def test_importing_it_imports_nothing_heavy() -> None:
    """Nor does opening a home on SQLite."""
    program = (
        "import sys, tempfile, lifelong; print(*sys.modules, sep='\\n'); print('--'); "
        "lifelong.Memory.open(tempfile.mkdtemp()).close(); print(*sys.modules, sep='\\n')"
    )
    ended = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    after_import, after_open = (set(part.split()) for part in ended.stdout.split("--"))
    assert "lifelong.memory" not in after_import, "a name is imported when it is asked for"
    assert "lifelong.memory" in after_open
    assert after_import & {*HEAVY, "apsw", "typer", "rich"} == set()
    assert "apsw" in after_open
    assert after_open & set(HEAVY) == set()


def test_it_is_typed() -> None:
    assert Path(inspect.getfile(lifelong)).with_name("py.typed").is_file()


# Errors

ErrorTree = dict[str, tuple[str | None, str | None]]
"""For each class: what stands above it, and the built-in class beside that."""


def drawn() -> ErrorTree:
    """The tree as the docstring of errors.py draws it."""
    tree: ErrorTree = {}
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = re.match(r"^ {4}((?:[│ ] {3})*(?:[├└]── )?)([A-Z]\w+)(?: \((\w+)\))?(?: |$)", line)
        if found and (found[1] or found[2] == "LifelongError"):
            depth = len(found[1]) // 4
            above[depth:] = [found[2]]
            tree[found[2]] = (above[depth - 1] if depth else None, found[3])
    return tree


def actual() -> ErrorTree:
    """The tree as the classes are."""
    tree: ErrorTree = {}
    for name, kind in vars(errors).items():
        if inspect.isclass(kind) and issubclass(kind, LifelongError):
            bases = [base.__name__ for base in kind.__bases__]
            if kind is LifelongError:
                tree[name] = (None, None)
            else:
                tree[name] = (bases[0], bases[1] if len(bases) > 1 else None)
    return tree


def test_the_tree_that_is_drawn_is_the_tree_that_is() -> None:
    assert drawn() == actual()
    assert list(drawn()) == list(actual()), "and in the same order"
    assert len(drawn()) > 10


ALL = [getattr(errors, name) for name in actual()]


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_the_docstring_of_an_error_is_its_message(kind: type[LifelongError]) -> None:
    message = " ".join((kind.__doc__ or "").split())
    assert str(kind()) == message
    assert str(kind("another")) == "another"
    assert re.fullmatch(r"[A-Zl].+\.", message, re.DOTALL), "it is a sentence"
    assert kind.__doc__ != (kind.__mro__[1].__doc__), "it is its own"


@pytest.mark.parametrize("kind", [kind for kind in ALL if kind is not LifelongError], ids=lambda k: k.__name__)
def test_each_error_is_drawn_with_what_it_means(kind: type[LifelongError]) -> None:
    (line,) = [x for x in (errors.__doc__ or "").splitlines() if re.search(rf"── {kind.__name__}\b", x)]
    assert re.search(r" {1,}\S+ \S+ ", line.split("── ")[1]), "a few words stand beside it"


def test_what_a_caller_may_catch() -> None:
    storage = [kind for kind in ALL if issubclass(kind, errors.StorageError)]
    assert {kind.__name__ for kind in storage} == {
        "StorageError",
        "StorageBusy",
        "StorageFull",
        "StorageUnavailable",
        "OutcomeUnknown",
        "StorageConflict",
        "StorageCorrupt",
        "IndexCorrupt",
        "ForeignDatabase",
        "WrongKey",
        "NewerDatabase",
    }
    assert issubclass(errors.ConfigError, ValueError)
    assert issubclass(errors.PromptError, errors.InputError)
    assert issubclass(errors.AgentNotFound, LookupError)
    assert issubclass(errors.SessionNotFound, LookupError)
    assert not issubclass(errors.MemoryClosed, errors.StorageError)
    assert lifelong.LifelongError is LifelongError


def test_importing_it_brings_no_heavy_part_along() -> None:
    """What settings, models and PostgreSQL need is imported where it is used."""
    heavy = ("pydantic", "pydantic_ai", "psycopg", "numpy", "typer", "rich", "apsw")
    loaded = f"import sys, lifelong; print([name for name in {heavy} if name in sys.modules])"
    told = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert told.stdout.strip() == "[]"


CALL_IN_A_MESSAGE = re.compile(r"\bmemory\.([a-z_]+(?:\.[a-z_]+)?)\(")


def test_the_calls_that_messages_advise_exist(tmp_path: Path) -> None:
    """An error says what to do next, so what it names must be there."""
    source = Path(lifelong.__file__).parent
    advised = {
        call
        for path in source.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
        for call in CALL_IN_A_MESSAGE.findall(node.value)
    }
    assert {"sessions.list", "inbox.list", "agent"} <= advised
    with Memory.open(tmp_path, continuity={"experience_store_enabled": True}) as memory:
        assert [call for call in sorted(advised) if not callable(operator.attrgetter(call)(memory))] == []
