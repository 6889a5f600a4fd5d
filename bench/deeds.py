"""A process that does everything a home knows, in turn, and says what was acknowledged. Made to be killed, and to
be traced for power cuts. And what must hold of the home afterwards.

    python -m bench.deeds HOME STORAGE_JSON NAME SEED DAY COUNT

    python -m bench.deeds --nursery FOLDER

Each line of its standard output is JSON: `{"do": stage}` before a stage, `{"ok": what, …}` once something was
acknowledged, `{"done": stage}` after. With COUNT 0 it goes on until it is ended. DAY moves its clock, so that what
earlier processes wrote is old enough to be compacted.

A nursery imports everything once, and forks such a process for each line of its standard input, the JSON of the
arguments above and of a path for the output. It answers with the process's id, and once the process has ended,
with its exit code. Most of the time of a short life is its imports; from here on it is a process like any other.
"""

from __future__ import annotations

import io
import json
import os
import random
import subprocess
import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from importlib import import_module
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from lifelong import LifelongError, Memory, Store, UserMessage
from lifelong.errors import DocumentNotFound, InputError
from lifelong.forget.export_format import check_files, read_manifest
from lifelong.journal.records import looks_like_record, parse
from lifelong.organize.facts import parse_facts
from lifelong.serve.hook.answer import answer_in, store_queued
from lifelong.serve.hook.queue import HookQueue, StoreRequest
from lifelong.types import Clock

Said = Mapping[str, Any]

EVERYTHING_ON = {
    "journal_enabled": True,
    "experience_store_enabled": True,
    "memory_compaction_enabled": True,
    "retain_recall_log_days": 1,
}
QUICKLY = {"tick_seconds": 0.02, "lease_seconds": 0.5, "retry_seconds": 0.05, "max_attempts": 1000}
BEGIN = datetime(2024, 1, 5, 9, 0, tzinfo=UTC)
USER = "mara"
WORKER = "builder"
OLD_ENOUGH = 8  # days, after which a line may be compacted
ITEMS = ("lamp", "kayak", "teapot", "violin", "ladder", "tent", "globe", "clock")


def open_home(home: Path, storage: Mapping[str, Any], clock: Clock) -> Store:
    return Store.open(home, clock=clock, storage=storage, continuity=EVERYTHING_ON, worker=QUICKLY)


def marker(name: str, number: int) -> str:
    """Return a word that stands nowhere else."""
    digits = "".join(chr(ord("a") + int(digit)) for digit in f"{number:04}")
    return f"Zq{name}{digits}"


@dataclass
class Doer:
    """One process at work on a home."""

    home: Path
    storage: Mapping[str, Any]
    name: str
    seed: int
    day: int
    numbers: Iterable[int] = field(default_factory=count)
    forgettable: list[tuple[str, str]] = field(default_factory=list)
    """Records that may be forgotten: the id, and the word."""

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)
        self.started = time.monotonic()
        self.number = iter(self.numbers)
        self.beside = self.home.parent
        self.exports: list[Path] = []

    def clock(self) -> datetime:
        return BEGIN + timedelta(days=self.day, seconds=time.monotonic() - self.started)

    def run(self, steps: int) -> None:
        with open_home(self.home, self.storage, self.clock) as store:
            self.store, self.memory = store, store.user(USER)
            say(ready=self.name)
            for step in count():
                if steps and step >= steps:
                    break
                in_turn = bool(steps) or step == 0  # first something that may be lost
                stage = STAGE_NAMES[step % len(STAGE_NAMES)] if in_turn else self.chance.choice(STAGE_NAMES)
                say(do=stage)
                STAGES[stage](self)
                say(done=stage)
                self.day += step % 4 == 3

    def sentence(self) -> tuple[str, str]:
        word = marker(self.name, next(self.number))
        item = ITEMS[self.chance.randrange(len(ITEMS))]
        return word, f"My neighbour {word} sold me a {item} for {self.chance.randrange(9, 900)} euros."


def say(**said: object) -> None:
    os.write(1, json.dumps(said).encode() + b"\n")


# The stages


def append(doer: Doer) -> None:
    for _ in range(doer.chance.randrange(2, 6)):
        word, text = doer.sentence()
        say(trying="record", text=text)
        [id_] = doer.memory.add(text, key=word)
        say(ok="record", id=id_, text=text)
        doer.memory.add({"role": "assistant", "content": f"Noted what {word} sold."})
        doer.forgettable.append((id_, word))


def end_session(doer: Doer) -> None:
    doer.memory.end_session()


def dispatch(doer: Doer) -> None:
    doer.memory._parts.shared.dispatcher.run(doer.clock())


def organize(doer: Doer) -> None:
    doer.store.organize()
    say(ok="documents", versions=[[one.id, one.version] for one in doer.memory.documents.walk()])


def remember(doer: Doer) -> None:
    _, text = doer.sentence()
    say(trying="line", text=text)
    doer.memory.journal.remember(text, doer.chance.choice(("note", "learned")))
    say(ok="line", text=text)


def summarize_turns(doer: Doer) -> None:
    for _ in range(3):
        _, text = doer.sentence()
        say(trying="record", text=text)
        [id_] = doer.memory.add(text)
        say(ok="record", id=id_, text=text)
        doer.memory.end_turn()
        doer.memory.journal.keep_up()


def compact(doer: Doer) -> None:
    doer.day += OLD_ENOUGH
    doer.memory.journal.compact(force=True)


def write_document(doer: Doer) -> None:
    word, text = doer.sentence()
    made = doer.memory.documents.write(slug=word.lower(), title=word, description="", body=text)
    say(ok="document", id=made.id, text=text)
    doer.memory.documents.edit(made.id, made.version, append=f"{text} Twice.")
    say(ok="document", id=made.id, text=f"{text} Twice.")


def note(doer: Doer) -> None:
    _, text = doer.sentence()
    key = f"note-{doer.chance.randrange(5)}"
    say(trying="note", key=key, text=text)
    doer.memory.notes.worker(WORKER).store(key, text)
    say(ok="note", key=key, text=text)


def experience(doer: Doer) -> None:
    _, text = doer.sentence()
    if id_ := doer.memory.experiences.add(text):
        say(ok="experience", id=id_)
    doer.memory.experiences.extract()


def forget(doer: Doer) -> None:
    if doer.forgettable:
        id_, word = doer.forgettable.pop(doer.chance.randrange(len(doer.forgettable)))
        say(trying="forget", id=id_, word=word)
        report = doer.memory.forget(id_)
        say(ok="forget", id=id_, word=word, complete=report.complete)


def rebuild(doer: Doer) -> None:
    doer.memory.admin.rebuild()
    doer.memory.admin.index()


def backup(doer: Doer) -> None:
    word = marker(doer.name, next(doer.number))
    records = records_of(doer.memory)
    target = doer.beside / f"{word}.backup"
    doer.memory.admin.backup(target)
    say(ok="backup", path=target.name, records=len(records))


def export(doer: Doer) -> None:
    target = doer.beside / f"{marker(doer.name, next(doer.number))}.export"
    doer.memory.export(target)
    say(ok="export", path=target.name)
    doer.exports.append(target)


def import_export(doer: Doer) -> None:
    if doer.exports:
        user = marker(doer.name, next(doer.number)).lower()
        done = doer.store.import_user(doer.exports.pop(), user)
        say(ok="user", name=user, records=done.counts["records"])


def import_chats(doer: Doer) -> None:
    word, text = doer.sentence()
    chat = [{"role": "user", "content": text, "timestamp": (doer.clock() - timedelta(days=30)).isoformat()}]
    file = doer.beside / f"{word}.jsonl"
    file.write_text(json.dumps({"id": word, "messages": chat}) + "\n", encoding="utf-8")
    say(trying="record", text=text)
    report = doer.memory.import_from(file)
    assert report.added == 1, report
    say(ok="record", id="", text=text)


def hook(doer: Doer) -> None:
    """An event that is stored, and one that could not be, which the next event stores."""
    for text, queued in ((doer.sentence()[1], True), (doer.sentence()[1], False)):
        say(trying="record", text=text)
        if queued:
            request = StoreRequest(USER, "claude-code", "s1", ((text, UserMessage(text)),))
            HookQueue(doer.home).put(request, doer.clock())
        else:
            event = {"hook_event_name": "UserPromptSubmit", "session_id": "s1", "prompt": text, "cwd": "/"}
            answer = answer_in(doer.store, json.dumps(event).encode(), USER, {})
            assert "lifelong: " not in answer, answer
        say(ok="record", id="", text=text)


def retain(doer: Doer) -> None:
    doer.memory.search("Who sold me a lamp?")
    doer.memory.admin.retain()


STAGES: Mapping[str, Callable[[Doer], None]] = {
    "append": append,
    "summaries": summarize_turns,
    "end_session": end_session,
    "dispatch": dispatch,
    "organize": organize,
    "remember": remember,
    "document": write_document,
    "note": note,
    "experience": experience,
    "compact": compact,
    "forget": forget,
    "rebuild": rebuild,
    "backup": backup,
    "export": export,
    "import": import_export,
    "import chats": import_chats,
    "hook": hook,
    "retain": retain,
}
STAGE_NAMES = [*STAGES]


# What must hold


@dataclass
class Found:
    """What was lost or doubled, a sentence each. Empty: nothing."""

    lost: list[str] = field(default_factory=list)
    doubled: list[str] = field(default_factory=list)
    broken: list[str] = field(default_factory=list)

    def __bool__(self) -> bool:
        return bool(self.lost or self.doubled or self.broken)

    def __iadd__(self, other: Found) -> Found:
        self.lost += other.lost
        self.doubled += other.doubled
        self.broken += other.broken
        return self


def records_of(memory: Memory) -> list[tuple[int, str]]:
    """Return every record of the user with its text."""
    rows = memory._read(
        lambda tx: tx.all(
            "SELECT h.id, h.data FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.type = 'user_message' ORDER BY h.id",
            memory.user,
        )
    )
    return [(id_, str(json.loads(data).get("text", ""))) for id_, data in rows]


def check(home: Path, storage: Mapping[str, Any], said: list[Said], *, day: int, drain: bool = True) -> Found:
    """Open the home as a new process would, and return what is not as it was acknowledged. With `drain`,
    everything that waits must get done, too."""
    found = Found()
    started = time.monotonic()

    def clock() -> datetime:
        return BEGIN + timedelta(days=day, seconds=time.monotonic() - started)

    if not said and not home.exists():
        return found
    try:
        with open_home(home, storage, clock) as store:
            memory = store.user(USER)
            store_queued(store)
            found.broken += memory.admin.check()
            _check_records(memory, said, found)
            _check_files(memory, said, found)
            _check_copies(store, said, found)
            if drain:
                _drain(memory, found)
                _check_records(memory, said, found)
                _check_facts(memory, found)
    except (LifelongError, OSError, AssertionError, ValueError) as error:
        found.broken.append(f"{type(error).__name__}: {error}")
    return found


def _check_records(memory: Memory, said: list[Said], found: Found) -> None:
    gone = {one["word"] for one in said if one.get("trying") == "forget"}
    surely = {one["word"] for one in said if one.get("ok") == "forget"}
    there = Counter(text for _, text in records_of(memory))
    for one in said:
        if one.get("ok") == "record":
            is_gone = any(word in one["text"] for word in gone)
            if not there[one["text"]] and not is_gone:
                found.lost.append(f"record {one['id']}: {one['text']}")
    found.doubled += [f"record {text}" for text, times in there.items() if times > 1]
    versions = dict[str, int]()
    for document in memory.documents.walk():
        versions[document.id] = document.version
        found.broken += [f"forgotten, and in {document.path}: {word}" for word in surely if word in document.body]
    for text in there:
        found.broken += [f"forgotten, and there: {text}" for word in surely if word in text]
    for one in said:
        if one.get("ok") == "documents" and not gone:
            found.lost += [
                f"document {id_} {version}" for id_, version in one["versions"] if versions.get(id_, 0) < version
            ]
        if one.get("ok") == "document" and not any(word in one["text"] for word in gone):
            try:
                body = memory.documents.read(one["id"]).body
            except DocumentNotFound:
                body = ""
            if one["text"] not in body:
                found.lost.append(f"document {one['id']}: {one['text']}")
    ids = {one.id for one in memory.experiences.list(limit=100_000)}
    acknowledged = {one["id"] for one in said if one.get("ok") == "experience"}
    if not gone:
        found.lost += [f"experience {id_}" for id_ in acknowledged - ids]


def _check_files(memory: Memory, said: list[Said], found: Found) -> None:
    files = memory.journal.files
    page = parse(files.read(files.memory))
    archived = "".join(path.read_text("utf-8", "replace") for path in files.archive_folder.glob("*.md"))
    lines = Counter(line.record.text for line in page if line.record)
    whole = [line.raw for line in page if not line.record and looks_like_record(line.raw)]
    found.broken += [
        f"half a line in the middle of MEMORY.md: {raw!r:.80}" for raw in whole[:-1] if "\n" not in raw
    ]
    for one in said:
        if one.get("ok") == "line" and not lines[one["text"]] and one["text"] not in archived:
            found.lost.append(f"line {one['text']}")
    ids = Counter(line.record.id for line in page if line.record)
    found.doubled += [f"line {id_}" for id_, times in ids.items() if times > 1]
    last: dict[str, set[str]] = {}
    for one in said:
        if one.get("ok") == "note":
            last[one["key"]] = {one["text"]}
        elif one.get("trying") == "note":
            last.setdefault(one["key"], {""}).add(one["text"])
    folder = memory.notes.worker(WORKER).folder
    for key, texts in last.items():
        path = folder / f"{key}.md"
        text = path.read_text("utf-8") if path.exists() else ""
        if text not in texts:
            found.lost.append(f"note {key}: {texts}, but there is {text!r:.80}")


def _check_copies(store: Store, said: list[Said], found: Found) -> None:
    beside = store.home.path.parent
    for one in said:
        if one.get("ok") == "backup":
            if problem := backup_problem(beside / one["path"], one["records"]):
                found.lost.append(f"backup {one['path']}: {problem}")
        elif one.get("ok") == "export":
            try:
                check_files(beside / one["path"], read_manifest(beside / one["path"]))
            except (OSError, InputError) as error:
                found.lost.append(f"export {one['path']}: {error}")
        elif one.get("ok") == "user" and one["records"]:
            there = len(records_of(store.user(one["name"])))
            if not there:
                found.lost.append(f"imported user {one['name']}")


def backup_problem(path: Path, records: int) -> str:
    """Return why a backup is not a whole copy with so many records; empty where it is."""
    if not path.exists():
        return "it is not there"
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            checked = connection.execute("PRAGMA integrity_check").fetchall()
            rows = connection.execute(
                "SELECT count(*) FROM session_history h JOIN sessions s ON s.id = h.session_id JOIN agents a "
                "ON a.id = s.agent_id WHERE a.owner = ? AND h.type = 'user_message'",
                (USER,),
            ).fetchall()
            connection.execute("SELECT count(*) FROM home_files").fetchall()
        finally:
            connection.close()
    except apsw.Error as error:
        return str(error)
    if checked != [("ok",)]:
        return str(checked)
    [[kept]] = rows
    return "" if int(str(kept)) >= records else f"{kept} records of {records}"


def _drain(memory: Memory, found: Found) -> None:
    """Organize everything that waits, also what an ended process still holds the lease of."""
    end = time.monotonic() + 30
    for agent in memory.agents.list():
        if agent.descriptor.kind == "user":
            memory.end_session(agent)
    while memory.store.organize().dispatched or memory.inbox.list("pending", "leased"):
        if time.monotonic() > end:
            break
        time.sleep(0.02)
    waiting = memory.inbox.list("pending", "leased", "dead")
    found.broken += [f"item {item.id} is {item.state}: {item.error}" for item in waiting]
    if (health := memory.admin.health()).status != "green":
        found.broken.append(f"health is {health.status}: {' '.join(health.reasons)}")


def _check_facts(memory: Memory, found: Found) -> None:
    """Every fact that was learned by organizing is there once."""
    for document in memory.documents.walk():
        times = Counter(fact.text for fact in parse_facts(document.body) if fact.current and fact.records)
        found.doubled += [f"fact in {document.path}: {text}" for text, many in times.items() if many > 1]


def read_said(stream: io.BufferedIOBase | bytes) -> list[Said]:
    """Return what a process said; a line that it had not finished was not said."""
    data = stream if isinstance(stream, bytes) else stream.read()
    return [json.loads(line) for line in data.splitlines(keepends=True) if line.endswith(b"\n")]


def main(home: str, storage: str, name: str, seed: str, day: str, steps: str) -> None:
    Doer(Path(home), json.loads(storage), name, int(seed), int(day)).run(int(steps))


def nursery(folder: str) -> None:
    command = [sys.executable, "-m", "bench.deeds", f"{folder}/home", "{}", "n", "0", "0", str(len(STAGES))]
    environment = {**os.environ, "BENCH_SAY_MODULES": "1"}
    done = subprocess.run(command, capture_output=True, check=True, env=environment)
    for module in read_said(done.stdout)[-1]["modules"]:
        import_module(module)
    for line in sys.stdin:
        *arguments, output = json.loads(line)
        if pid := os.fork():
            print(pid, flush=True)
            _, status = os.waitpid(pid, 0)
            print(os.waitstatus_to_exitcode(status), flush=True)
            continue
        target = os.open(output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for handle in (1, 2):
            os.dup2(target, handle)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            main(*arguments)
        except BaseException:
            traceback.print_exc()
            sys.stderr.flush()
        os._exit(1)


if __name__ == "__main__":
    if sys.argv[1] == "--nursery":
        nursery(*sys.argv[2:])
    else:
        main(*sys.argv[1:])
        if "BENCH_SAY_MODULES" in os.environ:
            say(modules=sorted(name for name in sys.modules if name.startswith("lifelong.")))
