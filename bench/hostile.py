"""How fast work grows with hostile text: every pattern of the package and every public call, on many shapes of it.

`python -m bench.hostile` prints what grows fastest; a power of 1 is linear, 2 quadratic. It takes about
ten minutes: each call has a budget of time, and what is left out is counted. `--long` goes further up and takes
hours; `--only WORD` measures what has the word in its name. Times are those of the processor, not of the clock, so
that other processes on the machine do not count.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import math
import pkgutil
import re
import sys
import tempfile
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import contextmanager, suppress
from itertools import count, pairwise
from json import dumps
from multiprocessing import get_context
from pathlib import Path
from types import ModuleType
from typing import NamedTuple

import lifelong
from lifelong import AssistantMessage, Memory, Store, ToolResult, UserMessage

MAX_GROWTH = 1.3  # the power of the size: n log n stays below it
SIZES = tuple(1_000 * 4**step for step in range(6))  # to a million
PATTERN_SIZES = (4_000, 32_000)
LONG_PATTERN_SIZES = (8_000, 64_000, 1_000_000)
SECONDS = 0.1  # a call that took longer is not measured with more
LONG_SECONDS = 2.0
PREPARED = 4  # times so much a call may take with what is done beforehand, such as organizing the text
CALL_SECONDS, LONG_CALL_SECONDS = 40.0, 600.0  # of the processor, that are spent on a call and all shapes,
CLOCK = 3  # and times so much by the clock, where others use the processor, too
CALLS_AT_A_TIME = 3
NOISE = 0.015  # seconds below which a time says nothing
PATTERN_NOISE = 0.003
CERTAIN_GROWTH = 1.7  # no noise makes a linear time look so
REPEATS = 3  # of what seems to grow too fast: the quickest time counts

Use = Callable[[str], object]


class Growth(NamedTuple):
    """How the time of a call grew with a shape of text: the power of the size, and each size with its seconds."""

    name: str
    shape: str
    power: float
    times: tuple[tuple[int, float], ...]

    def __str__(self) -> str:
        times = ", ".join(f"{size:,}: {seconds:.3f} s" for size, seconds in self.times)
        return f"{self.power:5.2f}  {self.name} on {self.shape} ({times})"


# Text


def _repeated(unit: str) -> Callable[[int], str]:
    return lambda size: (unit * (size // len(unit) + 1))[:size]


def _numbered(form: str) -> Callable[[int], str]:
    """Return a shape whose units differ by a number, so that nothing is the same twice."""

    def make(size: int) -> str:
        made, units = 0, []
        for number in count():
            unit = form.replace("#", str(number))
            made += len(unit)
            units.append(unit)
            if made >= size:
                return "".join(units)[:size]
        raise AssertionError

    return make


SHAPES: Mapping[str, Callable[[int], str]] = {
    "marks": lambda size: "!" * (size - 1) + "x",
    "short words": _repeated("I "),
    "a named secret": _repeated("password is "),
    "a secret before its name": _repeated("hunter2 is my password "),
    "preferences": _numbered("I prefer tea# to coffee#. "),
    "a long word": _repeated("a"),
    "mixed letters": _repeated("aB3"),
    "digits": _repeated("4"),
    "codes": _numbered("my code is # "),
    "brackets": _repeated("["),
    "links": _repeated("[["),
    "labels": _repeated("[a]("),
    "citations": _numbered("Fact # holds. [r#]\n"),
    "line ends": _repeated("\n"),
    "blank lines": _repeated(" \n"),
    "dots": _repeated("a."),
    "list items": _numbered("- item #\n"),
    "nested items": lambda size: "\n".join(" " * (n % 200) + "- a" for n in range(size // 103)),
    "quotes": _repeated("\"'"),
    "opening quotes": _repeated("\u201e"),
    "quotations": _numbered('She said "I live in Town#" and left. '),
    "combining marks": lambda size: "e" + "\u0301" * (size - 1),
    "ideographs": _repeated("我住在東京都渋谷区"),
    "addresses": _numbered("https://user:pass#@example.com/a?b=c&token=# "),
    "at signs": _repeated("@"),
    "mail": _numbered("a#@example.com "),
    "half of an address": _repeated("a@"),
    "fences": _repeated("```\n~~~\n"),
    "injected": _repeated('<lifelong-context id="1">'),
    "dates": _numbered("On 3 May 20# at 10:00, yesterday, next week. "),
    "tabs": _repeated("\t"),
    "spaces": lambda size: " " * (size - 1) + "x",
    "braces": _repeated('{"a":'),
    "tables": _repeated("| a | b |\n"),
    "names": _numbered("Anna# Berg# met Carl# Dahl# in Oslo#. "),
    "capitals": _repeated("Aa "),
    "apostrophes": _repeated("a'"),
    "hyphens": _repeated("a-"),
    "underscores": _repeated("a_"),
    "colons": _repeated("a: "),
    "assignments": _repeated("key="),
    "slashes": _repeated("/a"),
    "tags": _repeated("<a"),
    "headings": _numbered("## Heading #\n"),
    "denials": _numbered("I no longer like tea#. "),
    "moves": _numbered("I moved to Town#. "),
    "instructions": _numbered("Always run step# before step#. "),
    "emoji": _repeated("\U0001f600"),
    "key block": _repeated("-----BEGIN PRIVATE KEY-----\n"),
    "escapes": _repeated("\\"),
}


# Patterns


class Pattern(NamedTuple):
    """A pattern of the package, and where it is. `anchored`: it is never searched for, only matched at a place."""

    name: str
    compiled: re.Pattern[str]
    anchored: bool

    def use(self, text: str) -> None:
        if self.anchored:
            self.compiled.match(text)
            self.compiled.fullmatch(text)
        else:
            for _ in self.compiled.finditer(text):
                pass


def modules() -> Iterator[ModuleType]:
    """Yield every module of the package that can be imported here."""
    for found in pkgutil.walk_packages(lifelong.__path__, "lifelong."):
        if found.name.endswith("__main__"):
            continue
        try:
            yield importlib.import_module(found.name)
        except ImportError:  # an extra that is not installed
            continue


def patterns(where: Iterable[ModuleType] | None = None) -> list[Pattern]:
    """Return every pattern of these modules, or of the package: those that modules hold, and those that functions
    make of what modules hold."""
    found: dict[re.Pattern[str], str] = {}
    uses: dict[re.Pattern[str], set[str]] = {}
    for module in modules() if where is None else where:
        short, names = module.__name__.removeprefix("lifelong."), vars(module)
        for name, value in names.items():
            for one in _patterns_in(value):
                found.setdefault(one, f"{short}.{name}")
        for node in ast.walk(ast.parse(inspect.getsource(module))):
            if isinstance(node, ast.Attribute) and node.attr in _METHODS:
                if made := _made_by(node.value, names):
                    uses.setdefault(made, set()).add(node.attr)
            elif isinstance(node, ast.Call) and (made := _made_by(node, names)):
                source = node.args[0]
                place = f".{source.id}" if isinstance(source, ast.Name) else f":{node.lineno}"
                found.setdefault(made, f"{short}{place}")
                if (called := ast.unparse(node.func)).startswith("re.") and called != "re.compile":
                    uses.setdefault(made, set()).add(called[3:])
    return [Pattern(name, one, uses.get(one, {""}) <= {"match", "fullmatch"}) for one, name in found.items()]


def _patterns_in(value: object) -> Iterator[re.Pattern[str]]:
    if isinstance(value, re.Pattern):
        if isinstance(value.pattern, str):
            yield value
    elif isinstance(value, Mapping):
        for part in value.values():
            yield from _patterns_in(part)
    elif isinstance(value, tuple | list):
        for part in value:
            yield from _patterns_in(part)


def _made_by(node: ast.AST, names: dict[str, object]) -> re.Pattern[str] | None:
    """Return the pattern that an expression of a module stands for; none if it stands for none, or if that depends
    on the arguments of a function."""
    if isinstance(node, ast.Name | ast.Attribute):
        source = ast.unparse(node)
    elif isinstance(node, ast.Call) and node.args and (called := ast.unparse(node.func)) in _MAKERS:
        first = ast.unparse(node.args[0])
        source = ast.unparse(node) if called in ("pattern", "re.compile", "_compiled") else _MAKERS[called] % first
    else:
        return None
    try:
        made = eval(source, names)  # of our own source
    except (NameError, AttributeError, TypeError):
        return None
    return made if isinstance(made, re.Pattern) and isinstance(made.pattern, str) else None


_METHODS = frozenset(("match", "fullmatch", "search", "finditer", "findall", "sub", "subn", "split"))
_MAKERS = {
    **dict.fromkeys(("pattern", "re.compile", "_compiled"), "%s"),
    "_has": "_compiled(%s)",
    **{f"re.{method}": "re.compile(%s)" for method in _METHODS},
}


BOUNDED: Mapping[str, str] = {
    "redaction._MEASURE": "the first 300 characters of a word",
}
"""Patterns that see a bounded text wherever they are used, and which."""


def measure_patterns(*, long: bool = False, only: str = "") -> Iterator[Growth]:
    """Yield how the time that each pattern takes to search a text grows with it."""
    sizes, seconds = (LONG_PATTERN_SIZES, LONG_SECONDS) if long else (PATTERN_SIZES, SECONDS)
    texts = {shape: [make(size) for size in sizes] for shape, make in SHAPES.items()}
    for one in patterns():
        if only in f"pattern {one.name}" and one.name not in BOUNDED:
            for shape, some in texts.items():
                yield measure(f"pattern {one.name}", shape, one.use, some, seconds, PATTERN_NOISE)


# Public calls


class Calls:
    """The public calls, each on a user of its own, so that what one stored is not in the way of the next."""

    def __init__(self, store: Store, folder: Path) -> None:
        self._store = store
        self._folder = folder
        self._numbers = count()

    def prepare(self, name: str, text: str) -> Callable[[], object]:
        """Return a call that works on the text; what it needs beforehand is done."""
        memory = self._store.user(f"u{next(self._numbers)}")
        call: Callable[[], object] = getattr(self, name)(memory, text)
        return call

    def add(self, memory: Memory, text: str) -> Callable[[], object]:
        return lambda: memory.add(text)

    def append(self, memory: Memory, text: str) -> Callable[[], object]:
        agent = memory.agent()
        return lambda: memory.append(agent, AssistantMessage(text))

    def tool_result(self, memory: Memory, text: str) -> Callable[[], object]:
        agent = memory.agent()

        def call() -> None:
            memory.append(agent, ToolResult(text))
            memory.end_session()
            memory.organize()

        return call

    def organize(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add(text)
        memory.end_session()
        return memory.organize

    def organize_reply(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add([UserMessage("What should I know?"), AssistantMessage(text)])
        memory.end_session()
        return memory.organize

    def organize_messages(self, memory: Memory, text: str) -> Callable[[], object]:
        """Organize many short messages instead of a long one."""
        lines = [line for line in re.split(r"(?<=\.) |\n", text) if line.strip()]
        memory.add([UserMessage(line) for line in lines[:2_000]])
        memory.end_session()
        return memory.organize

    def search(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add("I live in Lisbon and drink tea.")
        question = text[: self._store.settings.collect.max_record_chars]
        return lambda: memory.search(question)

    def search_after(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return lambda: memory.search("Where do I live, and what is my password?")

    def context(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add("I live in Lisbon and drink tea.")
        return lambda: memory.context(text)

    def context_after(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return lambda: memory.context("Where do I live?")

    def list(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return memory.list

    def list_subject(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add("I live in Lisbon and drink tea.")
        return lambda: memory.list(subject=text)

    def correct(self, memory: Memory, text: str) -> Callable[[], object]:
        record = memory.add("I live in Lisbon and drink tea.")[0]
        return lambda: memory.correct(record, text)

    def forget_matching(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add("I live in Lisbon and drink tea.")
        return lambda: memory.forget(matching=text, dry_run=True)

    def forget_about(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return lambda: memory.forget(about="Anna", dry_run=True)

    def forget(self, memory: Memory, text: str) -> Callable[[], object]:
        stored = memory.add(text)  # nothing, of a blank text
        memory.end_session()
        memory.organize()
        return lambda: memory.forget(*stored)

    def experiences_add(self, memory: Memory, text: str) -> Callable[[], object]:
        return lambda: memory.experiences.add(text)

    def experiences_query(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.experiences.add("The deploy failed because the disk was full.")
        return lambda: memory.experiences.query(text)

    def journal_remember(self, memory: Memory, text: str) -> Callable[[], object]:
        return lambda: memory.journal.remember(text)

    def journal_turns(self, memory: Memory, text: str) -> Callable[[], object]:
        agent = memory.agent()

        def call() -> None:
            memory.append_many(agent, [UserMessage(text), AssistantMessage(text)])
            memory.end_turn(agent)
            memory.journal.write_all()

        return call

    def journal_compact(self, memory: Memory, text: str) -> Callable[[], object]:
        lines = [text[at : at + 2_000] for at in range(0, len(text), 2_000)]
        for line in lines[:500]:
            if line.strip():
                memory.journal.remember(line)
        return lambda: memory.journal.compact(force=True)

    def notes(self, memory: Memory, text: str) -> Callable[[], object]:
        notes = memory.notes.worker("builder")

        def call() -> None:
            notes.store("page", text)
            notes.load()

        return call

    def documents_write(self, memory: Memory, text: str) -> Callable[[], object]:
        return lambda: memory.documents.write(slug="page", title="Page", body=text)

    def documents_edit(self, memory: Memory, text: str) -> Callable[[], object]:
        page = memory.documents.write(slug="page", title="Page", body=text)
        return lambda: memory.documents.edit(page.id, page.version, append="\n\nI live in Lisbon.")

    def documents_read(self, memory: Memory, text: str) -> Callable[[], object]:
        page = memory.documents.write(slug="page", title="Page", body=text)

        def call() -> None:
            memory.documents.read(page.id)
            memory.documents.facts(page.id)
            memory.documents.references(page.id)
            memory.documents.outline("~")

        return call

    def documents_diff(self, memory: Memory, text: str) -> Callable[[], object]:
        page = memory.documents.write(slug="page", title="Page", body=text)
        after = memory.documents.write(
            document_id=page.id, expected_version=page.version, slug="page", title="Page", body=text[::-1]
        )
        return lambda: memory.documents.diff(page.id, page.version, after.version)

    def consolidate(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return memory.documents.consolidate

    def document_tool(self, memory: Memory, text: str) -> Callable[[], object]:
        """Write as an agent does: what binds somebody is held for review."""
        tools = {tool.name: tool for tool in memory.tools(author="agent")}
        arguments = {"slug": "page", "title": "Page", "description": "", "body": text}
        return lambda: tools["document_write"].call(**arguments, parent_path="~/memory")

    def remember_tool(self, memory: Memory, text: str) -> Callable[[], object]:
        tools = {tool.name: tool for tool in memory.tools(author="agent")}
        return lambda: tools["remember_this"].call(text=text)

    def import_text(self, memory: Memory, text: str) -> Callable[[], object]:
        page = self._folder / f"{memory.user}.md"
        page.write_text(text, newline="")
        return lambda: memory.import_from(page, "markdown")

    def import_chat(self, memory: Memory, text: str) -> Callable[[], object]:
        page = self._folder / f"{memory.user}.jsonl"
        page.write_text(dumps({"role": "user", "content": text}) + "\n")
        return lambda: memory.import_from(page, "jsonl")

    def transcript(self, memory: Memory, text: str) -> Callable[[], object]:
        agent = memory.agent()
        memory.add(text)
        return lambda: memory.sessions.transcript(agent)

    def export(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return lambda: memory.export(self._folder / f"export-{memory.user}")

    def relations(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()

        def call() -> None:
            memory.relations.entities()
            memory.relations.of("Anna1")

        return call

    def relations_of(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add("I live in Lisbon and drink tea.")
        return lambda: memory.relations.of(text)

    def scan(self, memory: Memory, text: str) -> Callable[[], object]:
        memory.add(text)
        return memory.admin.scan

    def audit(self, memory: Memory, text: str) -> Callable[[], object]:
        self.organize(memory, text)()
        return memory.admin.audit

    def hook(self, memory: Memory, text: str) -> Callable[[], object]:
        from lifelong.serve.hook.answer import answer_in

        event = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": "/work", "prompt": text}
        data = dumps(event).encode()
        return lambda: answer_in(self._store, data, memory.user, {})

    def page(self, memory: Memory, text: str) -> Callable[[], object]:
        """Show a document on the page."""
        from lifelong.serve.page.markdown import render

        return lambda: render(text, lambda path, **_: path, lambda _: None)


CALLS = tuple(name for name in vars(Calls) if name[0] != "_" and name != "prepare")


@contextmanager
def opened() -> Iterator[Calls]:
    """Open a home that is gone afterwards, with everything switched on."""
    continuity = {"journal_enabled": True, "experience_store_enabled": True}
    with tempfile.TemporaryDirectory() as folder:
        files = Path(folder, "files")
        files.mkdir()
        home = Path(folder, "home")
        with Store.open(home, storage={"synchronous": "normal"}, continuity=continuity) as store:
            yield Calls(store, files)


def measure_calls(*, long: bool = False, only: str = "", seconds: float = CALL_SECONDS) -> Iterator[Growth]:
    """Yield how the time of each public call grows with each shape of text, some calls at a time. What is not
    measured within so many seconds for a call is yielded without times."""
    names = [name for name in CALLS if only in name]
    with ProcessPoolExecutor(CALLS_AT_A_TIME, mp_context=get_context("spawn"), max_tasks_per_child=1) as pool:
        jobs = [pool.submit(_measure_shapes, name, long, seconds) for name in names]
        for job in as_completed(jobs):
            yield from job.result()


def _measure_shapes(name: str, long: bool, seconds: float) -> list[Growth]:
    """Return how the time of a call grows with each shape. What seems to grow too fast is measured again, with
    longer texts."""
    found: list[Growth] = []
    started = time.monotonic()
    with opened() as calls:
        measure_call(calls, name, "a few words", ["I live in Lisbon and drink tea. "])  # imports, caches
        for shape, make in SHAPES.items():
            if time.process_time() > seconds or time.monotonic() > started + CLOCK * seconds:
                found.append(Growth(name, shape, 0.0, ()))
                continue
            texts = (make(size) for size in SIZES)
            one = measure_call(calls, name, shape, texts, LONG_SECONDS if long else SECONDS)
            if one.power > MAX_GROWTH and not long:
                texts = (make(size) for size in SIZES)
                one = measure_call(calls, name, shape, texts, LONG_SECONDS)
            found.append(one)
    return found


def measure_call(calls: Calls, name: str, shape: str, texts: Iterable[str], seconds: float = SECONDS) -> Growth:
    """Return how the time of a call grows over these texts. What it refuses counts, too."""
    from lifelong.errors import LifelongError

    def timed(text: str) -> tuple[float, float]:
        began = time.process_time()
        try:
            call = calls.prepare(name, text)
        except LifelongError:  # the stage before refused it
            return 0.0, time.process_time() - began
        started = time.process_time()
        with suppress(LifelongError):
            call()
        ended = time.process_time()
        return ended - started, ended - began

    return _measured(name, shape, timed, texts, seconds, NOISE)


# Growth


def measure(
    name: str,
    shape: str,
    use: Use,
    texts: Iterable[str],
    seconds: float = float("inf"),
    noise: float = PATTERN_NOISE,
) -> Growth:
    """Return how the time of a use grows over these texts."""

    def timed(text: str) -> tuple[float, float]:
        started = time.process_time()
        use(text)
        taken = time.process_time() - started
        return taken, taken

    return _measured(name, shape, timed, texts, seconds, noise)


def _measured(
    name: str,
    shape: str,
    timed: Callable[[str], tuple[float, float]],
    texts: Iterable[str],
    seconds: float,
    noise: float,
) -> Growth:
    """`timed` returns how long the text took, and how long with what was to be done beforehand."""
    used: list[str] = []
    times: list[float] = []
    for text in texts:
        taken, whole = timed(text)
        used.append(text)
        times.append(taken)
        if taken > seconds or whole > PREPARED * seconds:
            break
    for _ in range(REPEATS - 1):
        if not MAX_GROWTH < power(used, times, noise) < CERTAIN_GROWTH:
            break
        times = [min(taken, timed(text)[0]) for text, taken in zip(used, times, strict=True)]
    return Growth(name, shape, power(used, times, noise), tuple(zip(map(len, used), times, strict=True)))


def power(texts: Sequence[str], times: Sequence[float], noise: float) -> float:
    """Return the power of the size with which the time grows at the end: from the last size at which it was above
    the noise to the largest, or from the noise itself; 0 where it never was."""
    points = [(len(text), max(taken, noise)) for text, taken in zip(texts, times, strict=True)]
    steps = [
        math.log(later / sooner) / math.log(larger / smaller)
        for (smaller, sooner), (larger, later) in pairwise(points)
        if smaller < larger
    ]
    return max(steps[-2:], default=0.0) if points and points[-1][1] > noise else 0.0


def growth(found: Iterable[Growth] | None = None, *, show: Callable[[str], object] = print) -> dict[str, float]:
    """Show what grows faster than it may, of everything or of what was found. Return the fastest growth, as
    `slowest_growth`, and how many pairs of a pattern or call and a shape were measured, were left out since the
    time was over, and grew too fast."""
    measured, left_out, worst, too_fast = 0, 0, 0.0, 0
    for one in found or measure_all():
        if not one.times:
            left_out += 1
            continue
        measured += 1
        worst = max(worst, one.power)
        if one.power > MAX_GROWTH:
            too_fast += 1
            show(str(one))
    return {
        "slowest_growth": worst,
        "hostile_measured": measured,
        "hostile_left_out": left_out,
        "hostile_too_fast": too_fast,
    }


def measure_all(*, long: bool = False, only: str = "") -> Iterator[Growth]:
    """Yield how the time of each pattern and of each public call grows."""
    yield from measure_patterns(long=long, only=only)
    yield from measure_calls(long=long, only=only, seconds=LONG_CALL_SECONDS if long else CALL_SECONDS)


def main() -> int:
    parser = ArgumentParser(prog="python -m bench.hostile", description=__doc__)
    parser.add_argument("--long", action="store_true", help="go up to a million characters with everything")
    parser.add_argument("--only", default="", help="measure what has this in its name")
    given = parser.parse_args()
    slowest: list[tuple[float, str]] = []

    def noted() -> Iterator[Growth]:
        for one in measure_all(long=given.long, only=given.only):
            if one.times:
                slowest.append((one.times[-1][1], str(one)))
            yield one

    figures = growth(noted())
    print("What took longest for one text:")
    print("\n".join(line for _, line in sorted(slowest, reverse=True)[:20]))
    print(dumps(figures))
    return 1 if figures["hostile_too_fast"] else 0


if __name__ == "__main__":
    sys.exit(main())
