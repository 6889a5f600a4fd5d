"""Export and import of a user (S10): what comes back is equal, and a bad export changes nothing."""

from __future__ import annotations

import hashlib
import io
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from rich.console import Console

from lifelong import AssistantMessage, Cron, Hit, Memory, Store, ToolResult, User, UserMessage
from lifelong.collect.descriptors import Descriptor
from lifelong.collect.transcript import renumber_blocks, transcript
from lifelong.errors import InputError, LifelongError, UserNotFound
from lifelong.forget.export import rows
from lifelong.forget.export_format import LEFT_OUT, ROW_FILES
from lifelong.forget.tables import TABLES
from lifelong.forget.user_files import user_files
from lifelong.organize.facts import parse_facts, renumber_citations
from lifelong.serve.demo import demo
from lifelong.storage.base import Database, Transaction
from lifelong.testing import FakeClock, ScriptedOrganizer
from lifelong.types import Record
from tests import transcripts
from tests.command_line import Line

CONTINUITY = {
    "journal_enabled": True,
    "memory_compaction_enabled": True,
    "experience_store_enabled": True,
    "memory_compaction_max_records": 8,
}
MARA = User("cli", "mara", "main")
NIGHTLY = Cron("nightly", "Nightly")

WEEKS: list[list[str]] = [
    [
        "I'm Mara. I work as an architect in Porto, and I'm vegetarian.",
        "My sister Elin lives in Oslo. Her birthday is on 3 May.",
        "I'm allergic to penicillin, please never forget that.",
        "The rent of my flat is 950 EUR a month.",
    ],
    [
        "We decided to use larch for the facade of the library, because oak is too heavy.",
        "Always answer me in bullet points.",
        "The meeting with the city is on Thursday at 14:30 in room 204.",
        "My bike has been stolen. The number of the frame is WTU-8841-K.",
    ],
    [
        "I moved to Lisbon last week. The new flat costs 1,200 EUR a month.",
        "Elin visits me in June with her dog Max.",
        "Turns out the facade leaked because the flashing was too short.",
        "I don't drink coffee any more, only tea.",
    ],
    [
        "The library opens on 12 September. Joana Reis signs off the plans.",
        "My dentist is Dr. Alves, on the Rua da Graça.",
        "Please book the train to Porto for Friday morning.",
        "Max is a border collie. He is afraid of thunder.",
    ],
]
QUESTIONS = [
    *("Where does Mara live?", "What am I allergic to?", "How much is the rent?", "When is Elin's birthday?"),
    *("Why did the facade leak?", "What did we decide about the facade?", "WTU-8841-K", "Who is Max?"),
    *("Who signs off the plans?", "coffee or tea", "nightly report", "What does the user want?"),
]

ROW_FILLED = [
    file.name for file in ROW_FILES if file.name not in ("ledger", "tombstones", "erasures", "schedules")
]

OpenHome = Callable[..., AbstractContextManager[Store]]


@pytest.fixture
def open_home(tmp_path: Path, clock: FakeClock, request: pytest.FixtureRequest) -> OpenHome:
    """Opens homes by name, over SQLite or PostgreSQL; each has its own folder and schema."""

    @contextmanager
    def opened(name: str, kind: str = "sqlite", **given: Any) -> Iterator[Store]:
        storage = {}
        if kind == "postgres":
            schema = f"{name}_{hashlib.sha256(str(tmp_path).encode()).hexdigest()[:12]}"
            storage = {"url": request.getfixturevalue("postgres_url"), "schema_name": schema, "pool_size": 4}
        with Store.open(
            tmp_path / name, clock=clock, storage=storage, **{"continuity": CONTINUITY, **given}
        ) as store:
            yield store

    return opened


def database(memory: Memory) -> Database:
    return memory._parts.shared.database


def live(memory: Memory, clock: FakeClock) -> None:
    """Some weeks of an everyday user: talk, a job, documents, a journal, notes, and what people say about it."""
    for week in WEEKS:
        for text in week:
            memory.add(text, agent=MARA, key=text[:40])
            memory.add(AssistantMessage("Noted. I'll keep that in mind for the next time."), agent=MARA)
            clock.turn(minutes=7)
        memory.end_turn(memory.agent(MARA))
        memory.append(memory.agent(NIGHTLY), UserMessage("Write the nightly report.", at=clock.now))
        memory.append(memory.agent(NIGHTLY), ToolResult(f"{len(text)} files changed.", "shell"))
        memory.add("I keep the default agent for small things.")
        memory.end_session(MARA_OF(memory))
        memory.end_session(memory.agent(NIGHTLY))
        memory.end_session()
        memory.organize()
        clock.turn(days=6)
    memory.journal.remember("The user likes short answers.", "learned")
    memory.notes.worker("painter").store("colours", "Blue dries slowly. Order more of it in May.")
    memory.experiences.add("A facade of larch needs long flashing.", "learned")
    page = memory.documents.find("~/memory")
    assert page
    memory.documents.write(
        slug="garden", title="Garden", description="", body="The roses need water.", parent_id=page.id
    )
    clock.turn(hours=1)
    hits = memory.search("Where does Mara live?")
    memory.pin(memory.search("the number of the frame")[0].id)
    memory.feedback(hits[1].id, "useful", memory.admin.recall_log(1)[0].id)
    fact = next(hit for hit in memory.list("fact") if "vegetarian" in hit.text)
    memory.unpin(fact.id)
    memory.correct(memory.search("penicillin")[0].id, "I'm allergic to amoxicillin.")
    memory.feedback(memory.search("roses", kinds=["fact"])[0].id, "outdated")
    remember = next(one for one in memory.tools("cursor") if one.name == "remember_this")
    remember.call(text="Always knock before you paint.")
    memory.reviews.approve(memory.reviews.list()[0].id)
    memory.reviews.hold_forget(hits[0].id, "cursor")
    memory.journal.compact()
    clock.turn(hours=1)
    memory.organize()
    database(memory).write(lambda tx: fill_the_rest(tx, memory.user))


def fill_the_rest(tx: Transaction, user: str) -> None:
    """What an everyday user without a model, who forgets nothing, has no rows of."""
    tx.insert(
        "ledger (at, owner, purpose, model, state, input_tokens, output_tokens, cost, estimated, inbox_id, error)",
        [(1, user, "organize", "test:model", "done", 10, 5, 0.1 + 0.2, 0, None, "")],
    )
    tx.run("INSERT INTO schedules VALUES (?, 'compaction', 5)", user)
    tx.run("INSERT INTO tombstones VALUES (?, 'record', '90', 'digest', 7, 'mara')", user)
    tx.run("INSERT INTO digest_keys VALUES (1, 'a key')")
    tx.insert(
        "erasures (owner, at, author, state, plan, report, done_at)", [(user, 7, "mara", "done", "", "{}", 8)]
    )


def MARA_OF(memory: Memory) -> str:  # noqa: N802 - beside MARA
    return memory.agent(MARA).id


def state(memory: Memory) -> dict[str, object]:
    """Everything that an export holds: the rows by file, and the user's own files with their times."""
    memory._parts.shared.flush_logs()
    found: dict[str, object] = {}
    for file in ROW_FILES:
        listed = database(memory).read(lambda tx, file=file: [*rows(tx, file, memory.user)])  # type: ignore[misc]
        found[file.name] = sorted(map(repr, listed)) if file.name != "journal" else len(listed)
    folder = memory.home.user_folder(memory.user)
    found["files"] = {
        place.relative_to(folder).as_posix(): (place.read_bytes(), place.stat().st_mtime_ns)
        for place in user_files(folder)
        if place.name != ".journal-id"
    }
    return found


def shown(hit: Hit, *, ids: bool = True) -> tuple[object, ...]:
    """What of a hit must be the same; without `ids`, where others had them."""
    own = (hit.id, hit.session_id, hit.agent_id, hit.record_id) if ids else ()
    return (
        *(hit.kind, hit.text, hit.at, hit.trust, hit.speaker, hit.path, hit.until, hit.pinned, hit.confidence),
        round(hit.score, 2),  # vectors are made again, in another order
        frozenset(shown(one, ids=ids) for one in hit.sources),  # their order among equals is by chance
        hit.newer and shown(hit.newer, ids=ids),
        own,
    )


def found(memory: Memory, clock: FakeClock, *, ids: bool = True) -> list[object]:
    """A hundred searches: questions and words of what was said, now and as of earlier times."""
    words = sorted({word for week in WEEKS for text in week for word in re.findall(r"\w{4,}", text)})
    asked = [*QUESTIONS, *words][:80]
    times = [clock.now - timedelta(days=days, hours=2) for days in (0, 5, 12, 19, 40)]
    past = [(question, at) for question in QUESTIONS[:4] for at in times]
    everything: list[object] = [[shown(hit, ids=ids) for hit in memory.search(one, 8)] for one in asked]
    everything += [[shown(hit, ids=ids) for hit in memory.search(one, 8, as_of=at)] for one, at in past]
    assert len(everything) == 100
    assert all(everything[: len(QUESTIONS)])
    everything.append([shown(hit, ids=ids) for hit in memory.list(limit=1_000)])
    return everything


# Equal


@pytest.mark.parametrize(
    ("source", "target"),
    [
        *(("sqlite", "sqlite"), ("sqlite", "postgres"), ("postgres", "sqlite")),
        pytest.param("postgres", "postgres", marks=pytest.mark.soak),  # its halves are in the two above
    ],
)
def test_an_import_of_an_export_is_equal(
    open_home: OpenHome, tmp_path: Path, clock: FakeClock, source: str, target: str
) -> None:
    """S10: every row, every file, a hundred searches and the context, between both databases."""
    with open_home("old", source) as store:
        memory = store.user("mara")
        live(memory, clock)
        before = state(memory)
        done = memory.export(tmp_path / "export")
        assert done.counts["records"] > 40
        assert done.files >= 8
        assert not [name for name, rows in done.counts.items() if not rows]
        hits, context = found(memory, clock), memory.context("Where do I live?", agent=MARA_OF(memory))
    with open_home("new", target) as store:
        told: list[str] = []
        report = store.import_user(tmp_path / "export", progress=lambda what, done, total: told.append(what))
        assert (report.user, report.renumbered, report.remarks) == ("mara", False, ())
        assert {"records", "index"} <= {*told}
        memory = store.user("mara")
        assert state(memory) == before
        assert memory.admin.verify() == []
        memory.organize()
        assert state(memory) == before
        assert found(memory, clock) == hits
        fence = re.compile(r"id=\w+")
        assert fence.sub("", memory.context("Where do I live?", agent=MARA_OF(memory))) == fence.sub("", context)


def test_what_was_imported_lives_on(open_home: OpenHome, tmp_path: Path, clock: FakeClock) -> None:
    """S10, C7: keys, sessions, numbers and the journal go on where they were."""
    with open_home("old") as store:
        live(store.user(), clock)
        store.user().export(tmp_path / "export")
    with open_home("new") as store:
        store.import_user(tmp_path / "export")
        memory = store.user()
        records = memory.admin.stats().items["record"]
        memory.add(WEEKS[0][0], agent=MARA, key=WEEKS[0][0][:40])  # a retry
        assert memory.admin.stats().items["record"] == records
        facts = {hit.id for hit in memory.list("fact", limit=1_000)}
        (new,) = memory.add("I sold the flat in Porto for 210,000 EUR.", agent=MARA)
        assert int(new[1:]) > max(int(hit.id[1:]) for hit in memory.list("record", limit=1_000) if hit.id != new)
        clock.turn(minutes=5)
        memory.end_session(MARA_OF(memory))
        memory.organize()
        assert memory.receipt(new).stage == "searchable"
        assert {hit.id for hit in memory.list("fact", limit=1_000)} > facts
        assert memory.journal.records()[-1].id.endswith(f"-{new[1:]}")


def test_what_waits_in_the_inbox_is_organized_where_it_is_imported(
    open_home: OpenHome, tmp_path: Path, clock: FakeClock
) -> None:
    """S10, O5: also what stands behind another transcript of its agent."""
    with open_home("old", organizer=ScriptedOrganizer(*[RuntimeError("not today")] * 3)) as store:
        memory = store.user()
        for text in WEEKS[0][:3]:
            memory.add(text)
            memory.end_session()
        memory.organize()
        assert memory.inbox.counts()["pending"] == 3
        memory.export(tmp_path / "export")
    with open_home("new") as store:
        store.import_user(tmp_path / "export")
        clock.turn(minutes=5)
        store.organize()
        assert store.user().inbox.counts()["done"] == 3


def test_the_samples_of_the_demo_come_back(tmp_path: Path) -> None:
    """S10: three weeks of a team, compacted, with experiences, into a new home."""
    demo(tmp_path / "old", Console(file=io.StringIO()), pace=0)
    shutil.copytree(tmp_path / "old", tmp_path / "new", ignore=shutil.ignore_patterns("lifelong.db*", "users"))
    clock = FakeClock(datetime.now().astimezone())
    with Store.open(tmp_path / "old", clock=clock) as store:
        before = state(store.user())
        store.user().export(tmp_path / "export")
        hits = found(store.user(), clock)
        entities = store.user().relations.of("Mara")
    with Store.open(tmp_path / "new", clock=clock) as store:
        store.import_user(tmp_path / "export")
        assert state(store.user()) == before
        assert found(store.user(), clock) == hits
        assert store.user().relations.of("Mara") == entities
        assert store.user().admin.health().status == "green"
    assert (
        (tmp_path / "export" / "documents" / "memory" / "people" / "mara.md").read_text("utf-8").startswith("# ")
    )


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_random_histories_come_back(tmp_path: Path, open_home: OpenHome, clock: FakeClock, kind: str) -> None:
    """S10: whatever was said, by whomever, in text of every kind."""
    numbers = count()

    @settings(max_examples=6, deadline=None, suppress_health_check=[*HealthCheck], derandomize=True)
    @given(st.lists(transcripts.sessions, min_size=1, max_size=3))
    def check(sessions: list[tuple[Descriptor, list[Record]]]) -> None:
        number, user = next(numbers), "u"
        with open_home(f"random{number}") as store:
            memory = store.user(user)
            for descriptor, records in sessions:
                agent = memory.agent(descriptor)
                memory.append_many(agent, records)
                clock.turn(minutes=3)
                memory.end_session(agent)
                memory.organize()
            before = state(memory)
            memory.export(tmp_path / f"export{number}")
            hits = [[shown(hit) for hit in memory.search(one)] for one in QUESTIONS]
        with open_home(f"again{number}", kind) as store:
            store.import_user(tmp_path / f"export{number}")
            assert state(store.user(user)) == before
            assert [[shown(hit) for hit in store.user(user).search(one)] for one in QUESTIONS] == hits

    check()


# Other ids


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_ids_that_others_have_are_replaced_wherever_they_are_named(
    open_home: OpenHome, tmp_path: Path, clock: FakeClock, kind: str
) -> None:
    """S10, C0: a copy beside the original finds the same, and each stands on its own records."""
    with open_home("home", kind) as store:
        original = store.user("mara")
        live(original, clock)
        original.export(tmp_path / "export")
        before = state(original)
        report = store.import_user(tmp_path / "export", "copy")
        assert report.renumbered
        copy = store.user("copy")
        assert state(original) == before
        assert told(copy) == told(original)
        assert found(copy, clock, ids=False) == found(original, clock, ids=False)
        assert not {*records_of(copy)} & {*records_of(original)}
        assert lines_of(copy)
        assert lines_of(copy) <= {*records_of(copy)}
        mine = {agent.id for agent in copy.agents.list()}
        assert {hit.agent_id for hit in copy.list("record", limit=1_000)} <= mine
        assert copy.admin.verify() == original.admin.verify() == []
        assert copy.agent().id in mine  # the default agent is the new user's
        copy.export(tmp_path / "again")
    with open_home("third", kind) as store:
        assert not store.import_user(tmp_path / "again", "mara").renumbered
        assert told(store.user("mara")) == told_of(tmp_path, open_home, kind)


def told_of(tmp_path: Path, open_home: OpenHome, kind: str) -> object:
    with open_home("home", kind) as store:
        return told(store.user("mara"))


def records_of(memory: Memory) -> dict[int, str]:
    """The text of every record, by its number."""
    return {
        recorded.id: getattr(recorded.record, "text", "")
        for agent in memory.agents.list()
        for session in memory.sessions.list(agent)
        for recorded in memory.sessions.history(session)
    }


def lines_of(memory: Memory) -> set[int]:
    """The records that the lines of the journal name."""
    files = user_files(memory.home.user_folder(memory.user))
    return {int(one) for file in files for one in re.findall(r"turn-\w+-(\d+)", file.read_text("utf-8"))}


def told(memory: Memory) -> object:
    """What a memory says, with the text of a record in place of its number."""
    texts = records_of(memory)
    documents = [
        (
            version.path,
            version.version,
            version.valid_from,
            [
                (fact.text, [texts[one] for one in fact.records], fact.until, texts.get(fact.by or 0))
                for fact in parse_facts(version.body)
            ],
        )
        for document in memory.documents.walk()
        for version in memory.documents.versions(document.id)
    ]
    recalls = [
        (
            one.at,
            one.question,
            [(texts.get(int(hit.id[1:]), "") if hit.id[0] == "r" else "", hit.score) for hit in one.hits],
        )
        for one in memory.admin.recall_log(1_000)
        if one.question == "Where does Mara live?" and one.purpose == "search"
    ][-1:]
    changes = [
        (one.at, texts.get(one.until, ""), texts.get(one.after, "")) for one in memory.documents.changesets()
    ]
    inbox = [
        (item.state, re.sub(r"\[r(\d+),", lambda found: f"[{texts[int(found[1])]!r},", item.text))
        for item in memory.inbox.list()
    ]
    journal = [
        (
            line.category,
            line.text,
            line.timestamp,
            [texts[int(one)] for one in re.findall(r"\Aturn-\w+-(\d+)", line.id)],
        )
        for line in memory.journal.records()
    ]
    pinned = [(hit.text, hit.kind) for hit in memory.list(limit=1_000) if hit.pinned]
    experiences = [(one.text, one.at, one.category) for one in memory.experiences.list(limit=1_000)]
    return documents, recalls, changes, inbox, journal, pinned, experiences


@settings(max_examples=200, deadline=None)
@given(st.lists(transcripts.odd_text, max_size=6).map("\n\n".join), st.integers(1, 10**6))
def test_only_citations_are_renumbered(body: str, offset: int) -> None:
    """S10: the facts cite the other numbers, and everything else of a document is the same to the byte."""
    moved = renumber_citations(body, lambda number: number + offset)
    assert renumber_citations(moved, lambda number: number - offset) == body
    for fact, other in zip(parse_facts(body), parse_facts(moved), strict=True):
        assert other.records == tuple(number + offset for number in fact.records)
        assert other.by == (fact.by + offset if fact.by else None)
        assert (other.text, other.until, other.speaker) == (fact.text, fact.until, fact.speaker)


@settings(max_examples=50, deadline=None)
@given(st.lists(transcripts.records(), min_size=1, max_size=4))
def test_only_headings_of_transcripts_are_renumbered(records: list[Record]) -> None:
    """S10: what was said in it cannot pass for a heading."""
    from lifelong.types import StoredRecord

    def written(first: int) -> str:
        stored = [
            StoredRecord(first + place, "s", transcripts.BEGINNING, transcripts.BEGINNING, record)
            for place, record in enumerate(records)
        ]
        return transcript(stored, foreground=True)

    assert renumber_blocks(written(5), lambda number: number + 700) == written(705)


# The format


def test_every_column_is_exported_or_made_again(memory: Memory) -> None:
    """S10: a new table or column must be in the export, unless it can be made again."""
    exported = {file.table.name: file for file in ROW_FILES}
    canonical = {table.name for table in TABLES if table.canonical and table.exported and table.belongs != "home"}
    assert canonical <= exported.keys()
    for name, file in exported.items():
        sql = (
            f"SELECT name FROM pragma_table_info('{name}')"
            if database(memory).dialect == "sqlite"
            else f"SELECT column_name FROM information_schema.columns WHERE table_name = '{name}' "
            "AND table_schema = current_schema()"
        )
        columns = {row[0] for row in database(memory).read(lambda tx, sql=sql: tx.all(sql))}  # type: ignore[misc]
        assert columns - {"owner"} == {*file.columns} | LEFT_OUT.get(name, set())


def test_the_page_describes_every_file_and_column() -> None:
    """S10: the format is documented."""
    page = Path(__file__).parent.parent.joinpath("docs", "export.md").read_text("utf-8")
    for file in ROW_FILES:
        assert f"### `{file.path}`" in page
        part = page.split(f"### `{file.path}`")[1].split("\n#")[0]
        assert [name for name in file.columns if f"`{name}`" not in part] == []


def test_an_export_can_be_read_without_lifelong(open_home: OpenHome, tmp_path: Path, clock: FakeClock) -> None:
    """S10: JSON Lines with the words as they were said, Markdown, and no secret of the settings."""
    models = {"api_key": "sk-" + "a1b2c3d4" * 5, "base_url": "https://someone:hush@host.test/v1"}
    with open_home("old", models=models) as store:
        live(store.user(), clock)
        store.user().export(tmp_path / "export")
    folder = tmp_path / "export"
    said = [json.loads(line) for line in (folder / "records.jsonl").read_text("utf-8").splitlines()]
    assert WEEKS[0][0] in [record["data"].get("text") for record in said]
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    assert (manifest["format"], manifest["version"], manifest["user"]) == ("lifelong-export", 1, "default")
    for file in manifest["files"]:
        assert hashlib.sha256((folder / file["path"]).read_bytes()).hexdigest() == file["sha256"]
    listed = {file["path"] for file in manifest["files"]} | {"manifest.json"}
    assert listed == {place.relative_to(folder).as_posix() for place in folder.rglob("*") if place.is_file()}
    assert (folder / "files" / "MEMORY.md").exists()
    assert "roses" in (folder / "documents" / "memory" / "garden.md").read_text("utf-8")
    told = (folder / "settings.json").read_text("utf-8")
    assert "a1b2c3d4" not in told
    assert "hush" not in told
    assert oct(folder.stat().st_mode)[-3:] == "700"
    assert all(oct(place.stat().st_mode)[-3:] in ("600", "700") for place in folder.rglob("*"))


def test_names_of_documents_stay_in_the_folder(open_home: OpenHome, tmp_path: Path) -> None:
    """S10, S3: a slug is not a path, nor longer than a file's name may be."""
    with open_home("old") as store:
        memory = store.user()
        for slug in (".hidden", "a\\b", "x" * 100, "ü" * 100, "Twice", "twice", "C:", "... ."):
            memory.documents.write(slug=slug, title=slug, description="", body=f"About {slug[:9]}.")
        written = [document.slug for document in memory.documents.walk()]
        memory.export(tmp_path / "export")
    places = [*(tmp_path / "export" / "documents").rglob("*")]
    assert len(places) == len(written) > 7
    assert {place.parent.name for place in places} == {"documents"}
    with open_home("new") as store:
        store.import_user(tmp_path / "export")
        assert [document.slug for document in store.user().documents.walk()] == written


def test_what_is_switched_off_here_is_said(open_home: OpenHome, tmp_path: Path, clock: FakeClock) -> None:
    """S10: the journal comes along, and is found again once it is switched on."""
    with open_home("old") as store:
        live(store.user(), clock)
        store.user().export(tmp_path / "export")
    with open_home("new", continuity={}) as store:
        remarks = store.import_user(tmp_path / "export").remarks
        assert ["journal_enabled" in remarks[0], "experience_store_enabled" in remarks[1]] == [True, True]
    with open_home("new") as store:
        assert store.user().journal.records()
        store.organize()
        assert store.user().search("the number of the frame", kinds=["journal"])


# Refused


@pytest.fixture
def exported(open_home: OpenHome, tmp_path: Path, clock: FakeClock) -> Path:
    """A small export."""
    with open_home("old") as store:
        memory = store.user("mara")
        for text in WEEKS[0]:
            memory.add(text)
        memory.end_session()
        memory.organize()
        memory.export(tmp_path / "export")
    return tmp_path / "export"


def rewritten(folder: Path, change: Callable[[dict[str, Any]], object]) -> None:
    manifest = json.loads((folder / "manifest.json").read_text("utf-8"))
    change(manifest)
    (folder / "manifest.json").write_text(json.dumps(manifest), "utf-8")


def resealed(folder: Path, name: str, change: Callable[[list[dict[str, Any]]], object]) -> None:
    """Change the rows of a file, and its checksum with them."""
    place = folder / f"{name}.jsonl"
    listed = [json.loads(line) for line in place.read_text("utf-8").splitlines()]
    change(listed)
    data = "".join(f"{json.dumps(row)}\n" for row in listed).encode()
    place.write_bytes(data)

    def seal(manifest: dict[str, Any]) -> None:
        entry = next(file for file in manifest["files"] if file["path"] == place.name)
        entry |= {"bytes": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        manifest["counts"][name] = len(listed)

    rewritten(folder, seal)


def linked(folder: Path, path: str) -> None:
    (folder / path).rename(folder.parent / "elsewhere")
    (folder / path).symlink_to(folder.parent / "elsewhere")


def named(path: str) -> Callable[[Path], None]:
    return lambda folder: rewritten(
        folder, lambda manifest: manifest["files"].append({"path": path, "bytes": 0, "sha256": "", "modified": 0})
    )


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "no manifest": (lambda folder: (folder / "manifest.json").unlink(), "not an export of lifelong"),
    "another format": (lambda folder: rewritten(folder, lambda it: it.update(format="chat")), "other products"),
    "no JSON": (lambda folder: (folder / "manifest.json").write_text("{"), "cannot be read"),
    "another version": (lambda folder: rewritten(folder, lambda it: it.update(version=2)), "upgrade lifelong"),
    "no counts": (lambda folder: rewritten(folder, lambda it: it.pop("counts")), "damaged"),
    "a missing file": (lambda folder: (folder / "records.jsonl").unlink(), "records.jsonl is missing"),
    "an unnamed file": (lambda folder: rewritten(folder, lambda it: it["files"].pop(0)), "does not name"),
    "a changed byte": (
        lambda folder: (folder / "records.jsonl").write_bytes(
            (folder / "records.jsonl").read_bytes().replace(b"vegetarian", b"vegetariaN")
        ),
        "checksum",
    ),
    "a cut file": (lambda folder: os.truncate(folder / "files" / "MEMORY.md", 10), "checksum"),
    "a path above": (named("files/../../x"), "no export has a file"),
    "an absolute path": (named("/etc/passwd"), "no export has a file"),
    "a path in itself": (named("files//x"), "no export has a file"),
    "an unknown file": (named("lifelong.toml"), "no export has a file"),
    "the same file twice": (named("records.jsonl"), "twice"),
    "a link": (lambda folder: linked(folder, "records.jsonl"), "is a link"),
    "a linked folder": (lambda folder: linked(folder, "files"), "is a link"),
    "half a row": (
        lambda folder: resealed(folder, "records", lambda it: it[0].pop("at")),
        "does not have the columns",
    ),
    "a wrong value": (
        lambda folder: resealed(folder, "records", lambda it: it[0].update(at="now")),
        "at cannot be",
    ),
    "a huge number": (lambda folder: resealed(folder, "records", lambda it: it[0].update(id=2**70)), "too large"),
    "another's session": (
        lambda folder: resealed(folder, "records", lambda it: it[0].update(session_id="f" * 32)),
        "its session is not in the export",
    ),
    "another's agent": (
        lambda folder: resealed(folder, "sessions", lambda it: it[0].update(agent_id="f" * 32)),
        "its agent is not in the export",
    ),
    "a wrong agent": (
        lambda folder: resealed(folder, "agents", lambda it: it[0].update(cache_key="/cron/x")),
        "its descriptor is another agent's",
    ),
    "the same id twice": (lambda folder: resealed(folder, "records", lambda it: it.append(it[0])), "Nothing was"),
    "a wrong count": (
        lambda folder: rewritten(folder, lambda it: it["counts"].update(records=3)),
        "as many rows",
    ),
}


@pytest.mark.parametrize("how", BAD)
def test_a_bad_export_changes_nothing(open_home: OpenHome, exported: Path, tmp_path: Path, how: str) -> None:
    """S10: whatever is wrong with it, it is said in a sentence."""
    damage, why = BAD[how]
    damage(exported)
    with open_home("new") as store:
        store.user("other").add("I was here before.")
        before = state(store.user("other"))
        users = [*store.home.path.glob("users/*")]
        with pytest.raises(LifelongError, match=re.escape(why)) as told:
            store.import_user(exported, "mara")
        assert "Nothing was" in str(told.value) or how in ("no manifest", "another format")
        assert state(store.user("other")) == before
        assert [*store.home.path.glob("users/*")] == users
        assert "mara" not in store.users()
        with pytest.raises(UserNotFound):
            store.existing_user("mara")
    assert not (tmp_path / "x").exists()


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
def test_a_user_who_holds_something_is_not_replaced(open_home: OpenHome, exported: Path, kind: str) -> None:
    """S10: neither rows nor files; a user who was only opened holds nothing."""
    with open_home("new", kind) as store:
        store.user("mara").search("anything")
        store.user("busy").add("I was here before.")
        store.user("writer").notes.worker("painter").store("colours", "Blue dries slowly.")
        for user in ("busy", "writer"):
            before = state(store.user(user))
            with pytest.raises(InputError, match="holds something already"):
                store.import_user(exported, user)
            assert state(store.user(user)) == before
        store.import_user(exported)
        assert store.user("mara").search("vegetarian")
        with pytest.raises(InputError, match="holds something already"):
            store.import_user(exported)


def test_an_export_does_not_write_over_anything(open_home: OpenHome, tmp_path: Path) -> None:
    """S10: it refuses what exists and is not empty, and leaves nothing half behind."""
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "mine.txt").write_text("mine")
    (tmp_path / "file").write_text("mine")
    (tmp_path / "empty").mkdir()
    with open_home("old") as store:
        memory = store.user()
        memory.add("I live in Lisbon.")
        for place, why in (("full", "not empty"), ("file", "not a folder"), ("nowhere/x", "no folder")):
            with pytest.raises(InputError, match=why):
                memory.export(tmp_path / place)
        memory.export(tmp_path / "empty")
    assert (tmp_path / "full" / "mine.txt").read_text() == "mine"
    assert (tmp_path / "empty" / "manifest.json").exists()
    assert not [*tmp_path.glob(".*.part-*")]


# Killed

KILLED = """
import os, signal, sys
from pathlib import Path
from lifelong import Store
from lifelong.forget import export, import_user
from lifelong.storage import sqlite

what, home, folder, place, when = sys.argv[1:]
owner = {"export": export, "import": import_user}[what]
owner, name = {
    "rename": (Path, "rename"), "replace": (Path, "replace"), "_commit": (sqlite.SQLite, "_commit"),
}.get(place, (owner, place))
real = getattr(owner, name)

def killed(*words, **given):
    if when == "after":
        real(*words, **given)
    os.kill(os.getpid(), signal.SIGKILL)

with Store.open(home, continuity={"journal_enabled": True}) as store:
    setattr(owner, name, killed)
    if what == "export":
        store.user("mara").export(folder)
    else:
        store.import_user(folder)
"""


def files_of(found: dict[str, Any]) -> dict[str, tuple[bytes, int]]:
    """The files without the numbers of records, which others may have."""
    return {path: (re.sub(rb"turn-\w+-\d+", b"turn", data), at) for path, (data, at) in found["files"].items()}


def kill(*words: object) -> None:
    killed = subprocess.run([sys.executable, "-c", KILLED, *map(str, words)], check=False, timeout=120)
    assert killed.returncode == -signal.SIGKILL


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize(
    ("place", "when"),
    [("rows", "before"), ("copy_user_files", "after"), ("sync_folders", "before"), ("rename", "before")],
)
def test_a_killed_export_leaves_no_half_export(
    open_home: OpenHome, exported: Path, tmp_path: Path, place: str, when: str
) -> None:
    """S10: the folder has its name only when it is whole; the next export removes what was left."""
    kill("export", tmp_path / "old", tmp_path / "second", place, when)
    assert not (tmp_path / "second").exists()
    assert [*tmp_path.glob(".second.part-*")]
    with open_home("old") as store:
        store.user("mara").export(tmp_path / "second")
    assert not [*tmp_path.glob(".second.part-*")]
    with open_home("new") as store:
        store.import_user(tmp_path / "second")


@pytest.mark.skipif(os.name == "nt", reason="there are no such signals")
@pytest.mark.parametrize(
    ("place", "when", "done"),
    [
        ("copy_file", "after", False),
        ("respect_tombstones", "before", False),
        ("_finish", "before", False),
        ("replace", "before", True),
        ("replace", "after", True),
    ],
)
def test_a_killed_import_is_whole_or_nothing(
    open_home: OpenHome, exported: Path, tmp_path: Path, place: str, when: str, done: bool
) -> None:
    """S10, C10: at each of its steps; what was committed is finished by whoever opens the home next."""
    with open_home("new") as store:
        store.user("other").add("I was here before.")
    kill("import", tmp_path / "new", exported, place, when)
    with open_home("old") as store:
        before = state(store.user("mara"))
    with open_home("new") as store:
        assert not [*store.home.path.glob("users/.*.import")]
        assert ("mara" in store.users()) is done
        if not done:
            assert not (store.home.path / "users" / "mara").exists()
            store.import_user(exported)
        store.organize()
        after = state(store.user("mara"))
        assert files_of(after) == files_of(before)
        assert store.user("mara").search("vegetarian")
        assert store.user("mara").search("Mara", kinds=["journal"])
        with pytest.raises(InputError, match="holds something already"):
            store.import_user(exported)


# The command line


def test_the_commands_export_and_import(exported: Path, tmp_path: Path, line: Line) -> None:
    """S10: with the next step, and as JSON for programs."""
    home = tmp_path / "old"
    done = line.done("export", tmp_path / "out", "--home", home, "--user", "mara", "--json").json
    assert done["counts"]["records"] >= len(WEEKS[0])
    assert "exists already" in line("export", tmp_path / "out", "--home", home, "--user", "mara").err
    line.done("init", "--home", tmp_path / "cli")
    imported = line.done("import", tmp_path / "out", "--home", tmp_path / "cli").out
    assert "The user mara is imported: " in imported
    held = line.done("stats", "--home", tmp_path / "cli", "--user", "mara", "--json").json
    assert f"{held['items']['record']:,} records, {held['documents']} documents" in imported, (
        "without those of agents"
    )
    told = line.done("import", tmp_path / "out", "--home", tmp_path / "cli", "--user", "twin", "--json").json
    assert (told["user"], told["renumbered"], told["unindexed"]) == ("twin", True, 0)
    assert line.done("search", "vegetarian", "--home", tmp_path / "cli", "--user", "twin", "--json").json
    refused = line("import", tmp_path, "--home", tmp_path / "cli")
    assert refused.code == 2
    assert "is of no kind that can be imported" in refused.err


def test_an_import_that_finds_no_room_is_whole_or_not_there(small_disk: Path, tmp_path: Path) -> None:
    """S10: an error says that nothing was imported, and then nothing was."""
    with Memory.open(tmp_path, "mara", continuity=CONTINUITY) as mara:
        for week in WEEKS:
            mara.add([*week])
            mara.end_session()
        mara.organize()
        mara.export(tmp_path / "export")
        size = len(mara.list(limit=1000))
    subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
    outcomes = set[bool]()
    for room in range(208, 400, 24):
        home = small_disk / "home"
        shutil.rmtree(home, ignore_errors=True)
        with Store.open(home, continuity=CONTINUITY) as store:
            store.user().add("Somebody was here before.")
            free = shutil.disk_usage(small_disk).free
            (small_disk / "filling").write_bytes(b"x" * (free - room * 1024))
            error = ""
            try:
                store.import_user(tmp_path / "export")
            except LifelongError as raised:
                error = str(raised)
            assert not error or re.search("Nothing was (stored|imported)", error)
            assert ("mara" in store.users()) is not bool(error)
            outcomes.add(bool(error))
            (small_disk / "filling").unlink()
            store.organize()
            if "mara" in store.users():
                assert store.user("mara").admin.verify() == []
                assert len(store.user("mara").list(limit=1000)) == size
    assert outcomes == {True, False}
