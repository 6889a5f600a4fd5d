"""What is done for an event: what it says is stored, or queued where it cannot be; and the host gets context."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from lifelong.collect.descriptors import Descriptor, Subagent
from lifelong.errors import LifelongError, StorageBusy
from lifelong.home import Home, existing_home
from lifelong.memory import Memory, Store
from lifelong.serve.caller_identity import caller
from lifelong.serve.hook.events import Event, parse_event
from lifelong.serve.hook.queue import HookQueue, StoreRequest, is_lasting
from lifelong.settings import Settings
from lifelong.types import Agent, Record, utc_now

log = logging.getLogger("lifelong.serve")

MAX_TOKENS = 3_000  # of a context: at most 9,000 characters, since Claude Code cuts what is longer than 10,000
MAX_PROMPT_CHARS = 2_000  # of a prompt that are searched for
MAX_WAIT_SECONDS = 2.0  # for the database
MAX_TOMBSTONES = 1_000  # in which that of the user or an agent is looked for
MIN_WORDS = 3  # of a prompt that is searched for: "go on" asks for nothing

OpenMemory = Callable[[], AbstractContextManager[Memory]]


def answer_alone(
    data: bytes, home: str | Path, user: str, environment: Mapping[str, str], *, tools: bool = False
) -> str:
    """Handle an event in this process, and return what the host is to read; empty where there is nothing."""
    event = parse_event(data, environment, tools=tools)

    @contextmanager
    def opened() -> Iterator[Memory]:
        place = existing_home(home)
        with Memory.open(place.path, user, storage=_timeouts(place)) as memory:
            yield memory

    return _answer(event, user, Home(home), opened)


def answer_in(store: Store, data: bytes, user: str, environment: Mapping[str, str], *, tools: bool = False) -> str:
    """Handle an event in a process that has the home open."""
    event = parse_event(data, environment, tools=tools)

    @contextmanager
    def opened() -> Iterator[Memory]:
        yield store.user(user)

    return _answer(event, user, store.home, opened)


def store_queued(store: Store) -> int:
    """Store what waits in the queue of a home, and return how many events it was."""
    return HookQueue(store.home.path).drain(lambda request: _store(store.user(request.user), request))


def _answer(event: Event, user: str, home: Home, opened: OpenMemory) -> str:
    if event.moment == "other":
        return ""
    request = StoreRequest(user, event.host, event.channel, event.records, _follows(event), tuple(event.subagent))
    stored = False
    context = problem = ""
    try:
        with opened() as memory:
            with suppress(StorageBusy):  # another process stores what waits
                store_queued(memory.store)
            agent = _store(memory, request)
            stored = True
            context = _context(memory, agent, event)
    except LifelongError as error:
        problem = f"lifelong: {error}"
        if not stored:
            problem += _queued(home, request, error)
    except OSError as error:
        problem = f"lifelong: {error.strerror or error}"
        if not stored:
            problem += _queued(home, request, error)
    return _output(event, context, problem)


def _follows(event: Event) -> str:
    """Return what is done after the records are stored. Gemini CLI tells of every compression that it considers,
    so only one that a person asked for counts."""
    if event.moment == "compaction" and (event.host != "gemini-cli" or event.source == "manual"):
        return "reset"
    return {"reply": "end_turn", "end": "end_session"}.get(event.moment, "")


def _store(memory: Memory, request: StoreRequest) -> Agent:
    """Store a request, once, and return the agent of the host's session."""
    agent = memory.agent(caller(request.connector, request.user, request.channel))
    speaker = agent
    if request.subagent:
        helper: Descriptor = Subagent(request.subagent[0], agent.id, request.subagent[1])
        speaker = memory.agent(helper)
    if records := _after_forgetting(memory, request.records):
        memory.append_many(speaker, [one for _, one in records], keys=[key for key, _ in records])
    match request.then:
        case "end_turn":
            memory.end_turn(agent)
        case "reset" if memory.sessions.size(agent):
            memory.sessions.reset(agent, "The host compacted its context.")
        case "end_session":
            memory.end_session(agent)
        case _:
            pass
    return agent


def _after_forgetting(memory: Memory, records: Sequence[tuple[str, Record]]) -> list[tuple[str, Record]]:
    """Return the records that are not from before the user or an agent was forgotten: a host sends the last turns
    again, and the keys by which they were known are gone."""
    if all(one.at is None for _, one in records):
        return list(records)
    forgotten = (one.at for one in memory.admin.forgotten(MAX_TOMBSTONES) if one.kind in ("agent", "user"))
    since = next(forgotten, None)
    return [one for one in records if not (since and one[1].at and one[1].at <= since)]


def _context(memory: Memory, agent: Agent, event: Event) -> str:
    """Return what the host does not have and should: at the start of a session what stands and what was talked of
    last; before a prompt, or where a session is resumed, only what is relevant."""
    if event.moment == "start":
        resumed = event.source == "resume" and bool(memory.sessions.list(agent))  # also where it was compacted
        return memory.context(agent=agent, tokens=MAX_TOKENS, relevant_only=resumed)
    if event.moment == "prompt" and len(event.prompt.split()) >= MIN_WORDS:
        asked = event.prompt[:MAX_PROMPT_CHARS]
        return memory.context(asked, agent=agent, tokens=MAX_TOKENS, relevant_only=True)
    return ""


def _queued(home: Home, request: StoreRequest, error: Exception) -> str:
    """Queue what could not be stored, and return what to tell the user about it."""
    if is_lasting(error) or not (request.records or request.then):
        return ""
    queue = HookQueue(home.path)
    stop = "" if str(error).endswith((".", "?", "!")) else "."  # some end in a command, to be copied
    try:
        queue.put(request, utc_now())
    except (LifelongError, OSError) as refusal:
        return f"{stop} What was said is not stored, and could not be kept in {queue.path}: {refusal}"
    return f"{stop} What was said waits in {queue.path} and is stored once the home can be used."


def _output(event: Event, context: str, problem: str) -> str:
    answer: dict[str, object] = {"systemMessage": problem[:1_000]} if problem else {}
    if context:
        answer["hookSpecificOutput"] = {"hookEventName": event.name, "additionalContext": context}
    return f"{json.dumps(answer)}\n" if answer else ""


def _timeouts(place: Home) -> dict[str, float]:
    """Return timeouts that do not keep the host waiting: what was not stored is queued."""
    storage = Settings.load(place.settings).storage
    waits = {"busy_timeout": storage.busy_timeout, "connect_timeout": storage.connect_timeout}
    return {name: min(seconds, MAX_WAIT_SECONDS) for name, seconds in waits.items()}
