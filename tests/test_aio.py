"""AsyncMemory: exactly the calls of Memory, awaited."""

from __future__ import annotations

import asyncio
import inspect
from operator import attrgetter
from pathlib import Path
from typing import Any

import apsw
import pytest

from lifelong import AsyncMemory, Memory, User, UserMessage
from lifelong.aio import (
    MAX_THREADS,
    AsyncAdmin,
    AsyncAgents,
    AsyncDocuments,
    AsyncExperiences,
    AsyncInbox,
    AsyncJournal,
    AsyncNotes,
    AsyncNotesDirectory,
    AsyncRelations,
    AsyncReviews,
    AsyncSessions,
    awaited,
)
from lifelong.errors import AgentNotFound, ForeignDatabase, InputError, MemoryClosed
from lifelong.journal.notes import Notes
from lifelong.journal.service import JournalService
from lifelong.namespaces import Admin, AgentDirectory, InboxView, NotesDirectory, SessionDirectory
from lifelong.organize.documents import DocumentStore
from lifelong.recall.experiences import Experiences
from lifelong.recall.relations import RelationFinder
from lifelong.reviews import Reviews
from lifelong.testing import FakeClock
from tests.test_memory import CALLS, NAMESPACES

ALICE = User("cli", "alice", "main")
PARTS = {"notes.worker"}  # a call that only hands out an object
FACES: dict[type, type] = {
    Memory: AsyncMemory,
    DocumentStore: AsyncDocuments,
    Notes: AsyncNotes,
    AgentDirectory: AsyncAgents,
    SessionDirectory: AsyncSessions,
    InboxView: AsyncInbox,
    NotesDirectory: AsyncNotesDirectory,
    Admin: AsyncAdmin,
    RelationFinder: AsyncRelations,
}
NO_CALLS = {"closed", "folder"}  # properties that are read without waiting


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


@pytest.mark.parametrize("behind", FACES, ids=lambda kind: kind.__name__)
def test_it_has_exactly_the_calls_of_what_is_behind(behind: type) -> None:
    added = set(NAMESPACES) if behind is Memory else set()  # attributes there, properties here
    hidden = {"close"} if behind is NotesDirectory else set()
    assert public(FACES[behind]) == (public(behind) - NO_CALLS - hidden) | added


@pytest.mark.parametrize(
    ("behind", "face"),
    [*FACES.items(), (JournalService, AsyncJournal), (Experiences, AsyncExperiences), (Reviews, AsyncReviews)],
)
def test_each_call_is_the_one_of_the_same_name(behind: type, face: type) -> None:
    calls = {name: call for name, call in vars(face).items() if isinstance(call, awaited)}
    assert calls
    for name, call in calls.items():
        assert call._call is getattr(behind, name)
        assert call.__doc__ == getattr(behind, name).__doc__


def test_the_journal_has_every_call_that_is_not_for_the_wiring() -> None:
    wiring = {
        "check_enabled",
        "close",
        "enabled",
        "end_session",
        "every_file",
        "files",
        "keep_up",
        "make_record",
        "recent_records",
        "status_notes",
        "touched",
        "write_all",
    }
    assert public(AsyncJournal) == public(JournalService) - wiring


def test_experiences_are_awaited_too(tmp_path: Path) -> None:
    """R7, R8."""

    async def main() -> tuple[str, str]:
        async with await AsyncMemory.open(tmp_path, continuity={"experience_store_enabled": True}) as memory:
            await memory.experiences.add("Ada prefers green tea in the afternoon.")
            (found,) = await memory.experiences.query("Who drinks tea?")
            assert await memory.experiences.list() != []
            return found.text, await memory.context("Who drinks tea?", agent=await memory.agent(ALICE))

    text, context = asyncio.run(main())
    assert text in context


def test_documents_are_awaited_too(tmp_path: Path) -> None:
    async def main() -> str:
        async with await AsyncMemory.open(tmp_path) as memory:
            await memory.documents.write(slug="plans", title="Plans", description="", body="Sail.")
            return (await memory.documents.read("~/plans")).body

    assert asyncio.run(main()) == "Sail."


def test_the_journal_and_notes_are_awaited_too(tmp_path: Path) -> None:
    """O23, O31."""

    async def main() -> tuple[str, str]:
        async with await AsyncMemory.open(tmp_path, continuity={"journal_enabled": True}) as memory:
            await memory.journal.remember("Sail in May.")
            await memory.notes.worker("researcher").store("sea", "Rough in March.")
            return await memory.journal.context(), await memory.notes.worker("researcher").load()

    context, notes = asyncio.run(main())
    assert "Sail in May." in context
    assert notes == "Rough in March."


def test_open_takes_what_memory_takes() -> None:
    assert inspect.signature(AsyncMemory.open).parameters == inspect.signature(Memory.open).parameters
    assert inspect.iscoroutinefunction(AsyncMemory.open)


def test_fifty_appends_at_once_all_land(tmp_path: Path, storage: dict[str, Any]) -> None:
    """C7."""

    async def main() -> tuple[list[int], list[int]]:
        async with await AsyncMemory.open(tmp_path, storage=storage) as memory:
            alice = await memory.agent(ALICE)
            ids = await asyncio.gather(*(memory.append(alice, UserMessage(f"{n}")) for n in range(50)))
            (session,) = await memory.sessions.list(alice)
            return list(ids), [recorded.id for recorded in await memory.sessions.history(session)]

    ids, stored = asyncio.run(main())
    assert len(set(ids)) == 50
    assert stored == sorted(ids)


def test_every_call_works_and_gives_what_memory_gives(tmp_path: Path) -> None:
    clock = FakeClock()

    async def main() -> None:
        memory = await AsyncMemory.open(tmp_path / "home", "work", clock=clock, collect={"turn_threshold": 1})
        alice = await memory.agent(ALICE)
        assert await memory.agents.list() == [alice]
        assert await memory.agents.find("most-recent-foreground") == alice
        assert await memory.agents.get(alice.id) == alice
        first = await memory.append(alice, UserMessage("one"), key="k")
        assert await memory.append(alice, UserMessage("one"), key="k") == first
        assert len(await memory.append_many(alice, [UserMessage("two"), UserMessage("three")])) == 2
        turn = await memory.end_turn(alice)
        assert turn is not None
        assert turn.until == first + 2
        (session,) = await memory.sessions.list(alice)
        assert session.invalidated_at == first + 2
        assert await memory.sessions.get(session.id) == session
        assert len(await memory.sessions.history(session, after=first)) == 2
        assert "three" in await memory.sessions.transcript(alice)
        await memory.sessions.reset(alice, "Start over.")
        await memory.sessions.compact_context(alice, "They counted.")
        await memory.end_session(alice)
        assert (await memory.agents.get(alice.id)).state == "sleeping"
        assert (await memory.agents.advance(clock.turn(hours=2))).slept == ()
        assert await memory.admin.check() == []
        await memory.admin.backup(tmp_path / "copy.db")
        await memory.start()
        await memory.close()

    asyncio.run(main())
    assert (tmp_path / "copy.db").is_file()


def test_a_call_is_a_real_coroutine(tmp_path: Path) -> None:
    """What an event loop offers takes it: tasks, groups of tasks, a limit of time."""

    async def main() -> None:
        async with await AsyncMemory.open(tmp_path) as memory:
            assert all(inspect.iscoroutinefunction(attrgetter(name)(memory)) for name in CALLS.keys() - PARTS)
            task = asyncio.create_task(memory.agent(ALICE), name="resolve")
            assert task.get_name() == "resolve"
            alice = await task
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(memory.append(alice, UserMessage(f"{n}"))) for n in range(8)]
            ids = sorted(task.result() for task in tasks)
            assert [recorded.id for recorded in await memory.sessions.history(alice)] == ids
            assert await asyncio.wait_for(memory.agents.list(), 5) == [alice]
            unawaited = memory.append(alice, UserMessage("never"))
            assert inspect.iscoroutine(unawaited)
            unawaited.close()
            assert len(await memory.sessions.history(alice)) == 8, "nothing happens before it is awaited"

    asyncio.run(main())


def test_an_error_in_a_group_of_tasks_comes_through(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncMemory.open(tmp_path) as memory:
            with pytest.raises(ExceptionGroup) as caught:
                async with asyncio.TaskGroup() as group:
                    group.create_task(memory.append("nobody", UserMessage("x")))
            [error] = caught.value.exceptions
            assert isinstance(error, AgentNotFound)

    asyncio.run(main())


def test_errors_come_through(tmp_path: Path) -> None:
    async def main() -> None:
        async with await AsyncMemory.open(tmp_path) as memory:
            with pytest.raises(AgentNotFound, match="nobody"):
                await memory.append("nobody", UserMessage("x"))
            alice = await memory.agent(ALICE)
            with pytest.raises(InputError, match="NUL"):
                await memory.append(alice, UserMessage("a\0b"))
            outcomes = await asyncio.gather(
                memory.append(alice, UserMessage("good")),
                memory.append("nobody", UserMessage("bad")),
                return_exceptions=True,
            )
            assert [type(outcome) for outcome in outcomes] == [int, AgentNotFound]

    asyncio.run(main())


def test_an_error_of_open_comes_through(tmp_path: Path) -> None:
    (tmp_path / "lifelong.db").write_text("no database " * 100)
    with pytest.raises(ForeignDatabase):
        asyncio.run(AsyncMemory.open(tmp_path))


def test_leaving_the_async_with_closes_it(tmp_path: Path) -> None:
    async def main() -> AsyncMemory:
        with pytest.raises(KeyError, match="mine"):
            async with await AsyncMemory.open(tmp_path) as memory:
                raise KeyError("mine")
        return memory

    memory = asyncio.run(main())
    with pytest.raises(MemoryClosed):
        memory._memory.agents.list()


def test_a_closed_memory_says_so_on_every_call(tmp_path: Path, subtests: pytest.Subtests) -> None:
    async def main() -> None:
        memory = await AsyncMemory.open(tmp_path)
        await memory.close()
        await memory.close()
        assert memory._memory.closed
        for name in sorted(CALLS.keys() - PARTS):
            with subtests.test(name):
                with pytest.raises(MemoryClosed, match=r"Memory\.open"):
                    await attrgetter(name)(memory)(*CALLS[name])
                with pytest.raises(MemoryClosed, match=r"Memory\.open"):
                    await asyncio.create_task(attrgetter(name)(memory)(*CALLS[name]))

    asyncio.run(main())


def test_close_waits_for_what_was_asked_before_it(tmp_path: Path) -> None:
    """C10: a call that was under way is stored or says that it was not."""

    async def main() -> tuple[list[object], list[int]]:
        memory = await AsyncMemory.open(tmp_path)
        alice = await memory.agent(ALICE)
        calls = [asyncio.ensure_future(memory.append(alice, UserMessage(f"{n}"))) for n in range(MAX_THREADS * 3)]
        await asyncio.sleep(0)
        await memory.close()
        outcomes = await asyncio.gather(*calls, return_exceptions=True)
        async with await AsyncMemory.open(tmp_path) as again:
            sessions = await again.sessions.list(alice)
            return list(outcomes), [r.id for s in sessions for r in await again.sessions.history(s)]

    outcomes, stored = asyncio.run(main())
    acknowledged = [outcome for outcome in outcomes if isinstance(outcome, int)]
    assert sorted(acknowledged) == stored
    assert {type(outcome) for outcome in outcomes} <= {int, MemoryClosed}


def test_the_loop_goes_on_while_a_call_waits(tmp_path: Path) -> None:
    """S2: a call that waits for another process's writer does not hold the loop."""

    async def main() -> int:
        async with await AsyncMemory.open(tmp_path) as memory:
            alice = await memory.agent(ALICE)
            other = apsw.Connection(str(tmp_path / "lifelong.db"))
            other.execute("BEGIN IMMEDIATE")
            waiting = asyncio.ensure_future(memory.append(alice, UserMessage("x")))
            turns = 0
            while turns < 20:
                await asyncio.sleep(0.001)
                turns += 1
            assert not waiting.done()
            other.execute("ROLLBACK")
            other.close()
            return await waiting

    assert asyncio.run(main()) == 1
