"""Look for what is left of something that was forgotten: in answers, in tables, and in every file of the home."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from lifelong.forget.tables import TABLES, Table
from lifelong.storage.base import Database, Transaction
from lifelong.text.words import fold
from lifelong.types import Hit

MAX_SEARCHES = 50
MIN_TRACE_CHARS = 6  # of a word that is looked for among bytes, where a shorter one may be there by chance


@dataclass(frozen=True, slots=True)
class Proof:
    """What was looked for, where, and what was found. `found` says where a word is left, without the word: nothing
    there means that it is gone."""

    words: int
    searches: int
    tables: int
    files: int
    found: tuple[str, ...]

    @property
    def clean(self) -> bool:
        """Whether nothing is left."""
        return not self.found


def prove(
    words: Sequence[str],
    database: Database,
    home: Path,
    owner: str,
    search: Callable[[str], Iterable[Hit]],
    backups: Collection[str] = (),
) -> Proof:
    """Look for words that only the forgotten held, in all that is the owner's. What other users said is theirs; a
    word that a row of theirs or the schema holds may be in the database's file. `backups` still hold it, which the
    report says."""
    wanted = [word for word in dict.fromkeys(words) if not _is_held_unseen(database, owner, word)]
    found: list[str] = []
    living: set[str] = set()
    for word in wanted:
        own, others = database.read(lambda tx, word=word: _tables_with(tx, database, owner, word))  # type: ignore[misc]
        found += [f"table {table}" for table in own]
        living |= {word} if own or others else set()
    looked = wanted[:MAX_SEARCHES]
    for word in looked:
        found += [f"a search finds {hit.id}" for hit in search(word) if _is_in(word, hit.text)]
    files = [path for path in sorted(home.rglob("*")) if path.is_file() and not path.is_symlink()]
    files = [
        path
        for path in files
        if path.suffix not in (".lock", ".toml")  # neither holds what was said
        and os.path.realpath(path) not in backups
        and not _is_of_another(path.relative_to(home), owner)
    ]
    for path in files:
        is_database = path.parent == home and path.name.startswith("lifelong.db")
        looked_for = (
            traceable(database, [word for word in wanted if word not in living]) if is_database else wanted
        )
        left = _words_in(path, looked_for)
        found += [f"file {path.relative_to(home).as_posix()}"] if left else []
    return Proof(len(wanted), len(looked), len(TABLES), len(files), tuple(dict.fromkeys(found)))


def traceable(database: Database, words: Sequence[str]) -> list[str]:
    """Return the words by which a trace is known in the bytes of a database: long ones that are no part of its
    tables' names."""
    if database.dialect != "sqlite":
        return []
    schema = database.read(lambda tx: tx.all("SELECT lower(sql) FROM sqlite_master WHERE sql IS NOT NULL"))
    names = " ".join(row[0] for row in schema)
    return [word for word in words if len(word) >= MIN_TRACE_CHARS and word.lower() not in names]


def _is_of_another(path: Path, owner: str) -> bool:
    return path.parts[0] == "users" and path.parts[1:2] != (owner,)


def _is_held_unseen(database: Database, owner: str, word: str) -> bool:
    """Return whether another record holds a word that no search finds: the call of a tool, or the summary of a
    context."""
    which = (
        "SELECT 1 FROM session_history h JOIN sessions s ON s.id = h.session_id "
        "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND (h.type = 'tool_call' OR h.data LIKE ?) "
        "AND lower(h.data) LIKE ? ESCAPE '!' LIMIT 1"
    )
    return database.read(lambda tx: tx.one(which, owner, '%"summary":true%', _like(word, database))) is not None


def _tables_with(tx: Transaction, database: Database, owner: str, word: str) -> tuple[list[str], bool]:
    """Return the tables that hold a word in a row of the owner's, and whether any row, or the schema, holds it."""
    own: list[str] = []
    wanted = _like(word, database)
    schema = "SELECT 1 FROM sqlite_master WHERE lower(sql) LIKE ? ESCAPE '!' LIMIT 1"
    others = database.dialect == "sqlite" and tx.one(schema, wanted) is not None
    for table, columns in _text_columns(tx, database):
        whole = " || ' ' || ".join(f"COALESCE({column}, '')" for column in columns)
        holds = f"lower({whole}) LIKE ? ESCAPE '!'"
        if table.belongs != "home":
            rows = tx.all(f"SELECT {whole} FROM {table.name} WHERE {table.owned} AND {holds}", owner, wanted)
            own += [table.name] if any(_is_in(word, row[0]) for row in rows) else []
        others = others or tx.one(f"SELECT 1 FROM {table.name} WHERE {holds} LIMIT 1", wanted) is not None
    return own, others


def _text_columns(tx: Transaction, database: Database) -> list[tuple[Table, list[str]]]:
    columns = (
        "SELECT m.name, c.name FROM sqlite_master m JOIN pragma_table_info(m.name) c "
        "WHERE m.type = 'table' AND c.type = 'TEXT'"
        if database.dialect == "sqlite"
        else "SELECT table_name, column_name FROM information_schema.columns "
        "WHERE table_schema = current_schema() AND data_type = 'text'"
    )
    known = {table.name: table for table in TABLES}
    found: dict[str, list[str]] = {}
    for name, column in tx.all(columns):
        if name in known:
            found.setdefault(name, []).append(column)
    return [(known[name], texts) for name, texts in found.items()]


def _is_in(word: str, text: str) -> bool:
    """Return whether a text holds a word, as a word."""
    return re.search(rf"(?<!\w){re.escape(fold(word))}(?!\w)", fold(text)) is not None


def _like(word: str, database: Database) -> str:
    by_ascii = database.dialect == "sqlite"  # whose `lower` knows no other letters
    lowered = "".join(one.lower() if one.isascii() or not by_ascii else one for one in word)
    escaped = re.sub("([!%_])", r"!\1", lowered)
    return f"%{escaped}%"


def _words_in(path: Path, words: Sequence[str]) -> list[str]:
    """Return the words that a file holds, as they are written; in a text, as words."""
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = [word for word in words if data.find(word.encode("utf-8", "surrogatepass")) >= 0]
            if found and path.suffix in (".md", ".toml"):
                text = data[:].decode("utf-8", "replace")
                return [word for word in found if _is_in(word, text)]
            return found
    except (ValueError, OSError):  # an empty file cannot be mapped
        return []
