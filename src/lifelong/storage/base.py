"""The seam between the stages and the database: `read` and `write`, and a transaction to make them with.

SQL is written once, in the form both databases accept, with `?` for a parameter. What differs between
them stands here (row locks) and in `migrations.py` (the type of a growing id).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

T = TypeVar("T")

Dialect = Literal["sqlite", "postgres"]

NO_LIMIT = 2**62
"""A LIMIT that cuts nothing off."""

FULL_TEXT_DAMAGED = "The full-text index is damaged"
"""How `Database.check` begins what it says of an index that can be made again from the rest."""

Param: TypeAlias = str | int | float | bytes | None

Row: TypeAlias = tuple[Any, ...]
"""One row, in the order of the columns asked for. The one place where values have no type: the
`from_row` of each value gives them theirs."""


class Transaction(Protocol):
    """What a unit of work may do. It lives as long as the call it was handed to."""

    @property
    def for_update(self) -> str:
        """Ends a SELECT that takes its rows until the transaction ends; empty where a writer is alone
        anyway. Take rows in this order: agents (by id), sessions, the rest. A statement that waited for
        a row still sees the others as they were before it waited: take first, read in the next one."""
        ...

    @property
    def skip_locked(self) -> str:
        """Like `for_update`, but rows that another transaction holds are left out."""
        ...

    @property
    def fulltext_value(self) -> str:
        """The parameter of an INSERT that takes words, with blanks between them, into a full-text index."""
        ...

    @property
    def fulltext_match(self) -> str:
        """The condition that `item_words` holds the word of its parameter: ASCII letters and digits."""
        ...

    @property
    def fulltext_newest(self) -> str:
        """The order of what `fulltext_match` finds, newest first, such that the index on words is used."""
        ...

    @property
    def reset_fulltext(self) -> tuple[str, ...]:
        """The statements that leave an empty `item_words`, also where it is damaged."""
        ...

    def all(self, sql: str, *params: Param) -> list[Row]:
        """Every row."""
        ...

    def one(self, sql: str, *params: Param) -> Row | None:
        """The first row, or none."""
        ...

    def run(self, sql: str, *params: Param) -> int:
        """How many rows it changed."""
        ...

    def many(self, sql: str, rows: Iterable[tuple[Param, ...]]) -> list[Row]:
        """The statement once for each row of parameters, in order; all rows they returned, in order."""
        ...

    def insert(self, into: str, rows: Sequence[tuple[Param, ...]]) -> Sequence[int]:
        """Store rows in a table with a growing id, in order; the ids they got, ascending. `into` names the table
        and the columns."""
        ...


class Database(Protocol):
    """Where rows live.

    Both calls run `work` to its end and may run it more than once (a lost connection, a group that is
    split), so it must have no effect but through its transaction. Errors are `StorageError`s.
    """

    @property
    def dialect(self) -> Dialect: ...

    def read(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` on one consistent snapshot. It never waits for a writer, nor a writer for it."""
        ...

    def write(self, work: Callable[[Transaction], T]) -> T:
        """Run `work` in one transaction: all of it is durable when this returns, none of it when it
        raises. What `work` itself raises comes out unchanged."""
        ...

    def backup(self, target: Path) -> None:
        """Write a whole, consistent copy to `target` while work goes on."""
        ...

    def check(self) -> list[str]:
        """Read everything and say what is wrong, a sentence each. Takes as long as it takes."""
        ...

    def close(self) -> None:
        """Finish what was submitted, then let go. Later calls raise `MemoryClosed`."""
        ...
