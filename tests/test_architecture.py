"""The shape (DESIGN): imports go one way, and SQL stands in few places."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SRC = Path(__file__).parent.parent / "src" / "lifelong"

BASE = {
    *("types", "errors", "disk", "validation", "redaction", "periodic", "tools"),
    *("storage.base", "storage.group_commit", "text"),
}
"""What every stage may build on."""

STAGES = {"collect", "organize", "journal", "recall", "forget"}

ALLOWED: dict[str, set[str]] = {
    "errors": set(),
    "types": set(),
    "disk": set(),
    "settings": {"errors"},
    "periodic": {"errors"},
    "tools": {"errors"},
    "validation": {"errors", "types"},
    "redaction": {"text"},
    "text": {"text"},
    "home": {"errors", "disk", "validation", "settings"},
    "keys": {"errors", "home"},
    "storage": {"storage", "errors", "types", "disk"},
    "vectors": {"vectors", *BASE},
    "models": {"models", *BASE},
    # A record becomes searchable in the transaction that stores it.
    "collect": {"collect", "recall.index_writer", "recall.repair", *BASE},
    # A document becomes searchable in the transaction that commits it; what a person corrected is not learned.
    # When a consolidation ran stands with the other schedules.
    "organize": {"organize", "collect", "models", "journal.rows", "recall.index_writer", "recall.feedback", *BASE},
    "journal": {"journal", "collect", "models", "home", *BASE},
    # What waits for a person is in documents, in the journal, or to be forgotten once it is approved.
    "reviews": {*STAGES, *BASE},
    "recall": {"recall", "journal", "organize", "collect", "models", "vectors", *BASE},
    # What is forgotten or taken along is everything that the stages made.
    "forget": {*STAGES, "models", "home", *BASE},
    # What people have elsewhere becomes records, and nothing more.
    "importers": {"importers", "collect", *BASE},
    "tokens": {*BASE},
    "background": {"organize", *BASE},
    "wiring": {
        *STAGES,
        "models",
        "vectors",
        "storage",
        "background",
        "reviews",
        "home",
        "keys",
        "telemetry",
        *BASE,
    },
    # Wraps what it watches, so that no stage knows about it.
    "telemetry": {*STAGES, "models", *BASE},
    "namespaces": {*STAGES, "models", *BASE},
    "memory": {
        *STAGES,
        "importers",
        "models",
        "reviews",
        "tokens",
        "wiring",
        "namespaces",
        "settings",
        "home",
        *BASE,
    },
    "aio": {*STAGES, "models", "reviews", "memory", "namespaces", *BASE},
    "serve": {
        "",
        "serve",
        *STAGES,
        "importers",
        "models",
        "memory",
        "namespaces",
        "tokens",
        "aio",
        "settings",
        "home",
        "keys",
        "telemetry",
        *BASE,
    },
    # Thin faces of a memory for other frameworks.
    "adapters": {"", "adapters", "memory", "namespaces", "aio", *STAGES, *BASE},
    "testing": {"organize", *BASE},
    "": {"aio", "memory", *STAGES, "models", *BASE},
    "__main__": {"serve"},
}
"""For each module or package of ours, what it may import; "" is `lifelong` itself. What is not named here
may import nothing, so a new part has to be given its place."""

ONLY_IN = {
    "apsw": {"storage.sqlite"},
    "psycopg": {"storage.postgres"},
    "psycopg_pool": {"storage.postgres"},
    "chromadb": {"vectors.chroma"},
}

SQL_STANDS_IN = (
    "storage.",
    "collect.agents",
    "collect.sessions",
    "collect.history",
    "collect.erasures",
    "collect.tombstones",
    "organize.inbox",
    "organize.document_rows",
    "organize.facts",
    "organize.review",
    "models.ledger",
    "journal.rows",
    "recall.items",
    "recall.ends",
    "recall.index_state",
    "recall.recall_log",
    "recall.feedback",
    "recall.relations",
    "recall.repair",
    "recall.experience_rows",
    "recall.vocabulary",
    "vectors.local",
    "vectors.numbering",
    "vectors.pgvector",
    "forget.",
    "tokens",
    "testing",
)
SQL = re.compile(r"\b(?:INSERT\s+INTO|DELETE\s+FROM|UPDATE\b.+?\bSET|SELECT\b.+?\bFROM)\b", re.DOTALL)

FILES = sorted(SRC.rglob("*.py"))


def module_of(path: Path) -> str:
    """`storage.base` for storage/base.py; `storage` and "" for the packages."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imported(tree: ast.Module, module: str) -> Iterator[str]:
    """Every module that is imported, wherever in the file, but for those that only the type checker sees."""
    package = ["lifelong", *module.split(".")[:-1]]

    def visit(node: ast.AST) -> Iterator[str]:
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING":
            return
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = package[: len(package) + 1 - node.level] if node.level else []
            base = ".".join([*start, *([node.module] if node.module else [])])
            for alias in node.names:
                full = f"{base}.{alias.name}"
                yield full if is_ours(full) else base
        for child in ast.iter_child_nodes(node):
            yield from visit(child)

    yield from visit(tree)


def is_ours(name: str) -> bool:
    """Whether this is a module of lifelong, and not a name in one."""
    if name.split(".")[0] != "lifelong":
        return False
    path = SRC.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


def wrong_imports(tree: ast.Module, module: str) -> list[str]:
    """What this module imports and may not."""
    rule = ALLOWED.get(module, ALLOWED.get(module.split(".")[0], set()))
    wrong = []
    for name in imported(tree, module):
        top, _, rest = name.partition(".")
        if top == "lifelong":
            if not any(rest == part or (part and rest.startswith(f"{part}.")) for part in rule):
                wrong.append(name)
        elif module not in ONLY_IN.get(top, {module}):
            wrong.append(name)
    return wrong


def sql_in(tree: ast.Module) -> list[str]:
    """The texts that look like statements."""
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            text = node.value
        elif isinstance(node, ast.JoinedStr):
            text = " ".join(str(part.value) if isinstance(part, ast.Constant) else "x" for part in node.values)
        else:
            continue
        if SQL.search(text):
            found.append(f"line {node.lineno}: {text:.60}")
    return found


@pytest.fixture(params=FILES, ids=lambda path: module_of(path) or "lifelong")
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture
def tree(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def test_imports_go_one_way(path: Path, tree: ast.Module) -> None:
    assert wrong_imports(tree, module_of(path)) == []


def test_sql_stands_only_where_the_rows_are(path: Path, tree: ast.Module) -> None:
    if not f"{module_of(path)}.".startswith(tuple(f"{place.rstrip('.')}." for place in SQL_STANDS_IN)):
        assert sql_in(tree) == []


def test_every_part_has_its_place() -> None:
    parts = {module_of(path).split(".")[0] for path in FILES}
    assert parts <= set(ALLOWED)
    assert {*STAGES, "storage", "memory", "aio", "settings", "types", "errors"} <= parts


def test_the_eight_files_that_tell_the_whole_are_there() -> None:
    told = re.findall(r"^(\d)  (\S+\.py) ", SRC.joinpath("__init__.py").read_text(encoding="utf-8"), re.MULTILINE)
    assert [number for number, _ in told] == list("12345678")
    assert [name for _, name in told if not (SRC / name).is_file()] == []


# The rules can be broken


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("collect.recorder", "from lifelong.storage.sqlite import SQLite"),
        ("collect.recorder", "from lifelong.storage import postgres"),
        ("collect.recorder", "from lifelong.organize.worker import Worker"),
        ("collect.recorder", "from ..organize import worker"),
        ("collect.recorder", "import lifelong.memory"),
        ("organize.worker", "from lifelong.recall import search"),
        ("text.words", "from lifelong.recall.analyzer import analyze"),
        ("organize.worker", "from lifelong.settings import Settings"),
        ("storage.sqlite", "from lifelong.collect.agents import Agents"),
        ("memory", "from lifelong.serve.cli import main"),
        ("serve.cli", "from lifelong.storage.sqlite import SQLite"),
        ("storage.group_commit", "from lifelong import Memory"),
        ("memory", "def f():\n    import apsw"),
        ("collect.recorder", "from psycopg import errors"),
        ("brand_new", "import lifelong.errors"),
    ],
)
def test_a_wrong_import_is_found(module: str, line: str) -> None:
    assert len(wrong_imports(ast.parse(line), module)) == 1


@pytest.mark.parametrize(
    "line",
    [
        'tx.run("INSERT INTO agents VALUES (1)")',
        'tx.run(f"UPDATE {table} SET x = 1")',
        'tx.all("SELECT a, b "\n"FROM agents")',
        'x = "DELETE  FROM agents"',
    ],
)
def test_a_statement_in_the_wrong_place_is_found(line: str) -> None:
    assert sql_in(ast.parse(line))
