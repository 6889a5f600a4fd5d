"""A memory worth a look, and an application that serves its page as a server does: behind the same policy, with
events beside it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from recollect import Cron, Memory, Note, ToolCall, ToolResult, User, UserMessage
from recollect.errors import ModelError
from recollect.organize.brain import Transcript
from recollect.organize.draft import Draft
from recollect.serve.memories import Memories
from recollect.serve.page import routes
from recollect.serve.plain import plain
from recollect.testing import FakeClock, ScriptedBrain
from recollect.types import Record

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
ON = {"journal_enabled": True, "experience_store_enabled": True, "memory_compaction_max_records": 3}

HOSTILE = (
    "</title></textarea></script><script>ran()</script>\"'><img src=x onerror=ran()><svg onload=ran()>"
    "[a](javascript:ran()) [b](<data:text/html,<script>ran()</script>>) {{ 7*7 }} ![i](http://evil.example/x.png)"
    f" {'W' * 90}"
)

Wording = Callable[[str], str]


def hostile(text: str) -> str:
    return f"{text} {HOSTILE}"


class PageApp:
    """The page behind its policy."""

    def __init__(self, memories: Memories) -> None:
        self._memories = memories
        self._app = Starlette(routes=[Route("/api/v1/events", self._events), *routes(memories)])

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"].append((b"content-security-policy", POLICY.encode()))
            await send(message)

        await self._app(scope, receive, guarded)

    async def _events(self, request: Request) -> Response:
        memory = self._memories.get(request.query_params.get("profile", "default"))

        async def stream() -> AsyncIterator[str]:
            last = ""
            while not await request.is_disconnected():
                overview = {"health": memory.health(), "totals": memory.totals(), "unindexed": memory.unindexed()}
                if (now := json.dumps(plain(overview))) != last:
                    last = now
                    yield f"event: overview\ndata: {now}\n\n"
                await asyncio.sleep(0.05)

        return StreamingResponse(stream(), media_type="text/event-stream")


@contextmanager
def served(app: PageApp) -> Iterator[str]:
    """The app on a port of its own on loopback; its address."""
    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error", timeout_graceful_shutdown=1, ws="none"))
    thread = threading.Thread(target=server.run)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
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

    brain = ScriptedBrain(learn, ModelError(worded("The model was overloaded.")))
    with Memory.open(home, clock=clock, brain=brain, worker={"max_attempts": 1}, continuity=ON) as memory:
        mara = memory.agent(User(worded("slack")[:200], worded("mara")[:200], worded("general")[:200]))
        nightly = memory.agent(Cron(worded("nightly")[:200], worded("Nightly backup")))
        records: list[Record] = [
            UserMessage(worded("I live in Malmö."), worded("Mara")),
            ToolCall(worded("web_search"), {worded("q"): worded("hotel Lisbon")}, "c1"),
            UserMessage(worded("I moved to Lisbon."), worded("Mara")),
            Note(worded("She moved.")),
            ToolResult(worded("Casa do Fado costs 84 EUR a night."), worded("web_search"), "c1", provenance="web"),
            UserMessage("My key is sk-ant-abcdefghij0123456789, keep it safe.", worded("Mara")),
        ]
        for record in records:
            memory.append(mara, record)
        memory.end_turn(mara)
        memory.reset(mara, worded("A new day"))
        memory.process()
        memory.append(nightly, Note(worded("The backup failed: the quota is used up.")))
        memory.sleep(nightly)
        memory.process()
        _write_down(memory, clock, worded)
        memory.process()


def _write_down(memory: Memory, clock: FakeClock, worded: Wording) -> None:
    """Into the journal, experiences, notes, and a document by hand."""
    for number in range(5):
        memory.journal.remember(worded(f"Decided on day {number} about the bigger font."), "note")
    clock.now += timedelta(days=9)
    memory.compact_journal(force=True)
    memory.journal.remember(
        worded("Release Kestrel weekly."), "decision", session_id=worded("s"), source_channel=worded("tool")
    )
    memory.journal.remember("The door code is 4711.", "note", "secret")
    for other in ("Kestrel", "Anders Holm"):
        text = worded(f"Mara Lindqvist and {other} met in Lisbon about the budget.")
        memory.experiences.add(text, worded("learned")[:190], entities=[worded("Mara Lindqvist"), other])
    memory.notes("importer").store("vendors", worded("Vendor 8841 is Nordwind."))
    document = memory.documents.find("~/memory/kestrel")
    assert document
    author, note = worded("mara"), worded("By hand")
    memory.documents.edit(document.id, document.version, append=worded("It flies."), author=author, note=note)
