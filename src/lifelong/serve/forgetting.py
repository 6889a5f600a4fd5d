"""Say in words what was forgotten and what the proof found, for the command line and the page."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING

from lifelong.errors import LifelongError
from lifelong.serve.terminal import counted

if TYPE_CHECKING:
    from lifelong.forget.erasure import ForgetReport
    from lifelong.forget.proof import Proof
    from lifelong.memory import Memory


def store_what_waits(memory: Memory) -> None:
    """Store what hooks left beside the home, so that it is forgotten as well. What cannot be stored now, the proof
    finds."""
    from lifelong.serve.hook.answer import store_queued

    with suppress(LifelongError):
        store_queued(memory.store)


def without_words(report: ForgetReport) -> dict[str, object]:
    """Return a report for a program: without the words that only the forgotten held."""
    return {field.name: getattr(report, field.name) for field in fields(report) if field.name != "words"}


def what_goes(report: ForgetReport) -> list[str]:
    """Return how much of what goes, or went: "2 records", "1 fact"."""
    counts = (
        (len(report.records), "record"),
        (len(report.cut), "part of a record", "parts of records"),
        (report.fact_count, "fact"),
        (len(report.documents), "document"),
        (report.lines, "journal line"),
        (report.paragraphs, "paragraph of a file", "paragraphs of files"),
        (report.experiences, "experience"),
        (report.sessions, "session"),
        (report.agents, "agent"),
        (report.searches, "logged search", "logged searches"),
    )
    return [_counted(number, *names) for number, *names in counts if number]


def what_a_user_had(report: ForgetReport) -> list[str]:
    """Return how much of what goes, or went, with a whole user."""
    counts = (
        (report.fact_count, "fact"),
        (report.experiences, "experience"),
        (report.sessions, "session"),
        (report.agents, "agent"),
        (report.searches, "logged search", "logged searches"),
        (len(report.files), "file"),
    )
    counted = [_counted(number, *names) for number, *names in counts if number]
    return [*report.records, *report.documents, *counted]  # of records and documents, the report has the number


def what_is_made_again(report: ForgetReport) -> list[str]:
    """Return what is written again without it."""
    counts = ((len(report.rewritten), "document"), (report.remade, "journal line"), (len(report.files), "file"))
    return [counted(number, name) for number, name in counts if number]


def proof_sentence(proof: Proof) -> str:
    """Return what was looked for, where, and what was found, in a sentence."""
    if not proof.words:
        return "Every word of it is also in something that stays, so there is no word left to look for."
    looked = (
        f"Looked for {counted(proof.words, 'word')} in {counted(proof.tables, 'table')}, "
        f"{counted(proof.files, 'file')} and {_counted(proof.searches, 'search', 'searches')}"
    )
    return f"{looked}: {'nothing is left.' if proof.clean else f'found in {joined(proof.found)}.'}"


def joined(parts: list[str] | tuple[str, ...]) -> str:
    """Return parts as a list in a sentence: "a, b and c"."""
    return " and ".join(filter(None, (", ".join(parts[:-1]), *parts[-1:])))


def _counted(number: int, one: str, several: str = "") -> str:
    return f"{number:,} {several}" if several and number != 1 else counted(number, one)
