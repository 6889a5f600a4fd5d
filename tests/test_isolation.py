"""Nothing of one user is in another's answers: every GET of the API, every view of the page, every tool and
resource of MCP (SPEC C0, K3, R3)."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from html import unescape
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from mcp import Client, MCPError
from starlette.testclient import TestClient

from lifelong import AssistantMessage, Memory, ToolCall, ToolResult, User
from lifelong.memory import Store
from lifelong.organize.draft import Draft
from lifelong.organize.organizer import Transcript
from lifelong.serve.http.app import create_app
from lifelong.serve.mcp import make_server
from lifelong.testing import FakeClock, ScriptedOrganizer
from tests.http_api import Api
from tests.test_page import VIEWS

ON = {"journal_enabled": True, "experience_store_enabled": True, "memory_compaction_max_records": 3}
USERS = ("ada", "otto")
PLACES = "record speaker tool document title journal old experience entity note session correction query".split()

LINK = re.compile(r'href="([^"]+)"')


def word(user: str, place: str) -> str:
    """A word that only this user has, and only there."""
    return f"{user}{place}zq"


def words_of(user: str) -> list[str]:
    return [word(user, place) for place in PLACES]


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    clock = FakeClock()
    organizer = ScriptedOrganizer(*[_learn(user) for user in USERS])
    with Store.open(tmp_path_factory.mktemp("home"), clock=clock, organizer=organizer, continuity=ON) as opened:
        for user in USERS:
            _fill(opened.user(user), clock, user)
        yield opened


def _learn(user: str) -> Callable[[Transcript, Draft], None]:
    def learn(transcript: Transcript, draft: Draft) -> None:
        body = f"likes {word(user, 'document')}. [r{transcript.records[0].id}]"
        draft.write(
            slug=user, title=f"About {word(user, 'title')}", description="", body=body, parent_path="~/memory"
        )

    return learn


def _fill(memory: Memory, clock: FakeClock, user: str) -> None:
    """Put a word of the user's own into everything that can hold one. Both use the same worker and channel."""
    agent = memory.agent(User("slack", "person", "general"))
    memory.add(f"I said {word(user, 'record')}.", agent=agent, speaker=word(user, "speaker"))
    memory.append(agent, ToolCall("look", {"q": word(user, "tool")}, "c1"))
    memory.append(agent, ToolResult(f"It found {word(user, 'tool')}.", "look", "c1"))
    memory.end_turn(agent)
    memory.sessions.reset(agent, f"Over: {word(user, 'session')}")
    memory.organize()
    for number in range(4):
        memory.journal.remember(f"Day {number}: {word(user, 'old')}.", "note")
    clock.now += timedelta(days=9)
    memory.journal.compact(force=True)
    memory.journal.remember(f"Decided {word(user, 'journal')}.", "decision")
    memory.experiences.add(
        f"Learned {word(user, 'experience')}.", "learned", entities=[word(user, "entity"), "Shared"]
    )
    memory.notes.worker("importer").store("vendors", f"Noted {word(user, 'note')}.")
    memory.organize()
    hit = memory.search(f"Is {word(user, 'record')} like {word(user, 'query')}?", kinds=["record"])[0]
    memory.pin(hit.id)
    memory.correct(hit.id, f"It is {word(user, 'correction')}.")
    memory.organize()


@pytest.fixture(scope="module")
def client(store: Store) -> Iterator[TestClient]:
    with TestClient(create_app(store), base_url="http://localhost") as opened:
        yield opened


def foreign_words(text: str, user: str) -> list[str]:
    """The words of every other user in an answer."""
    return [one for other in USERS if other != user for one in words_of(other) if one in text]


def values(api: Api, user: str) -> dict[str, list[Any]]:
    """What the user's own things are called, by the name of the parameter that takes it."""
    history = [
        one
        for agent in api("list_agents", user=user)
        for one in api("get_history", session_id=agent["id"], user=user)
    ]
    sessions = api("list_sessions", user=user)
    records = [one for session in sessions for one in api("get_history", session_id=session["id"], user=user)]
    return {
        "agent_id": [one["id"] for one in api("list_agents", user=user)],
        "session_id": [one["id"] for one in sessions],
        "record": sorted({f"r{one['id']}" for one in (*history, *records)}),
        "document_id": [one["id"] for one in api("list_documents", user=user)],
        "changeset_id": [one["id"] for one in api("list_changesets", user=user)],
        "recall_id": [one["id"] for one in api("list_recalls", user=user)],
        "day": sorted({one["timestamp"][:10] for one in api("list_journal", user=user)}),
        "worker": api("list_workers", user=user),
        "path": ["~/memory", f"~/memory/{user}"],
        "entity": ["Shared", word(user, "entity")],
        "review": [one["id"] for one in api("list_reviews", user=user)],
        "old": [1],
        "new": [1],
    }


def addresses(api: Api, given: Mapping[str, list[Any]]) -> Iterator[tuple[str, str]]:
    """Every GET of the API, once for each value of its required parameters; with the operation's name."""
    for path, methods in api.document["paths"].items():
        operation = methods.get("get")
        if not operation or operation["operationId"] == "watch_events":  # it does not end
            continue
        required = [one["name"] for one in operation.get("parameters", ()) if one["required"]]
        rows: list[dict[str, Any]] = [{}]
        for name in required:
            rows = [{**row, name: value} for row in rows for value in given[name]]
        for row in rows:
            query = {name: value for name, value in row.items() if f"{{{name}}}" not in path}
            yield operation["operationId"], f"{path.format(**row)}?{urlencode(query)}"


@pytest.mark.parametrize("user", USERS)
def test_the_api_answers_a_user_with_its_own_words_only(client: TestClient, user: str) -> None:
    """C0, K3, R3: every GET, of a user's own things and of the other's; and a search for the other's words."""
    api = Api(client)
    own = values(api, user)
    found = ""
    for _, address in addresses(api, own):
        answer = client.get(f"{address}&user={user}")
        assert answer.status_code == 200, (address, answer.text)
        assert foreign_words(answer.text, user) == [], address
        found += answer.text
    assert [one for one in words_of(user) if one not in found] == []
    other = next(one for one in USERS if one != user)
    for operation, address in addresses(api, values(api, other)):
        answer = client.get(f"{address}&user={user}")
        if operation != "get_relations":  # it repeats the name that it was asked about
            assert foreign_words(answer.text, user) == [], address
    for text in words_of(other):
        assert foreign_words(str(api("search", {"query": text, "top_k": 50}, user=user)), user) == []
        assert foreign_words(str(api("query_experiences", {"query": text, "top_k": 50}, user=user)), user) == []
        assert api("list", subject=text, user=user) == []
    for agent in own["agent_id"]:
        assert foreign_words(api("context", {"agent": agent}, user=user)["text"], user) == []


@pytest.mark.parametrize("user", USERS)
def test_the_page_shows_a_user_its_own_words_only(client: TestClient, user: str) -> None:
    """C0, K3: every view, and every link that can be followed from there; no link leads to another user, except
    those that choose one."""
    searches = [f"/search?{urlencode({'q': one})}" for one in words_of(user)]
    waiting, seen, found = [*VIEWS, *searches], set[str](), ""
    while waiting:
        place = waiting.pop()
        parts = urlsplit(place)
        query = {name: some for name, some in parse_qs(parts.query).items() if name != "user"}
        here = f"{parts.path}?{urlencode({**query, 'user': user}, doseq=True)}"
        sent = here == f"/forget?user={user}"  # a form that is sent, not a link
        if sent or here in seen or parts.path.startswith(("/static", "/login")):
            continue
        seen.add(here)
        answer = client.get(here)
        assert answer.status_code == 200, (here, answer.text)
        assert foreign_words(answer.text, user) == [], here
        found += answer.text
        links = {unescape(one) for one in LINK.findall(answer.text)}
        waiting += [one for one in links if one.startswith("/") and f"user={user}" in one]
    assert {urlsplit(one).path for one in seen} >= {urlsplit(view).path for view in VIEWS}
    assert [one for one in words_of(user) if one not in found] == []


@pytest.mark.parametrize("user", USERS)
def test_mcp_answers_a_user_with_its_own_words_only(store: Store, user: str) -> None:
    """C0, K3, R3: every tool, resource and prompt."""
    other = next(one for one in USERS if one != user)

    async def ask() -> tuple[list[str], str]:
        asked, own = [], ""
        async with Client(make_server(store, user)) as mcp:
            names = {one.name for one in (await mcp.list_tools()).tools}
            calls: list[tuple[str, dict[str, Any]]] = [
                *(("recall_memory", {"query": one, "top_k": 50}) for some in USERS for one in words_of(some)),
                *(("query_experiences", {"query": one, "top_k": 50}) for some in USERS for one in words_of(some)),
                *(("relations", {"entity": one}) for one in ("Shared", word(user, "entity"))),
                *(
                    ("document_read", {"path": path})
                    for path in ("~/memory", f"~/memory/{user}", f"~/memory/{other}")
                ),
                *(("list", given) for given in ({"limit": 1000}, {"subject": word(other, "record")})),
                ("context", {}),
                ("context", {"about": "What was learned?"}),
            ]
            writes = {"document_write", "document_edit", "remember_this", "store_memory", "add"}
            assert {name for name, _ in calls} | writes == names
            for name, arguments in calls:
                result = await mcp.call_tool(name, arguments)
                text = str(result.content)
                asked += [f"{name} {arguments}: {one}" for one in foreign_words(text, user)]
                own += text
            listed = str(await mcp.list_resources())
            asked += foreign_words(listed, user)
            for uri in re.findall(r"lifelong://[^\s'\"]+", listed):
                own += (text := str(await mcp.read_resource(uri)))
                asked += [f"{uri}: {one}" for one in foreign_words(text, user)]
            with pytest.raises(MCPError):
                await mcp.read_resource(f"lifelong://documents/memory/{other}")
            for prompt in (await mcp.list_prompts()).prompts:
                asked += foreign_words(str(await mcp.get_prompt(prompt.name)), user)
        return asked, own

    leaked, own = asyncio.run(ask())
    assert leaked == []
    shown_elsewhere = {word(user, place) for place in ("session", "query", "tool")}
    assert {one for one in words_of(user) if one not in own} <= shown_elsewhere


def test_what_a_user_stores_over_mcp_stays_there(tmp_path: Path) -> None:
    """C0: the tools that write, all of them."""

    async def write(store: Store) -> None:
        async with Client(make_server(store, "ada")) as mcp:
            for name, arguments in {
                "add": {"user": "I said adazq1."},
                "remember_this": {"text": "Keep adazq2."},
                "store_memory": {"key": "k", "content": "A note of adazq3."},
                "document_write": {"slug": "tea", "title": "Tea", "body": "About adazq4.", "description": "Tea"},
            }.items():
                assert not (await mcp.call_tool(name, arguments)).is_error

    with Store.open(tmp_path, continuity=ON) as store:
        asyncio.run(write(store))
        store.organize()
        found = str(store.user("ada").list(limit=1000))
        assert [number for number in range(1, 5) if f"adazq{number}" not in found] == []
        assert store.user("otto").list(limit=1000) == []
        assert "adazq" not in store.user("otto").context("What about adazq?")


def test_a_citation_of_another_users_record_tells_nothing_of_it(tmp_path: Path) -> None:
    """C0: neither when it was said, nor by whom; records have numbers that anybody can type."""
    said = datetime(2001, 2, 3, tzinfo=UTC)
    with Store.open(tmp_path) as store:
        tom, mara = store.user("tom"), store.user("mara")
        (record,) = tom.add(AssistantMessage("The kettle is red.", at=said))
        body = f"The kettle is red. [{record}]\n\nThe sofa is old. [Mara, 2026-01-01, {record}]"
        mara.documents.write(slug="own", title="Own", body=body, parent_path="~/memory")
        write = next(one.call for one in mara.tools() if one.name == "document_write")
        write(slug="agents", title="Its", description="", body=body, parent_path="~/memory")
        mara.organize()
        found = mara.list("fact")
        assert len(found) == 4
        assert {one.at.year for one in found}.isdisjoint({said.year})
        assert [one.trust for one in found if one.path == "~/memory/own"] == ["user", "user"]
