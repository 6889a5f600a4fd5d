"""How the tables came to be, step by step. A database is made, or brought up to date, by the steps it lacks.

A step that was released is never edited: a change is a new step. What the two databases spell differently
stands in `DIALECT`.
"""

from __future__ import annotations

from lifelong.errors import NewerDatabase
from lifelong.storage.base import Dialect, Transaction
from lifelong.storage.migrations import collect, organize, recall
from lifelong.storage.migrations.base import Migration

FULL_TEXT = (
    "CREATE VIRTUAL TABLE item_words USING fts5 "
    "(words, content='', contentless_delete=1, detail=none, tokenize='ascii')"
)
"""Which items a word stands in, and no more: the text is elsewhere, and order and number are not asked for."""

DIALECT: dict[Dialect, dict[str, str]] = {
    "sqlite": {
        "{growing_id}": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "{bytes}": "BLOB",
        "{full_text}": FULL_TEXT,
        "{full_text_index}": "",
    },
    "postgres": {
        "{growing_id}": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "{bytes}": "BYTEA",
        "{full_text}": "CREATE TABLE item_words (rowid BIGINT NOT NULL PRIMARY KEY, words TSVECTOR NOT NULL)",
        "{full_text_index}": "CREATE INDEX idx_item_words ON item_words USING gin (words)",
    },
}


MIGRATIONS: tuple[Migration, ...] = (*collect.STEPS, *organize.STEPS, *recall.STEPS)

LATEST = MIGRATIONS[-1].number

RECORDS = """CREATE TABLE IF NOT EXISTS lifelong_migrations (
    number     BIGINT NOT NULL PRIMARY KEY,
    name       TEXT   NOT NULL,
    applied_at BIGINT NOT NULL
)"""


def migrate(tx: Transaction, dialect: Dialect, now: int, where: str, until: int = LATEST) -> None:
    """Apply the steps that are missing, in order, in the caller's transaction. The caller keeps others out."""
    tx.run(RECORDS)
    done = applied(tx)
    check_version(done, where)
    for step in MIGRATIONS:
        if done < step.number <= until:
            for statement in step.sql:
                if spelled := _translate(statement, dialect):
                    tx.run(spelled)
            tx.run("INSERT INTO lifelong_migrations VALUES (?, ?, ?)", step.number, step.name, now)


def _translate(statement: str, dialect: Dialect) -> str:
    for name, word in DIALECT[dialect].items():
        statement = statement.replace(name, word)
    return statement


def applied(tx: Transaction) -> int:
    row = tx.one("SELECT max(number) FROM lifelong_migrations")
    return int(row[0]) if row and row[0] is not None else 0


def check_version(done: int, where: str) -> None:
    if done > LATEST:
        raise NewerDatabase(
            f"{where} is at version {done}; this lifelong knows versions up to {LATEST}. "
            "Nothing was changed; upgrade lifelong to open it."
        )
