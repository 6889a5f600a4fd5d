"""The tools of the journal and of worker notes, for an agent of any framework."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated

from lifelong.journal.records import JournalRecord, Sensitivity
from lifelong.tools import Tool, tool

if TYPE_CHECKING:
    from lifelong.journal.notes import Notes
    from lifelong.journal.service import JournalService

NOTE_KEY = "The note's name: letters, digits, '_' and '-'. The same name overwrites."
NOTE_CONTENT = "The note, as Markdown."


Hold = Callable[[JournalRecord], str]
"""Stores a line for review where it must wait, and returns what to tell the agent; empty where it need not."""


def remember_this(
    journal: JournalService,
    session_id: str = "",
    hold: Hold = lambda record: "",
    index: Callable[[], object] = lambda: None,
) -> Tool:
    """Return the tool that writes to the journal what an agent chooses to keep, once (SPEC O23, S5). `index` makes
    it findable."""

    def remember(
        text: Annotated[
            str, "What to write down, in a sentence that can be understood without the talk around it."
        ],
        category: Annotated[
            str, "What it is: note, learned, user-preference, decision, or a word of your own."
        ] = "note",
        sensitivity: Annotated[
            Sensitivity, "Who may read it: public, operational, private-user or secret."
        ] = "operational",
    ) -> str:
        record = journal.make_record(text, category, sensitivity, session_id)
        words = record.text.split()
        if any(words == one.text.split() for one in journal.records()):
            return "This is written down already."
        if waits := hold(record):
            return waits
        journal.append(record)
        index()
        return f"Written down as {record.category}, {record.sensitivity}."

    return tool("remember_this", "Write something down in the journal, to have it next time.", remember)


def note_tool(notes: Notes) -> Tool:
    """Return `store_memory`, which keeps a note of a worker (SPEC O31)."""

    def store(key: Annotated[str, NOTE_KEY], content: Annotated[str, NOTE_CONTENT]) -> str:
        notes.store(key, content)
        return f"Stored as {key}."

    return tool("store_memory", "Keep a note for your next job.", store)
