"""Read notes: a folder of Markdown files, or one of them.

A section is a note: a heading with the text below it; a long one is cut between paragraphs. Each note begins
with the file's path and the headings above it, in square brackets. A note is known by its file and its text, so
that of a file which changed, the sections that changed are added. Front matter may have a `date`; without one, a
note has the time of its file. A page that names the address it was clipped from is the web's word, any other one
the user's.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime

from lifelong.importers.base import Conversation, Message, Skip, WholeFiles, digest, time_of
from lifelong.importers.sources import MAX_ENTRY_BYTES, NOT_UTF8, TOO_LONG, Piece, Source, SourceFile
from lifelong.types import Note, Provenance

MAX_NOTE_CHARS = 2_000
_FRONT_MATTER = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
_DATE = re.compile(r"^(?:date|created|created_at|created-at|updated)[ \t]*:[ \t]*[\"']?([^\"'\n#]+)", re.MULTILINE)
_CLIPPED = re.compile(
    r"^(?:source|url|link|original_url)[ \t]*:[ \t]*[\"']?https?://", re.MULTILINE | re.IGNORECASE
)
_HEADING = re.compile(r"(#{1,6})[ \t]++(.*)")
_FENCE = re.compile(r"[ \t]{0,3}(```|~~~)")


class Markdown(WholeFiles):
    """Read .md files."""

    label = "Markdown"
    connector = "notes"
    units = ("file", "note")
    files = r".*\.(?:md|markdown)"

    def recognize(self, source: Source) -> str:
        found = [one.name for one in source.files if re.fullmatch(self.files, one.name, re.IGNORECASE)]
        return f"it holds {len(found)} Markdown file{'s' * (len(found) > 1)}" if found else ""

    def conversation(self, piece: Piece) -> Conversation:
        assert isinstance(piece.content, SourceFile)
        with piece.content.open() as stream:
            data = stream.read(MAX_ENTRY_BYTES + 1)
        if len(data) > MAX_ENTRY_BYTES:
            raise Skip(f"a file {TOO_LONG}")
        try:
            text = data.decode("utf-8-sig").replace("\r\n", "\n")
        except UnicodeDecodeError as error:
            raise Skip(f"a file that is {NOT_UTF8}") from error
        front = _FRONT_MATTER.match(text)
        about, body = (front[1], text[front.end() :]) if front else ("", text)
        at = _date(about) or piece.modified
        provenance: Provenance = "web" if _CLIPPED.search(about) else "user"
        notes = {f"{piece.name}/{digest(note)}": note for note in split_notes(body, piece.name)}
        messages = [Message(key, [Note(note, provenance=provenance, at=at)]) for key, note in notes.items()]
        return Conversation(piece.name, messages, piece.name)


def _date(front: str) -> datetime | None:
    found = _DATE.search(front)
    return time_of(found[1].strip()) if found else None


def split_notes(body: str, name: str) -> Iterator[str]:
    """Yield the notes of a file, each under its path and headings."""
    above: list[tuple[int, str]] = []
    for level, title, text in _sections(body):
        if title:
            above = [one for one in above if one[0] < level] + [(level, title)]
        where = f"[{' / '.join((name, *(heading for _, heading in above)))}]"
        for part in _cut(text):
            yield f"{where}\n\n{part}"


def _sections(body: str) -> Iterator[tuple[int, str, str]]:
    """Yield level, heading and text of each section; headings in code are code."""
    level, title, lines, fence = 0, "", list[str](), ""
    for line in body.split("\n"):
        if marker := _FENCE.match(line):
            fence = "" if marker[1] == fence else fence or marker[1]
        heading = None if fence else _HEADING.fullmatch(line)
        if heading:
            yield level, title, "\n".join(lines)
            level, title, lines = len(heading[1]), heading[2].rstrip(" \t#"), []
        else:
            lines.append(line)
    yield level, title, "\n".join(lines)


def _cut(text: str) -> Iterator[str]:
    """Yield a text in parts of at most MAX_NOTE_CHARS, cut between paragraphs; a longer paragraph stays whole."""
    part = ""
    for paragraph in filter(str.strip, re.split(r"\n[ \t]*\n", text)):
        if part and len(part) + len(paragraph) > MAX_NOTE_CHARS:
            yield part
            part = ""
        part = f"{part}\n\n{paragraph}" if part else paragraph.strip("\n")
    if part:
        yield part


IMPORTER = Markdown()
