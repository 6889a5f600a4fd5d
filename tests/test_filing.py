"""R1, C6: how what was said, and what was made of it, becomes items."""

from __future__ import annotations

import logging

import pytest

from recollect import Agent, Memory, UserMessage
from recollect.storage.base import Database
from tests.conftest import OpenMemory


@pytest.mark.parametrize(
    "damage", ["data = '{broken'", "data = '[1]'", "data = '{\"text\": 5}'", "provenance = 'fog'"]
)
def test_a_record_that_cannot_be_read_is_left_out(
    memory: Memory, alice: Agent, database: Database, caplog: pytest.LogCaptureFixture, damage: str
) -> None:
    """C6: with a warning; everything else is found, and the index can be made anew."""
    ids = memory.append_many(alice, [UserMessage(f"The lynx number {n} purrs.") for n in range(3)])
    memory.process()
    database.write(lambda tx: tx.run(f"UPDATE session_history SET {damage} WHERE id = ?", ids[1]))
    memory.recall("lynx", 10)
    memory.rebuild()
    with caplog.at_level(logging.WARNING):
        memory.process()
    assert "cannot be" in caplog.text
    found = {hit.record_id for hit in memory.recall("lynx", 10, kinds=("turn",))}
    assert found == {ids[0], ids[2]}
    assert memory.verify() == []
