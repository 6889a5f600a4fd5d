"""A memory worth a look, and the server that shows it."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

from lifelong import Cron, Memory, Note, ToolCall, ToolResult, User, UserMessage
from lifelong.errors import ModelError
from lifelong.memory import Store
from lifelong.organize.draft import Draft
from lifelong.organize.organizer import Transcript
from lifelong.serve.http.app import create_app
from lifelong.serve.server import Server
from lifelong.testing import FakeClock, ScriptedOrganizer
from lifelong.types import Record

ON = {"journal_enabled": True, "experience_store_enabled": True, "memory_compaction_max_records": 3}

HOSTILE = (
    "</title></textarea></script><script>ran()</script>\"'><img src=x onerror=ran()><svg onload=ran()>"
    "[a](javascript:ran()) [b](<data:text/html,<script>ran()</script>>) {{ 7*7 }} ![i](http://evil.example/x.png)"
    f" {'W' * 90}"
)

Wording = Callable[[str], str]


def hostile(text: str) -> str:
    return f"{text} {HOSTILE}"


@contextmanager
def served(store: Store, token: str = "") -> Iterator[str]:
    """The product's own server in a thread, on a port of its own on loopback; its address."""
    ready = threading.Event()
    server = Server(create_app(store, token=token), ready.set)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        assert ready.wait(30)
        try:
            yield f"http://127.0.0.1:{listener.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(20)


def fill(home: Path, clock: FakeClock, worded: Wording = str) -> None:
    """Let two agents talk, organize it, and leave a failure in the inbox. `worded` has the last word on every text
    that is stored."""
    title = worded("Mara Lindqvist")

    def learn(transcript: Transcript, draft: Draft) -> None:
        said = [one.id for one in transcript.records]
        unbracketed = worded("nowhere").replace("[", "").replace("]", "")
        body = (
            f"lives in Malmö & {worded('likes it')}. [r{said[0]}, until 2026-02-24 by r{said[2]}]\n\n"
            f"lives in Lisbon. [r{said[2]}]\n\nCasa do Fado costs 84 EUR. [r{said[4]}, from web]\n\n"
            f"Works on [[kestrel|the Kestrel]] and [[{unbracketed}]]. [r{said[0]}]"
        )
        draft.write(
            slug="kestrel", title="Kestrel", description="", body=f"A robot. [r{said[0]}]", parent_path="~/memory"
        )
        slug = worded("mara").replace("/", "")[:60]
        draft.write(
            slug=slug, title=title[:300], description=worded("A person"), body=body, parent_path="~/memory"
        )

    organizer = ScriptedOrganizer(learn, ModelError(worded("The model was overloaded.")))
    with Memory.open(home, clock=clock, organizer=organizer, worker={"max_attempts": 1}, continuity=ON) as memory:
        mara = memory.agent(User(worded("slack")[:200], worded("mara")[:200], worded("general")[:200]))
        nightly = memory.agent(Cron(worded("nightly")[:200], worded("Nightly backup")))
        records: list[Record] = [
            UserMessage(worded("I live in Malmö."), worded("Mara")[:200]),
            ToolCall(worded("web_search"), {worded("q"): worded("hotel Lisbon")}, "c1"),
            UserMessage(worded("I moved to Lisbon."), worded("Mara")[:200]),
            Note(worded("She moved.")),
            ToolResult(worded("Casa do Fado costs 84 EUR a night."), worded("web_search"), "c1", provenance="web"),
            UserMessage("My key is sk-ant-abcdefghij0123456789, keep it safe.", worded("Mara")[:200]),
        ]
        for record in records:
            memory.append(mara, record)
        memory.end_turn(mara)
        memory.sessions.reset(mara, worded("A new day"))
        memory.organize()
        memory.append(nightly, Note(worded("The backup failed: the quota is used up.")))
        memory.end_session(nightly)
        memory.organize()
        _write_down(memory, clock, worded)
        memory.organize()


def _write_down(memory: Memory, clock: FakeClock, worded: Wording) -> None:
    """Into the journal, experiences, notes, and a document by hand."""
    for number in range(5):
        memory.journal.remember(worded(f"Decided on day {number} about the bigger font."), "note")
    clock.now += timedelta(days=9)
    memory.journal.compact(force=True)
    memory.journal.remember(
        worded("Release Kestrel weekly."), "decision", session_id=worded("s"), source_channel=worded("tool")
    )
    memory.journal.remember("The door code is 4711.", "note", "secret")
    for other in ("Kestrel", "Anders Holm"):
        text = worded(f"Mara Lindqvist and {other} met in Lisbon about the budget.")
        memory.experiences.add(text, worded("learned")[:190], entities=[worded("Mara Lindqvist"), other])
    memory.notes.worker("importer").store("vendors", worded("Vendor 8841 is Nordwind."))
    document = memory.documents.find("~/memory/kestrel")
    assert document
    tools = {one.name: one.call for one in memory.tools(worded("cursor")[:200])}
    tools["remember_this"](text=worded("Always reply in French."), category="user-preference")
    tools["document_edit"](
        document_id=document.id, expected_version=document.version, append=worded("Never paint the Kestrel.")
    )
    author, note = worded("mara"), worded("By hand")
    memory.documents.edit(document.id, document.version, append=worded("It flies."), author=author, note=note)
