"""Forgetting on the page: a button beside everything, what would go, then what went and the proof; and editing."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lifelong import Memory, Store, ToolCall, User, UserMessage
from lifelong.serve.http.app import create_app
from lifelong.testing import FakeClock
from tests.pages import HOSTILE, ON, hostile
from tests.test_page import Inert, links, memory_of, post, shown


@pytest.fixture
def client(tmp_path: Path, clock: FakeClock) -> Iterator[TestClient]:
    """A home in which Mara speaks of her sister."""
    with Store.open(tmp_path / "home", clock=clock, continuity=ON) as store:
        memory = store.user()
        mara = memory.agent(User("cli", "mara", "main"))
        said = clock.now - timedelta(days=30)
        memory.append(
            mara, UserMessage("Hi there! My sister Zelda works at Quuxcorp as a nurse.", "Mara", at=said)
        )
        memory.append(mara, UserMessage("I live in Porto, near the river.", "Mara"))
        memory.append(mara, ToolCall("look", {"at": "ferries"}, "c1"))
        memory.end_session(mara)
        memory.organize()
        memory.experiences.add("Ferries are late on Mondays.", "learned")
        yield TestClient(create_app(store), base_url="http://localhost")


def fact_id(memory: Memory, word: str) -> str:
    return next(hit.id for hit in memory.list("fact") if word in hit.text)


def test_forget_stands_beside_every_fact_record_and_document(client: TestClient) -> None:
    """S6, R11: beside Correct, Pin and Edit; a tool call can only be forgotten."""
    memory = memory_of(client)
    fact = fact_id(memory, "Quuxcorp")
    document = shown(client, "/documents?id=~/memory/people/mara")
    wanted = {f"id={fact}&", "id=~%2Fmemory%2Fpeople%2Fmara&"}
    forget = [link for link in links(document) if link.startswith("/forget?")]
    assert all(any(one in link for link in forget) for one in wanted), forget
    assert 'href="/edit?id=' in document
    assert document.count('value="correct"') == document.count('value="pin"') == len(memory.list("fact"))
    session = shown(client, "/records?id=1")
    assert {f"/forget?id=r{number}&" for number in (1, 2, 3)} == {
        f"{link.partition('&')[0]}&" for link in links(session) if link.startswith("/forget?id=r")
    }
    assert session.count('value="correct"') == 2
    assert any(link.startswith("/forget?session=") for link in links(session))
    for view in ("/", "/search?q=Zelda", "/browse", "/journal", "/experiences", "/about?name=Zelda"):
        assert any(link.startswith("/forget?") for link in links(shown(client, view))), view
    pinned = post(client, "/items", item=fact, do="pin", back="/documents?id=~/memory/people/mara", at=fact)
    assert pinned.headers["location"].startswith("/documents?id=")
    assert 'value="unpin"' in shown(client, "/documents?id=~/memory/people/mara")
    past = shown(client, "/documents?id=~/memory/people/mara&as_of=2999-01-01")
    assert "/forget?" not in past


def test_what_would_go_is_shown_then_what_went_with_the_proof(client: TestClient) -> None:
    """S6: a look changes nothing; the report says what went, what was written again, and that nothing is left."""
    memory = memory_of(client)
    address = f"/forget?id={fact_id(memory, 'Quuxcorp')}&back=/browse"
    html = unescape(shown(client, address))
    assert "My sister Zelda works at Quuxcorp as a nurse." in html
    assert "~/memory/people/mara" in html
    assert 'href="/browse">Keep it' in html
    assert "Quuxcorp" in shown(client, "/browse")
    report = post(client, "/forget", id=fact_id(memory, "Quuxcorp"))
    assert report.status_code == 200
    told = unescape(report.text)
    assert "It is gone" in told
    assert ": nothing is left." in told
    assert "Quuxcorp" not in told
    assert "Quuxcorp" not in shown(client, "/browse")
    assert "r1" in shown(client, "/forgotten")
    assert "person" in shown(client, "/forgotten")
    again = client.get("/forget?id=r1")
    assert (again.status_code, "was forgotten on" in again.text) == (404, True)


def test_a_backup_that_still_holds_it_is_named(client: TestClient, tmp_path: Path) -> None:
    """S6: before and after."""
    memory_of(client).admin.backup(tmp_path / "before.db")
    assert str(tmp_path / "before.db") in shown(client, "/forget?id=r1")
    assert str(tmp_path / "before.db") in post(client, "/forget", id="r1").text


def test_everything_about_a_person_goes_at_once(client: TestClient) -> None:
    """S6: from the page of what is known about them, and a session from its own."""
    html = shown(client, "/about?name=Zelda")
    assert "Forget everything about Zelda" in html
    (link,) = [one for one in links(html) if one.startswith("/forget?about=")]
    assert "Forget everything about Zelda?" in shown(client, link)
    assert "nothing is left." in post(client, "/forget", about="Zelda").text
    assert "Nothing is known about “Zelda”" in shown(client, "/about?name=Zelda")
    assert "Nothing fits" in shown(client, "/forget?about=Zelda")
    (session,) = memory_of(client).sessions.recent()
    post(client, "/forget", session=session.id)
    assert memory_of(client).sessions.recent() == []


@pytest.mark.parametrize("address", ["/forget", "/forget?id=r99", "/forget?about=.", "/forget?session=x"])
def test_what_cannot_be_forgotten_is_said(client: TestClient, address: str) -> None:
    """S6: on a page, with the next step."""
    assert client.get(address).status_code in (404, 422)


def test_a_session_is_listed_by_what_it_is_about(client: TestClient) -> None:
    """C5: the first sentence of the first request that says something, when it was said, how many messages."""
    memory = memory_of(client)
    (outline,) = memory.sessions.outlines(memory.sessions.recent())
    assert outline.title == "My sister Zelda works at Quuxcorp as a nurse."
    assert outline.messages == 2
    assert outline.first
    assert outline.last
    assert outline.last - outline.first >= timedelta(days=30)
    html = shown(client, "/sessions")
    assert "My sister Zelda works at Quuxcorp as a nurse.</a>" in html
    assert "2 messages" in html
    assert f"{outline.first:%b %Y}" in html
    memory.sessions.reset(memory.agent(User("cli", "mara", "main")))
    assert "Without a message" in shown(client, "/sessions")


def test_a_document_is_edited(client: TestClient) -> None:
    """O18: as a new version; what was typed is not lost where somebody else was faster."""
    memory = memory_of(client)
    document = memory.documents.read("~/memory/people/mara")
    assert "My sister Zelda works" in shown(client, f"/edit?id={document.id}")
    form = {
        "version": str(document.version),
        "title": "Mara",
        "description": "A person.",
        "body": f"{document.body}\r\n\r\nTall.",
    }
    answer = post(client, f"/edit?id={document.id}", **form)
    assert answer.headers["location"].endswith("done=saved")
    now = memory.documents.read(document.id)
    assert (now.description, now.version, now.body) == (
        "A person.",
        document.version + 1,
        f"{document.body}\n\nTall.",
    )
    late = post(client, f"/edit?id={document.id}", **{**form, "body": "My own words."})
    assert late.status_code == 200
    assert "My own words." in late.text
    assert f"it is in version {now.version} now" in late.text
    assert f'name="version" value="{now.version}"' in late.text
    same = post(client, f"/edit?id={document.id}", **{**form, "version": str(now.version), "body": now.body})
    assert same.headers["location"].endswith("done=same")


def test_what_is_forgotten_is_text_on_the_page(client: TestClient) -> None:
    """S5: what is shown before it goes cannot run, and a form leads back to a view of the page only."""
    memory = memory_of(client)
    memory.add(hostile("A word"), speaker=HOSTILE[:100])
    memory.documents.write(
        slug="x", title=HOSTILE[:200], description=HOSTILE, body=HOSTILE, parent_path="~/memory"
    )
    for view in (
        "/forget?id=r4",
        "/forget?id=~/memory/x",
        "/edit?id=~/memory/x",
        "/about?name=A+word",
        "/sessions",
    ):
        assert Inert(shown(client, view)).alive == []
    assert 'href="/">Keep it' in shown(client, "/forget?id=r4&back=//evil.example/")
    assert Inert(post(client, "/forget", id="r4").text).alive == []
