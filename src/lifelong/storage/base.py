"""The protocol between the stages and the database: `read`, `write`, and the transaction they hand out.

SQL is written once, in the form both databases accept, with `?` for a parameter. What differs between them is
here (row locks, full text) and in `migrations.py` (the types of columns).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Dialect = Literal["sqlite", "postgres"]

NO_LIMIT = 2**62
"""A LIMIT that returns every row."""

FULL_TEXT_DAMAGED = "The full-text index is damaged"
"""How `Database.check` begins what it says of an index that can be made again from the rest."""

Param: TypeAlias = str | int | float | bytes | None

Row: TypeAlias = tuple[Any, ...]
"""One row, in the order of the selected columns. Its values are untyped; each `from_row` types them."""


class StoredFile(NamedTuple):
    """A file in a backup: its path, when it was changed last, in nanoseconds since 1970, and its content."""

    path: str
    modified: int
    data: bytes


class Transaction(Protocol):
    """Run SQL within a unit of work. Valid only during the call that it was passed to."""

    def now(self) -> datetime:
        """Return the time by the database's clock, which everybody shares who uses it."""
        ...

    @property
    def for_update(self) -> str:
        """Return the end of a SELECT that locks its rows until the transaction ends; empty where there is only one
        writer. Lock rows in this order: agents (by id), sessions, the rest. A statement that waited sees the
        other rows as they were before it waited: lock first, read in the next statement."""
        ...

    @property
    def skip_locked(self) -> str:
        """Return the same, but skipping rows that another transaction has locked."""
        ...

    @property
    def fulltext_value(self) -> str:
        """Return the parameter of an INSERT that stores words, separated by blanks, in the full-text index."""
        ...

    @property
    def fulltext_match(self) -> str:
        """Return the condition that `item_words` holds the word of its parameter: ASCII letters and digits."""
        ...

    @property
    def fulltext_and(self) -> str:
        """Return what stands between several words in that parameter, so that all of them must be held."""
        ...

    @property
    def fulltext_newest(self) -> str:
        """Return the ORDER BY of `fulltext_match`, newest first, that uses the index on words."""
        ...

    @property
    def check_fulltext(self) -> tuple[str, ...]:
        """Return the statements that raise `IndexCorrupt` where `item_words` is damaged. Ask it for words before:
        only then does a connection know what others wrote."""
        ...

    @property
    def reset_fulltext(self) -> tuple[str, ...]:
        """Return the statements that empty `item_words`, also when it is damaged."""
        ...

    def all(self, sql: str, *params: Param) -> list[Row]:
        """Return every row."""
        ...

    def one(self, sql: str, *params: Param) -> Row | None:
        """Return the first row, or none."""
        ...

    def run(self, sql: str, *params: Param) -> int:
        """Run a statement and return how many rows it changed."""
        ...

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        """Run a statement for each row of parameters, in order, and return all the rows it returned, in order."""
        ...

    def insert(self, into: str, rows: Sequence[tuple[Param, ...]]) -> Sequence[int]:
        """Insert rows into a table with a growing id, in order, and return their ids, ascending. `into` names the
        table and the columns."""
        ...

    def lock_ids(self, table: str) -> int:
        """Return the last id that a table with a growing id has given out, and have it give out no other until the
        transaction ends."""
        ...

    def skip_ids(self, table: str, until: int) -> None:
        """Have a table with a growing id give out only ids above this one. Call `lock_ids` before."""
        ...

    def insert_with_ids(self, into: str, rows: Sequence[tuple[Param, ...]]) -> None:
        """Insert rows that bring their ids into a table with a growing id. Call `skip_ids` before."""
        ...


class Database(Protocol):
    """Store rows.

    `read` and `write` may run `work` more than once (after a lost connection, or when a group is split), so it
    must have no effect except through its transaction. Errors are `StorageError`s.
    """

    @property
    def dialect(self) -> Dialect: ...

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one consistent snapshot. Readers and writers never wait for each other."""
        ...

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction: all of it is durable when this returns, nothing is stored when it raises.
        Errors of `work` itself are raised unchanged."""
        ...

    def backup(self, target: Path, files: Iterable[StoredFile] = ()) -> None:
        """Write a whole, consistent copy to `target` while work goes on, with these files in a table of its own,
        `home_files`."""
        ...

    def purge(self, words: Sequence[str] = ()) -> bool:
        """Remove what deleted rows left behind: in the log of writes, and where the database keeps dead rows.
        `words` were in such rows alone: the file is looked through for them, and written anew where one is left.
        Return false where others read or write so much that it has to be tried again."""
        ...

    def traces(self, words: Sequence[str]) -> list[str]:
        """Return the words that the database's own files hold anywhere, as they are written; none where its files
        cannot be read."""
        ...

    def check(self) -> list[str]:
        """Read everything and return what is wrong, a sentence each. Slow on a large database."""
        ...

    def close(self) -> None:
        """Finish what was submitted, then close. Later calls raise `MemoryClosed`."""
        ...
