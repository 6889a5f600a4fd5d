"""What a person sees in a terminal: hits, tables and messages as plain lines, JSON for programs, the log, Ctrl-C.

Stored text is hostile: whatever is printed here has no character that commands a terminal. Colours are used
only on a terminal, and `rich` is imported only where something moves.
"""

from __future__ import annotations

import json
import logging
import os
import re
import shutil
import signal
import sys
import textwrap
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import datetime
from queue import SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, TextIO
from unicodedata import east_asian_width

if TYPE_CHECKING:
    from rich.console import Console

    from lifelong.types import Found, Hit, Stats

UNSAFE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
"""Characters that a terminal obeys, or that make it show a text in another order than it is read."""

PIPED_WIDTH = 200  # columns of a line that no terminal limits
MIN_TEXT_WIDTH = 40  # columns that the text of a hit gets, however narrow the terminal is
MIN_LINE_WIDTH = 80  # columns beside what is told of a hit; with fewer, a longer text stands below
MAX_TEXT_LINES = 3  # of a text that stands below
MAX_CELL_CHARS = 200
MAX_WARNINGS = 1_000  # that one command shows
INFERRED = "Inferred: "  # how the text of a fact begins that nobody said in so many words

_WORD = re.compile(r"\w+")
_COMMENT = re.compile(r"<!--.*?-->", re.DOTALL)
_MARKUP = re.compile(r"^[ \t]*+(?:#{1,6}|[-*+]|>)\s+|\*\*", re.MULTILINE)
_STYLES = {"bold": "1", "dim": "2", "strike": "9", "red": "31", "green": "32", "yellow": "33", "cyan": "36"}
_WHO = {"agent": "assistant", "web": "web page"}  # and "user", "tool", "system" as they are


def sanitize(text: str) -> str:
    """Return the text without the characters that command a terminal; line ends and tabs stay."""
    return UNSAFE.sub("", text)


def one_line(text: str) -> str:
    """Return the text as one line without control characters."""
    return sanitize(" ".join(text.split()))


def _shown_text(hit: Hit) -> str:
    """Return a hit's text as one line; that of a document or a file without the marks of Markdown."""
    text = hit.text if hit.kind == "record" else _MARKUP.sub("", _COMMENT.sub("", hit.text))
    return one_line(text).removeprefix(INFERRED)


# Lines


def styled(text: str, *styles: str, stream: TextIO | None = None) -> str:
    """Return the text in these styles if the stream (standard output) is a terminal, else as it is."""
    if not (text and styles and (stream or sys.stdout).isatty()) or os.environ.get("NO_COLOR"):
        return text
    return f"\x1b[{';'.join(_STYLES[style] for style in styles)}m{text}\x1b[0m"


def width() -> int:
    """Return how many columns a line may take."""
    known = sys.stdout.isatty() or "COLUMNS" in os.environ
    return shutil.get_terminal_size().columns if known else PIPED_WIDTH


def print_text(text: str) -> None:
    """Print stored text, for people and pipes."""
    sys.stdout.write(sanitize(text).rstrip("\n") + "\n")


def counted(number: int, noun: str) -> str:
    """Return a number of things in words: "1 transcript", "2 transcripts"."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def what_is_held(stats: Stats, files: int) -> str:
    """Return how much a user has, in the numbers that `lifelong stats` shows."""
    names = {"journal": "journal line"}
    found = [counted(number, names.get(kind, kind)) for kind, number in sorted(stats.items.items()) if number]
    return ", ".join([*found, counted(stats.documents, "document"), counted(files, "file")])


def not_indexed(number: int) -> str:
    """Return how many items search cannot find yet."""
    return f"{counted(number, 'item')} {'is' if number == 1 else 'are'} not in the index yet"


def print_done(text: str) -> None:
    """Print that something went well."""
    sys.stdout.write(f"{styled('✓', 'green')} {one_line(text)}\n")


def print_problem(text: str) -> None:
    """Print something that is wrong."""
    sys.stdout.write(f"{styled('✗', 'red')} {one_line(text)}\n")


def print_json(value: object, *, compact: bool = False) -> None:
    """Print a value of lifelong as JSON."""
    sys.stdout.write(f"{to_json(value, compact=compact)}\n")


def to_json(value: object, *, compact: bool = False) -> str:
    """Return a value of lifelong as JSON, with the control characters escaped that JSON leaves as they are."""
    from lifelong.serve.jsonable import jsonable

    text = json.dumps(jsonable(value), indent=None if compact else 2, ensure_ascii=False)
    return UNSAFE.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


# Hits


def print_hits(hits: Sequence[Hit], empty: str, query: str = "") -> None:
    """Print the lines of the hits, and before hits of which none is fair that nothing is known; where there are
    none, what to do."""
    print_unknown(hits)
    for line in hit_lines(hits, query) if hits else [empty]:
        sys.stdout.write(f"{line}\n")


def print_unknown(found: Sequence[Found]) -> None:
    """Print that nothing is known, before what was found all the same."""
    from lifelong.types import ONLY_NEAREST, nothing_known

    if found and nothing_known(found):
        sys.stdout.write(f"{ONLY_NEAREST}\n")


def hit_lines(hits: Sequence[Hit], query: str = "", limit: int = 0) -> Iterator[str]:
    """Return each hit as a line: its id, when, who or where, the text (of a long one, the part with the query's
    words) and what to know of it, in `limit` columns (the terminal's). A text that a narrow terminal would cut
    stands below, in a few lines. Beneath it follow what else belongs to it, what says the same (by id),
    what may have replaced it, and what the score is made of, if it was asked for. A hit of low confidence is
    dim."""
    from lifelong.types import nothing_known

    limit = limit or width()
    unsure = "" if nothing_known(hits) else "low confidence"
    sources = [_source(hit) for hit in hits]
    id_width = max((columns(hit.id) for hit in hits), default=0)
    source_width = max(map(columns, sources), default=0)
    indent = " " * (id_width + 2)
    for hit, source in zip(hits, sources, strict=True):
        is_low = hit.confidence == "low"
        marks = _marks(hit, unsure if is_low else "")
        text = _shown_text(hit)
        room = limit - id_width - source_width - 16 - columns(marks) - (2 if marks else 0)
        is_below = columns(text) > room and room < MIN_LINE_WIDTH
        text_styles = [*["dim"] * is_low, *["strike"] * bool(hit.until)]
        parts = [
            styled(pad(one_line(hit.id), id_width), "dim" if is_low else "cyan"),
            styled(f"{hit.at:%Y-%m-%d}", "dim"),
            styled(source if is_below else pad(source, source_width), "dim" if is_low else "bold"),
            "" if is_below else styled(excerpt(text, query, max(room, MIN_TEXT_WIDTH)), *text_styles),
            styled(marks, "dim" if is_low else "yellow"),
        ]
        yield "  ".join(filter(None, parts))
        if is_below:
            for line in _wrapped(text, query, max(limit - len(indent), MIN_TEXT_WIDTH)):
                yield indent + styled(line, *text_styles)
        yield from _sources(hit, query, indent, limit)
        if hit.newer:
            about, says = f"{indent}newer: ", f" ({one_line(hit.newer.id)}, {hit.newer.at:%Y-%m-%d})"
            text = excerpt(_shown_text(hit.newer), query, max(limit - columns(about + says), MIN_TEXT_WIDTH))
            yield styled(about + text + says, "yellow")
        if hit.parts:
            scores = ", ".join(f"{name} {part:+.2f}" for name, part in hit.parts.items())
            yield styled(f"{indent}score {hit.score:.2f} = {scores}", "dim")


def _sources(hit: Hit, query: str, indent: str, limit: int) -> Iterator[str]:
    """Return the sources of a hit: a line each for those that say something else, and the ids of the rest."""
    text, same = _shown_text(hit), list[str]()
    for other in hit.sources:
        said, marks = _shown_text(other), _marks(other, "")
        day = "" if other.at.date() == hit.at.date() else f"{other.at:%Y-%m-%d}"
        about = " ".join(filter(None, (one_line(other.id), day, _source(other), marks)))
        if said in text:
            same.append(about)
            continue
        about = f"{indent}also {about}  "
        yield styled(about + excerpt(said, query, max(limit - columns(about), MIN_TEXT_WIDTH)), "dim")
    if same:
        for line in textwrap.wrap(f"also {', '.join(same)}", max(limit - len(indent), MIN_TEXT_WIDTH)):
            yield styled(indent + line, "dim")


def _wrapped(text: str, query: str, limit: int) -> list[str]:
    """Return the text, or the part of it with the query's words, in a few lines."""
    short = excerpt(text, query, MAX_TEXT_LINES * (limit - 8))
    wide = columns(short) > len(short)
    return textwrap.wrap(short, limit // 2 if wide else limit)[: 2 * MAX_TEXT_LINES if wide else MAX_TEXT_LINES]


def excerpt(text: str, query: str, limit: int) -> str:
    """Return at most `limit` columns of a line; of a longer one, the part around the query's first word in it."""
    if columns(text) <= limit:
        return text
    wanted = {word[:4] for word in _WORD.findall(query.casefold()) if len(word) > 3}
    found = (word.start() for word in _WORD.finditer(text.casefold()) if word[0][:4] in wanted)
    start = next(found, 0)
    start = 0 if start < limit * 2 // 3 else text.rfind(" ", 0, start - limit // 4) + 1
    return ("…" if start else "") + cut(text[start:], limit - bool(start))


def cut(text: str, limit: int) -> str:
    """Return the text in at most `limit` columns."""
    if columns(text) <= limit:
        return text
    while columns(text) > limit - 1:
        text = text[: -max(1, (columns(text) - limit) // 2)]
    return f"{text.rstrip()}…"


def columns(text: str) -> int:
    """Return how many columns a text takes in a terminal."""
    return len(text) if text.isascii() else sum(1 + (east_asian_width(sign) in "WF") for sign in text)


def pad(text: str, size: int) -> str:
    return text + " " * (size - columns(text))


def _source(hit: Hit) -> str:
    """Return who said it, or where it is written."""
    if hit.path:
        return one_line(hit.path)
    return one_line(hit.speaker) or (hit.kind if hit.kind != "record" else _WHO.get(hit.trust, hit.trust))


def _marks(hit: Hit, unsure: str) -> str:
    """Return what to know before the text is believed."""
    found = [
        unsure,
        f"ended {hit.until:%Y-%m-%d}" if hit.until else "",
        "inferred" if hit.text.startswith(INFERRED) else "",
        hit.source_label,
        f"by {hit.trust_label}" if hit.trust == "agent" and hit.kind in ("fact", "journal") else "",
        "pinned" if hit.pinned else "",
        f"r{hit.record_id}" if hit.kind == "fact" and hit.record_id and not hit.sources else "",
    ]
    return f"({', '.join(filter(None, found))})" if any(found) else ""


# Tables


def print_table(names: Sequence[str], cells: Iterable[Sequence[object]], empty: str = "") -> None:
    """Print rows in columns that fit the terminal; where there are none, what to do."""
    rows = [[cut(one_line(_cell(cell)), MAX_CELL_CHARS) for cell in row] for row in cells]
    if not rows:
        print_text(empty)
        return
    sizes = [max(columns(cell) for cell in column) for column in zip(names, *rows, strict=True)]
    free = width() - 2 * (len(sizes) - 1)
    widest = max(range(len(sizes)), key=sizes.__getitem__)
    sizes[widest] = min(sizes[widest], max(MIN_TEXT_WIDTH // 2, free - sum(sizes) + sizes[widest]))
    for number, row in enumerate([list(names), *rows]):
        line = "  ".join(pad(cut(cell, size), size) for cell, size in zip(row, sizes, strict=True)).rstrip()
        sys.stdout.write(f"{line if number else styled(line, 'bold')}\n")


def print_entries(entries: Sequence[tuple[str, str]]) -> None:
    """Print each text beside its label, in as many lines as it takes, up to a few."""
    labels = max((columns(label) for label, _ in entries), default=0)
    room = max(width() - labels - 2, MIN_TEXT_WIDTH)
    for label, text in entries:
        for n, one in enumerate(_wrapped(one_line(text), "", room) or [""]):
            sys.stdout.write(f"{pad('' if n else one_line(label), labels)}  {one}\n")


def _cell(value: object) -> str:
    if isinstance(value, datetime):
        return f"{value:%Y-%m-%d %H:%M}"
    return "" if value is None else str(value)


# What takes a while


@contextmanager
def in_progress(what: str, *, quiet: bool = False) -> Iterator[None]:
    """Show what takes long, if anything, while it does, on a terminal."""
    if quiet or not what or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


@contextmanager
def showing_progress(what: str, *, quiet: bool = False) -> Iterator[Callable[[str, int, int], None]]:
    """Give what is to be called with the part under way, how much of it is done, and how much there is (0: not
    known). It is shown on a terminal, as a bar."""
    if quiet or not sys.stderr.isatty():
        yield lambda part, done, total: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)

        def show(part: str, done: int, total: int) -> None:
            bar.update(task, description=f"{what} {part}", completed=done, total=total or None)

        yield show


@contextmanager
def interrupts(*numbers: int) -> Iterator[SimpleQueue[int]]:
    """Give a queue that gets the first of these signals; a second one does what it did before. An exception
    raised by a signal could be lost in whatever code it interrupts."""
    over: SimpleQueue[int] = SimpleQueue()  # unlike an Event's set, its put may interrupt its get
    before: dict[int, Any] = {}

    def stop(number: int, frame: FrameType | None) -> None:
        over.put(number)
        restore()

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    try:
        for number in numbers:
            before[number] = signal.getsignal(number)
            signal.signal(number, stop)
        yield over
    finally:
        restore()


# The log


class _SafeFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return sanitize(super().format(record).replace("\t", " "))


class _Warnings(logging.Handler):
    """Show each message once on standard error, or collect it."""

    def __init__(self, collected: list[str] | None) -> None:
        super().__init__(logging.WARNING)
        self.setFormatter(_SafeFormatter("lifelong: %(message)s"))
        self._collected = collected
        self._shown: set[str] = set()

    def emit(self, record: logging.LogRecord) -> None:
        text = self.format(record)
        if text in self._shown or len(self._shown) >= MAX_WARNINGS:
            return
        self._shown.add(text)
        if self._collected is None:
            with suppress(OSError, ValueError):  # the stream may be closed or full
                sys.stderr.write(f"{text}\n")
        else:
            self._collected.append(text)


def show_warnings(*, collect: bool = False) -> list[str]:
    """Show what the library logs, where no handler is set, as lines that command nothing, each once. With
    `collect`, have it in the list that is returned instead."""
    collected: list[str] = []
    logging.lastResort = _Warnings(collected if collect else None)
    return collected


def show_log(console: Console, level: int, *names: str) -> None:
    """Show what these loggers say from this level on, without what would command the terminal."""
    from rich.logging import RichHandler

    handler: logging.Handler = RichHandler(console=console, show_path=False, markup=False)
    handler.setFormatter(_SafeFormatter())
    if not console.is_terminal and not console.quiet:
        handler = logging.StreamHandler(console.file)  # rich would break the lines at 80 columns
        handler.setFormatter(_SafeFormatter("%(asctime)s %(levelname)s %(message)s"))
    for name in names:
        logger = logging.getLogger(name)
        logger.setLevel(level)
        logger.handlers = [handler]
