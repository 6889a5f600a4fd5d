"""Look for what is left of something that was forgotten: in answers, in tables, and in every file of the home."""

from __future__ import annotations

import glob
import mmap
import os
import re
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from lifelong.disk import files_below
from lifelong.forget.plan import WordFinder
from lifelong.forget.tables import TABLES, Table
from lifelong.storage.base import Database, Transaction
from lifelong.text.words import fold
from lifelong.types import Hit

MAX_SEARCHES = 50
ROWS_PER_READ = 5_000
MIN_TRACE_CHARS = 6  # of a word that is looked for among bytes, where a shorter one may be there by chance

_WORD = re.compile(r"[\w'\u2019-]+")
_ESCAPED = re.compile(r"\\[nrt]")  # in JSON
_WITHOUT_LABELS = {"fact_keys": "key NOT LIKE '~%'"}  # which are words of ours


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
    given = [*dict.fromkeys(words)]
    unseen = database.read(lambda tx: _held_unseen(tx, database, owner))
    wanted = [word for word in given if word.lower() not in unseen]
    own, living = database.read(lambda tx: _tables_with(tx, database, owner, wanted))
    found = [f"table {table}" for table in own]
    looked = wanted[:MAX_SEARCHES]
    for word in looked:
        found += [f"a search finds {hit.id}" for hit in search(word) if WordFinder([word]).is_in(hit.text)]
    unread: list[Path] = []
    files = files_below(home, lambda error: unread.append(Path(error.filename or home)))
    queued = sorted(home.parent.glob(f"{glob.escape(home.name)}.hook-*.jsonl"))  # turns that wait to be stored
    files = [
        path
        for path in files
        if path.suffix not in (".lock", ".toml")  # neither holds what was said
        and os.path.realpath(path) not in backups
        and not _is_of_another(path.relative_to(home), owner)
    ]
    if database.traces(traceable(database, [word for word in wanted if word not in living])):
        found.append("file lifelong.db")
    for path in [*files, *queued]:
        is_database = path.parent == home and path.name.startswith("lifelong.db")
        try:
            left = [] if is_database else _words_in(path, wanted)
        except FileNotFoundError:
            pass  # it is gone by now
        except OSError:
            unread.append(path)  # the error of a mapping names no file
        else:
            found += [f"file {os.path.relpath(path, home)}"] if left else []
    found += [
        f"{os.path.relpath(path, home)} (perhaps: it cannot be read)"
        for path in unread
        if wanted and not (path.is_relative_to(home) and _is_of_another(path.relative_to(home), owner))
    ]
    return Proof(len(wanted), len(looked), len(TABLES), len(files) + len(queued), tuple(dict.fromkeys(found)))


def traceable(database: Database, words: Sequence[str]) -> list[str]:
    """Return the words by which a trace is known in the bytes of a database: long ones that are no part of its
    tables' names."""
    if database.dialect != "sqlite":
        return []
    schema = database.read(lambda tx: tx.all("SELECT lower(sql) FROM sqlite_master WHERE sql IS NOT NULL"))
    names = " ".join(row[0] for row in schema)
    return [word for word in words if len(word) >= MIN_TRACE_CHARS and word.lower() not in names]


def _is_of_another(path: Path, owner: str) -> bool:
    return path.parts[:1] == ("users",) and path.parts[1:2] not in ((), (owner,))


def _held_unseen(tx: Transaction, database: Database, owner: str) -> str:
    """Return the words of records that no search finds, in small letters: the calls of tools, and the summaries of
    contexts."""
    which = "(type = 'tool_call' OR data LIKE '%\"summary\":true%')"
    history = next(table for table in TABLES if table.name == "session_history")
    texts = (text for text, is_own in _texts(tx, database, history, ["data"], owner, which) if is_own)
    return _all_words(texts)


def _tables_with(
    tx: Transaction, database: Database, owner: str, words: Sequence[str]
) -> tuple[list[str], set[str]]:
    """Return the tables that hold one of the words in a row of the owner's, as a word, and the words that any row,
    or the schema, holds. Each table is read once, for all words."""
    found, living, finder = list[str](), set[str](), WordFinder(words)
    schema = tx.all("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL") if database.dialect == "sqlite" else []
    held = _all_words(row[0] for row in schema)
    living |= {word for word in words if word.lower() in held}
    for table, columns in _text_columns(tx, database):
        own: set[str] = set()

        def every(table: Table = table, columns: Sequence[str] = columns, own: set[str] = own) -> Iterator[str]:
            for text, is_own in _texts(tx, database, table, columns, owner, _WITHOUT_LABELS.get(table.name, "")):
                if is_own and not own:
                    own |= finder.find(text)
                yield text

        held = _all_words(every())
        living |= {word for word in words if word.lower() in held}
        found += [table.name] if own else []
    return found, living


def _texts(
    tx: Transaction, database: Database, table: Table, columns: Sequence[str], owner: str, which: str = ""
) -> Iterator[tuple[str, bool]]:
    """Yield the texts of each row of a table, a part of it at a time, and whether it is the owner's."""
    whole = " || ' ' || ".join(f"COALESCE({column}, '')" for column in columns)
    is_sqlite = database.dialect == "sqlite"
    place, after = ("rowid", "?") if is_sqlite else ("CAST(ctid AS TEXT)", "CAST(? AS tid)")
    order, last = ("rowid", "-1") if is_sqlite else ("ctid", "(0,0)")
    is_own, params = ("1 = 0", ()) if table.belongs == "home" else (table.owned, (owner,))
    statement = (
        f"SELECT {place}, {whole}, CASE WHEN {is_own} THEN 1 ELSE 0 END FROM {table.name} WHERE {order} > {after}"
        f"{' AND ' + which if which else ''} ORDER BY {order} LIMIT {ROWS_PER_READ}"
    )
    while rows := tx.all(statement, *params, int(last) if is_sqlite else last):
        yield from ((_ESCAPED.sub(" ", text), bool(own)) for _, text, own in rows)
        last = rows[-1][0]


def _all_words(texts: Iterable[str]) -> str:
    """Return every different word of texts, in small letters, one in a line."""
    return "\n".join({word for text in texts for word in _WORD.findall(text.lower())})


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


def _words_in(path: Path, words: Sequence[str]) -> list[str]:
    """Return the words that a file holds, as they are written; in a text, as words. Raise `OSError` where it
    cannot be read."""
    if not stat.S_ISREG(path.lstat().st_mode):
        return []
    try:
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            found = [word for word in words if data.find(word.encode("utf-8", "surrogatepass")) >= 0]
            if found and path.suffix in (".md", ".toml"):
                text = data[:].decode("utf-8", "replace")
                held = WordFinder(found).find(text)
                return [word for word in found if fold(word) in held]
            return found
    except ValueError:  # an empty file cannot be mapped
        return []
