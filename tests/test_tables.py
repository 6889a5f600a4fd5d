"""The list of tables (S6, S10): it has every table of the database, in an order in which rows can be inserted."""

from __future__ import annotations

import re

from lifelong import Memory
from lifelong.forget.tables import TABLES
from lifelong.storage.base import Database
from lifelong.storage.migrations import MIGRATIONS

NAMES = [table.name for table in TABLES]
FULL_TEXT_SHADOWS = re.compile(r"item_words_\w+|sqlite_\w+")  # SQLite's own


def tables(database: Database) -> set[str]:
    sql = (
        "SELECT name FROM sqlite_master WHERE type = 'table'"
        if database.dialect == "sqlite"
        else "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()"
    )
    found = {name for (name,) in database.read(lambda tx: tx.all(sql))}
    return {name for name in found if not FULL_TEXT_SHADOWS.fullmatch(name)}


def test_the_list_has_every_table_of_the_database(memory: Memory, database: Database) -> None:
    """S10, S6: a new table must say whose its rows are and whether they are canonical."""
    assert len(NAMES) == len(set(NAMES))
    assert set(NAMES) == tables(database)


def test_the_columns_that_the_list_names_are_there(memory: Memory, database: Database) -> None:
    """S10, S6: what a table says of its rows can be asked."""
    for table in TABLES:
        columns = ", ".join(table.numbers) or "1"
        condition, owner = ("", ()) if table.belongs == "home" else (f" WHERE {table.owned}", ("nobody",))
        sql = f"SELECT {columns} FROM {table.name}{condition}"
        database.read(lambda tx, sql=sql, owner=owner: tx.all(sql, *owner))  # type: ignore[misc]
        assert set(table.numbers.values()) <= set(NAMES)


def test_a_table_stands_after_those_it_refers_to() -> None:
    """S10: rows can be inserted in the order of the list."""
    for step in MIGRATIONS:
        for statement in step.sql:
            if made := re.match(r"CREATE TABLE (\w+)", statement):
                for target in re.findall(r"REFERENCES (\w+)", statement):
                    if made[1] in NAMES:
                        assert NAMES.index(target) < NAMES.index(made[1]), (made[1], target)
