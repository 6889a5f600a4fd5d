"""The page: what each view shows, what its forms do, and that stored text stays text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from html import unescape
from html.parser import HTMLParser
from importlib.resources import files
from pathlib import Path
from urllib.parse import parse_qs, quote, urlsplit

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from lifelong import Memory, User, UserMessage
from lifelong.errors import ModelError
from lifelong.memory import Store
from lifelong.recall.relations import RelatedEntity, Relations
from lifelong.serve.http.app import create_app
from lifelong.serve.page.documents import diff_lines, side_by_side
from lifelong.serve.page.graph import CHAR_WIDTH, MARGIN, make_graph
from lifelong.serve.page.markdown import render
from lifelong.testing import FakeClock, ScriptedOrganizer
from tests.pages import HOSTILE, ON, fill, hostile

VIEWS = (
    *("/", "/search", "/browse", "/documents", "/changesets", "/journal", "/journal?show=long"),
    *("/journal?show=context", "/experiences", "/relations", "/sessions", "/inbox", "/review"),
    *("/about", "/forgotten"),
)
LINKS = re.compile(r'href="(/[^"#]*)')
EMBEDS = {"style", "iframe", "object", "embed", "base", "link", "foreignobject", "use", "animate", "set"}


class Inert(HTMLParser):
    """Collects whatever in a page of HTML could run, or reach another host."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.alive: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if (tag, given) == ("script", {"src": "/static/page.js"}) or (
            tag == "link" and given["href"].startswith("/static/")
        ):
            return
        wrong = tag == "script" or tag in EMBEDS or any(name.startswith("on") or name == "style" for name in given)
        for name in {"href", "src", "action", "xlink:href", "formaction"} & given.keys():
            own = given[name].startswith(("/", "#")) and not given[name].startswith("//")
            wrong |= not own and not (tag == "a" and given[name].startswith(("https://", "http://", "mailto:")))
        if wrong:
            self.alive.append(self.get_starttag_text() or tag)


@pytest.fixture
def store(tmp_path: Path, clock: FakeClock) -> Iterator[Store]:
    """An empty home."""
    with Store.open(tmp_path / "home", clock=clock) as opened:
        yield opened


@pytest.fixture
def client(store: Store) -> TestClient:
    return TestClient(create_app(store), base_url="http://localhost")


@pytest.fixture(scope="module")
def filled_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, FakeClock]:
    clock = FakeClock()
    home = tmp_path_factory.mktemp("page") / "home"
    fill(home, clock)
    return home, clock


@pytest.fixture
def full(filled_home: tuple[Path, FakeClock], tmp_path: Path) -> Iterator[TestClient]:
    """A home of its own with much in it."""
    home, clock = filled_home
    copied = tmp_path / "full"
    copied.mkdir()
    with Memory.open(home, clock=clock) as memory:
        memory.admin.backup(copied / "lifelong.db")
    for page in (home / "users").rglob("*.md"):
        place = copied / page.relative_to(home)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(page.read_bytes())
    with Store.open(copied, clock=clock, continuity=ON) as opened:
        yield TestClient(create_app(opened), base_url="http://localhost")


def memory_of(client: TestClient) -> Memory:
    found: Memory = client.app.state.store.user()  # type: ignore[attr-defined]
    return found


def links(html: str) -> set[str]:
    return {unescape(link) for link in LINKS.findall(html)}


def shown(client: TestClient, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.text)
    return answer.text


def post(client: TestClient, address: str, **form: str) -> Response:
    return client.post(address, data=form, follow_redirects=False)


# What each view shows


@pytest.mark.parametrize("view", VIEWS)
def test_an_empty_view_teaches(client: TestClient, view: str) -> None:
    html = shown(client, view)
    assert 'class="empty' in html
    assert "<pre><code>lifelong " in html or "[continuity]" in html
    assert Inert(html).alive == []


@pytest.mark.parametrize(
    ("view", "words"),
    [
        (
            "/",
            [
                "Something needs your",
                "The model was overloaded.",
                "Changeset 2",
                "By hand",
                "She moved.",
                "$0.00",
            ],
        ),
        ("/search?q=Where+does+Mara+live", ["hits for", "lives in Lisbon", "web, data", "<rect", "+"]),
        ("/browse?kind=fact", ["<s>lives in Malmö", "until <time"]),
        ("/browse?kind=experience", ["Anders Holm met in Lisbon"]),
        ("/browse?kind=note", ["Vendor 8841"]),
        ("/browse?subject=Anders+Holm", ["Anders Holm met in Lisbon"]),
        ("/documents", ["Memory", "Kestrel", "Mara Lindqvist"]),
        (
            "/documents?id=~/memory/mara",
            ["<s>lives in Malmö &amp; likes it. </s>", "r3</a>", "web, data", "History"],
        ),
        ("/changesets", ["Changeset 1", "memory-agent of mara (slack, general)", "+1"]),
        ("/changesets?id=1", ["up to r6", "scripted", "<ins>lives in Lisbon. [r3]</ins>"]),
        ("/journal", ["Release Kestrel weekly.", "A secret. It is in MEMORY.md", "decision"]),
        ("/journal?day=2026-02-24&category=note", ["Decided on day 4"]),
        ("/journal?show=long", ['class="timeline"', "Compacted in 2026-03", "Decided on day 1"]),
        ("/journal?show=context", ["# Long-term memory", "Release Kestrel weekly."]),
        ("/experiences?q=budget&by=entity", ["Anders Holm met", "score"]),
        ("/relations?entity=Mara+Lindqvist", ["<svg", "Anders Holm", "Evidence", "stroke-width"]),
        ("/relations?entity=Nobody", ["Nothing is known by the name"]),
        ("/about?name=Mara+Lindqvist", ["lives in Lisbon", "Related to", "Anders Holm", "1 document"]),
        ("/about?name=Nobody", ["Nothing is known about “Nobody”"]),
        (
            "/sessions",
            ["I live in Malmö.</a>", "4 messages", "mara (slack, general)", "Nightly backup", "A new day"],
        ),
        ("/inbox", ["Retry all that failed (1)", "The model was overloaded.", "1 attempt", "Nightly backup"]),
        ("/inbox?state=done", ["changeset 1", "mara (slack, general)"]),
    ],
)
def test_a_view_shows_what_is_there(full: TestClient, view: str, words: list[str]) -> None:
    html = shown(full, view)
    assert [word for word in words if word not in html] == []
    assert "4711" not in html
    assert "sk-ant-abcdefghij" not in html


def test_a_citation_leads_to_its_record(full: TestClient) -> None:
    """O6: each record of a session stands with its receipt, and the changeset it led to."""
    answer = full.get("/records?id=3", follow_redirects=False)
    assert answer.status_code == 303
    assert answer.headers["location"].endswith("#r3")
    html = shown(full, answer.headers["location"])
    assert 'id="r3"' in html
    assert "searchable" in html
    assert "changeset 1" in html
    assert "web, data" in html
    assert "[secret: Anthropic key]" in html
    failed = shown(full, f"/records?id={memory_of(full).inbox.list('dead')[0].until}")
    assert "failed" in failed
    assert "The model was overloaded." in failed


def test_a_search_can_be_narrowed(full: TestClient) -> None:
    """R3: kinds, a range of time, and what was known at a past time."""
    assert "1 hit for" in shown(full, "/search?q=Lisbon&top=1&kind=record&since=2026-02-24&until=2026-02-24")
    assert "Nothing was found." in shown(full, "/search?q=Lisbon&until=2026-02-23")
    assert "Nothing was found." in shown(full, "/search?q=Lisbon&as_of=2026-02-20")


def test_a_document_has_a_past(full: TestClient) -> None:
    """O21: any version, the tree as of a time, and the difference of any two."""
    now = shown(full, "/documents?id=~/memory/kestrel")
    assert "It flies." in now
    then = shown(full, "/documents?id=~/memory/kestrel&as_of=2026-02-24T12:00")
    assert "It flies." not in then
    assert "Show the current version" in then
    assert "There was no such document" in shown(full, "/documents?as_of=2020-01-01")
    document = memory_of(full).documents.read("~/memory/kestrel")
    address = f"/compare?id={document.id}&old=1&new=2"
    assert "<ins>It flies.</ins>" in shown(full, address)
    assert '<td class="added">It flies.</td>' in shown(full, f"{address}&how=side")
    assert "The versions are the same." in shown(full, f"/compare?id={document.id}&old=2&new=2")


def test_a_time_at_the_edge_of_time_is_shown(tmp_path: Path) -> None:
    zone = {**ON, "time_zone": "America/New_York"}
    with Store.open(tmp_path / "home", continuity=zone) as store:
        memory = store.user()
        first = datetime(2, 1, 1, tzinfo=UTC)
        memory.append(memory.agent(User("cli", "me", "main")), UserMessage("In the beginning.", at=first))
        client = TestClient(create_app(store), base_url="http://localhost")
        for view in (*VIEWS, "/records?id=1", "/search?q=beginning", "/documents?as_of=0002-01-01T00:00Z"):
            shown(client, view)
        for outside in ("0001-01-01T00:00Z", "9999-12-31"):
            assert client.get(f"/documents?as_of={outside}").status_code == 422


def test_a_wide_tree_is_shown_in_part(full: TestClient) -> None:
    """All of it where it is asked for, and always the way to what is chosen."""
    tree = memory_of(full).documents
    for number in range(50):
        tree.write(slug=f"z{number:02}", title=f"Page {number}", description="", body="", parent_path="~/memory")
    html = shown(full, "/documents")
    assert "Page 1<" in html
    assert "Page 49<" not in html
    assert "and 12 more" in html
    assert "Page 49<" in shown(full, "/documents?id=~/memory")
    assert "and 11 more" in shown(full, "/documents?id=~/memory/z49")


def test_a_document_lists_the_documents_below(full: TestClient) -> None:
    article = shown(full, "/documents").partition("<article")[2].partition("</article>")[0]
    assert "Mara Lindqvist</a>" in article
    assert "A person" in article


def test_one_version_cannot_be_compared(full: TestClient) -> None:
    assert 'type="radio"' not in shown(full, "/documents?id=~/memory/mara")
    assert 'type="radio"' in shown(full, "/documents?id=~/memory/kestrel")


@pytest.mark.parametrize(
    ("view", "constant"),
    [
        ("/inbox", "views.INBOX_PER_PAGE"),
        ("/journal", "views.JOURNAL_PER_PAGE"),
        ("/journal?category=note&day=2026-02-24", "views.JOURNAL_PER_PAGE"),
        ("/experiences", "views.EXPERIENCES_PER_PAGE"),
        ("/documents?id=~/memory/kestrel", "documents.VERSIONS_PER_PAGE"),
        ("/changesets", "documents.CHANGESETS_PER_PAGE"),
    ],
)
def test_a_long_list_is_shown_in_parts(
    full: TestClient, monkeypatch: pytest.MonkeyPatch, view: str, constant: str
) -> None:
    """How many of how many, and a way to the rest."""
    whole = len(re.findall("data-item", shown(full, view).partition("<article")[2] or shown(full, view)))
    monkeypatch.setattr(f"lifelong.serve.page.{constant}", 1)
    seen, place, html = 0, view, ""
    while place:
        html = shown(full, place)
        seen += 1
        assert f"{seen} to {seen}" in html
        if constant != "documents.CHANGESETS_PER_PAGE":
            assert re.search(rf"{seen} to {seen} of \d", html)
        following = re.search(r'rel="next" href="([^"]+)"', html)
        place = unescape(following[1]) if following else ""
    assert seen == whole > 1
    assert ">Newer</a>" in html
    assert "None" in shown(full, f"{view}{'&' if '?' in view else '?'}skip=99")


def test_more_that_failed_than_is_listed_is_counted(full: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = memory_of(full)
    organizer = ScriptedOrganizer(ModelError("The model was overloaded."))
    with Memory.open(
        memory.home.path, clock=memory._clock, organizer=organizer, worker={"max_attempts": 1}
    ) as other:
        agent = other.agent(User("cli", "bo", "main"))
        other.append(agent, UserMessage("I live in Oslo."))
        other.end_session(agent)
        other.organize()
    monkeypatch.setattr("lifelong.serve.page.views.INBOX_PER_PAGE", 1)
    html = shown(full, "/inbox?state=dead")
    assert "Retry all that failed (2)" in html
    assert "1 to 1 of 2" in html


def test_a_long_text_can_be_read_whole(full: TestClient) -> None:
    memory = memory_of(full)
    told = f"It began. {'On and on it went. ' * 400}It ended in Oslo."
    record = memory.append(memory.agent(User("cli", "bo", "main")), UserMessage(told))
    assert f"Show all {len(told):,} characters" in shown(full, "/browse?kind=record")
    assert "It ended in Oslo." in shown(full, "/browse?kind=record")
    html = shown(full, f"/records?id={record}")
    assert "It ended in Oslo." not in html
    whole = next(link for link in links(html) if "whole=" in link)
    assert "It ended in Oslo." in shown(full, whole)


def test_a_line_that_ended_is_struck_out(full: TestClient) -> None:
    """O11: as recall shows it."""
    memory = memory_of(full)
    line = next(one for one in memory.list("journal") if one.text == "Release Kestrel weekly.")
    assert "<s>Release" not in shown(full, "/journal")
    assert post(full, "/items", item=line.id, do="outdated").headers["location"] == "/?done=outdated"
    html = shown(full, "/journal")
    assert "<s>Release Kestrel weekly.</s>" in html
    assert "until <time" in html


def test_a_run_is_shown_by_what_it_did(full: TestClient) -> None:
    """The rules' own report would only repeat it."""
    memory = memory_of(full)
    agent = memory.agent(User("cli", "bo", "main"))
    memory.append(agent, UserMessage("I live in Oslo.", "Bo"))
    memory.end_session(agent)
    memory.organize()
    made = memory.documents.changesets(1)[0]
    assert made.note.startswith("DONE")
    for view in ("/", "/changesets", f"/changesets?id={made.id}"):
        assert "DONE" not in shown(full, view)
    assert "By hand" in shown(full, "/changesets")


def test_a_consolidation_is_shown_by_its_note(full: TestClient) -> None:
    """S7: no session stands behind it."""
    twice = "I like trains. [Mara, 2026-02-01, r1]\n\nI like trains. [Mara, 2026-02-02, r2]"
    tree = memory_of(full).documents
    tree.write(slug="likes", title="Likes", description="", body=twice, parent_path="~/memory")
    made = tree.consolidate().changeset
    for view in ("/changesets", f"/changesets?id={made}"):
        assert "Consolidation: 1 merged." in shown(full, view)


def test_each_user_is_its_own(full: TestClient) -> None:
    """C0: the switcher is there where there are several, and one user never shows another's memory."""
    assert 'class="users"' not in shown(full, "/")
    other: Memory = full.app.state.store.user("work")  # type: ignore[attr-defined]
    other.append(other.agent(User("cli", "bo", "main")), UserMessage("The other side."))
    assert 'class="users"' in shown(full, "/")
    html = shown(full, "/browse?user=work")
    assert "The other side." in html
    assert "Lisbon" not in html
    assert {parse_qs(urlsplit(link).query)["user"][0] for link in links(html) if "static" not in link} == {
        *("work", "default")  # the switcher's
    }


def test_the_page_opens_on_the_user_who_holds_something(client: TestClient, store: Store) -> None:
    """C0: the default user only where it holds something, or is asked for; the one who spoke last otherwise."""
    assert "Bo says" not in shown(client, "/browse")
    for name in ("bo", "ann", "bo"):
        store.user(name).add(f"{name.title()} says hello.")
    html = shown(client, "/browse")
    assert "Bo says hello." in html
    assert re.search(r'<summary><span class="quiet">user</span> bo</summary>', html)
    kept = {parse_qs(urlsplit(link).query)["user"][0] for link in links(html) if "static" not in link}
    assert kept == {"ann", "bo", "default"}
    assert '<input type="hidden" name="user" value="bo">' in html

    chosen = shown(client, "/browse?user=default")
    assert "hello" not in chosen
    assert re.search(r'<summary><span class="quiet">user</span> default</summary>', chosen)
    assert '<a href="/search?user=default" data-key="f"' in chosen
    assert '<input type="hidden" name="user" value="default">' in chosen

    store.user().add("The default user says hello.")
    assert "The default user says hello." in shown(client, "/browse")


# What a person does


def test_a_person_says_what_a_hit_was_worth(full: TestClient) -> None:
    """R10, R11: feedback, pins and corrections from the page, which then stands where it stood."""
    memory = memory_of(full)
    item = memory.search("Casa do Fado", 1, kinds=["record"])[0].id
    back = "/search?q=Casa+do+Fado&kind=record"
    for what, said in (("useful", "useful"), ("wrong", "wrong"), ("outdated", "lowered")):
        answer = post(full, "/items", item=item, do=what, back=back, at="hit1")
        assert answer.status_code == 303
        assert answer.headers["location"] == f"{back}&done={said}#hit1"
    assert "The record stays and ranks lower" in shown(full, "/search?done=lowered")
    assert "Noted as useful." in shown(full, "/search?done=useful")
    memory.documents.write(
        slug="hobbies",
        title="Hobbies",
        description="",
        body="Collects stamps. Sells coins.",
        parent_path="~/memory",
    )
    both = next(hit.id for hit in memory.list("fact") if "stamps" in hit.text)
    assert post(full, "/items", item=both, do="outdated", back=back).headers["location"] == f"{back}&done=ended"
    assert "To take this back, choose Useful" in shown(full, "/search?done=ended")
    post(full, "/items", item=item, do="pin", back=back)
    assert "Unpin" in shown(full, back)
    post(full, "/items", item=item, do="unpin", back=back)
    assert "Unpin" not in shown(full, back)
    told = "Casa do Fado costs 91 EUR a night."
    assert post(full, "/items", item=item, do="correct", text=told, back="/browse").status_code == 303
    memory.organize()
    assert told in shown(full, "/search?q=Casa+do+Fado+costs")


@pytest.mark.parametrize(
    "back", ["https://evil.example/", "//evil.example", "/\\evil.example", "//[", "javascript:ran()", ""]
)
def test_a_form_returns_to_the_page_and_nowhere_else(full: TestClient, back: str) -> None:
    item = memory_of(full).list(limit=1)[0].id
    answer = post(full, "/items", item=item, do="useful", back=back, at='"><script>')
    assert answer.headers["location"] == "/?done=useful"
    assert full.get("/forget", params={"id": item, "back": back}).status_code == 200


def test_a_rollback_is_a_changeset_that_can_be_rolled_back(full: TestClient) -> None:
    """O21: one click takes a changeset back, and one more brings it again."""
    tree = memory_of(full).documents
    answer = post(full, "/rollback", id="2")
    assert answer.headers["location"] == "/changesets?id=3&done=undone"
    assert "<del>It flies.</del>" in shown(full, answer.headers["location"])
    assert "It flies." not in tree.read("~/memory/kestrel").body
    assert post(full, "/rollback", id="2").headers["location"] == "/changesets?id=2&done=nothing"
    post(full, "/rollback", id="3")
    assert "It flies." in tree.read("~/memory/kestrel").body
    post(full, "/rollback", id="1")
    gone = tree.versions(next(one for one in tree.changes(1) if one.after and one.after.slug == "mara").id)
    assert "It was deleted." in shown(full, f"/documents?id={gone[0].id}")


def test_what_failed_is_retried(full: TestClient) -> None:
    """O5: one item, or all that failed; where nothing did, the page says so."""
    memory = memory_of(full)
    (failed,) = memory.inbox.list("dead")
    assert post(full, "/retry", id=str(failed.id)).headers["location"] == "/inbox?done=retried"
    assert memory.inbox.list("dead") == []
    assert post(full, "/retry").headers["location"] == "/inbox?done=none"
    assert memory.organize().finished == 1


# What goes wrong


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/documents?id=nope", 404),
        ("/documents?id=~/nope", 404),
        ("/documents?id=a%00b", 422),
        ("/documents?as_of=yesterday", 422),
        ("/compare?id=nope", 404),
        ("/changesets?id=77", 404),
        ("/changesets?id=x", 422),
        ("/changesets?id=99999999999999999999", 422),
        ("/sessions?id=nope", 404),
        ("/records?id=99", 404),
        ("/search?q=x&kind=nope", 422),
        ("/search?q=x&top=0", 422),
        ("/search?q=x&since=9999-12-31&until=9999-12-31", 422),
        ("/browse?kind=nope", 422),
        ("/browse?before=nope", 404),
        ("/journal?day=2026-99-99", 200),  # it is off here
        ("/inbox?state=nope", 422),
        ("/?user=nope", 404),
        ("/?user=../../etc", 422),
    ],
)
def test_errors_are_shown_on_a_page(client: TestClient, address: str, status: int) -> None:
    """S3: a friendly page with the right status; no name leaves its folder."""
    answer = client.get(address)
    assert answer.status_code == status
    assert "Traceback" not in answer.text
    assert "<h1>" in answer.text


def test_a_form_with_a_file_is_refused(full: TestClient) -> None:
    answer = full.post("/items", data={"item": "r1"}, files={"file": b"x"})
    assert answer.status_code == 422
    assert "<h1>That cannot be used</h1>" in answer.text
    assert "openapi" not in answer.text


def test_forms_that_cannot_be_done_are_refused(full: TestClient) -> None:
    assert post(full, "/rollback", id="77").status_code == 404
    assert post(full, "/retry", id="77").status_code == 404
    assert post(full, "/release", id="77").status_code == 404
    assert post(full, "/release").headers["location"] == "/inbox?done=none"
    assert post(full, "/items", item="r1", do="forget").status_code == 422
    assert post(full, "/items", item="r1", do="correct", text="").status_code == 422
    assert post(full, "/items", item="nope", do="pin").status_code == 404
    assert full.get("/journal?day=2026-99-99").status_code == 422
    assert full.get("/rollback?id=1").status_code == 405


def test_a_closed_memory_is_reported(client: TestClient, store: Store) -> None:
    store.close()
    answer = client.get("/", headers={"accept": "text/html"})
    assert answer.status_code == 503
    assert "This memory is closed" in answer.text


# Hostile text


def test_hostile_text_stays_text_wherever_a_link_leads(tmp_path: Path, clock: FakeClock) -> None:
    """S5: in every field that is stored, on every page that can be reached."""
    fill(tmp_path / "home", clock, hostile)
    with Store.open(tmp_path / "home", clock=clock, continuity=ON) as store:
        client = TestClient(create_app(store), base_url="http://localhost")
        waiting, seen = {*VIEWS, f"/search?q={quote(HOSTILE)}"}, set[str]()
        while waiting:
            seen.add(address := waiting.pop())
            answer = client.get(address)
            assert answer.status_code in (200, 404), (address, answer.text)
            assert Inert(answer.text).alive == [], address
            assert ">49<" not in answer.text
            waiting |= {link for link in links(answer.text) if not link.startswith("/static/")} - seen
    assert len(seen) > 60
    assert {urlsplit(address).path for address in seen} >= {urlsplit(view).path for view in VIEWS}


@pytest.mark.parametrize(
    "name", ["q", "subject", "entity", "id", "category", "state", "done", "user", "before", "at"]
)
def test_an_address_puts_nothing_on_the_page(full: TestClient, name: str) -> None:
    for view in VIEWS:
        joint = "&" if "?" in view else "?"
        answer = full.get(f"{view}{joint}{name}={quote(HOSTILE)}")
        assert Inert(answer.text).alive == []


# Its parts


@pytest.mark.parametrize(
    ("text", "html"),
    [
        ("<b>bold</b>", "<p>&lt;b&gt;bold&lt;/b&gt;</p>"),
        ("[x](javascript:ran())", "<p>[x](javascript:ran())</p>"),
        ("[x](/inbox)", "<p>[x](/inbox)</p>"),
        ("[x](JaVaScRiPt:ran()) <javascript:ran()>", "<p>[x](JaVaScRiPt:ran()) &lt;javascript:ran()&gt;</p>"),
        ("[x](https://a.example)", '<p><a href="https://a.example" rel="noopener noreferrer nofollow">x</a></p>'),
        (
            "![x](https://a.example/x.png)",
            '<p>!<a href="https://a.example/x.png" rel="noopener noreferrer nofollow">x</a></p>',
        ),
        (
            "I'm <b>. [Mara, 2026-03-03, r1]",
            '<p class="fact">I\'m &lt;b&gt;. <span class="cites">Mara, 2026-03-03 '
            '<a href="/records?id=1">r1</a></span></p>',
        ),
        (
            "- is so [r1]\n- own",
            '<ul>\n<li class="fact">is so <span class="cites"><a href="/records?id=1">r1</a></span></li>\n'
            "<li>own</li>\n</ul>",
        ),
        (
            "1. was so [r1, until 2026-03-05]",
            '<ol>\n<li class="fact ended"><s>was so </s><span class="cites"><a href="/records?id=1">r1</a> '
            "until 2026-03-05</span></li>\n</ol>",
        ),
        ("R&D. [r1]", '<p class="fact">R&amp;D. <span class="cites"><a href="/records?id=1">r1</a></span></p>'),
        (
            "was so. [r1, from web, until 2026-03-05 by r2]",
            '<p class="fact ended"><s>was so. </s><span class="cites"><a href="/records?id=1">r1</a> '
            '<span class="badge data">web, data</span> until 2026-03-05 by '
            '<a href="/records?id=2">r2</a></span></p>',
        ),
        ("R&D [[known|<i>]]", '<p>R&amp;D <a href="/documents?id=known">&lt;i&gt;</a></p>'),
        ("[[unknown]]", '<p><span class="unresolved" title="There is no such document">unknown</span></p>'),
        ("[r1, or so]", "<p>[r1, or so]</p>"),
    ],
)
def test_markdown_is_safe_to_show(text: str, html: str) -> None:
    """O10, O17: citations and `[[targets]]` are links; markup of the text's own is not."""

    def url(path: str, **query: object) -> str:
        return f"{path}?id={query['id']}"

    assert render(text, url, lambda target: target if target == "known" else None) == f"{html}\n"


def test_a_diff_is_shown_side_by_side() -> None:
    found = diff_lines("--- a\n+++ b\n@@ -1,3 +1,3 @@\n same\n-old\n+new\n+newer\n--- not a header")
    pairs = [(left and left.text, right and right.text) for left, right in side_by_side(found)]
    assert pairs == [
        ("@@ -1,3 +1,3 @@", "@@ -1,3 +1,3 @@"),
        ("same", "same"),
        ("old", "new"),
        ("-- not a header", "newer"),
    ]


@pytest.mark.parametrize("width", [760, 360])
def test_a_graph_stays_in_its_frame(width: int) -> None:
    """R9: the heavier, the thicker; every neighbour stands within the graph."""
    some = tuple(RelatedEntity("N" * 50, "", float(weight), ("fact",), ()) for weight in range(14, 0, -1))
    graph = make_graph(Relations("E" * 50, "", some), width, 400)
    thick = [node.thickness for node in graph.nodes]
    assert thick == sorted(thick, reverse=True)
    assert all(0 < node.x < width and 0 < node.y < 400 and 0 < node.label_y < 400 for node in graph.nodes)
    assert len({(node.x, node.y) for node in graph.nodes}) == 14
    for node in graph.nodes:
        long = CHAR_WIDTH * len(node.label)
        left = node.label_x - {"start": 0, "middle": long / 2, "end": long}[node.anchor]
        assert left >= MARGIN / 2
        assert left + long <= width - MARGIN / 2


def test_the_files_of_the_page_come_with_the_package() -> None:
    """No script or style stands in a template, so that a strict policy holds; nothing names another host."""
    page = files("lifelong.serve.page")
    static = {file.name: file.read_text("utf-8") for file in page.joinpath("static").iterdir()}
    templates = {file.name: file.read_text("utf-8") for file in page.joinpath("templates").iterdir()}
    assert static.keys() == {"page.css", "page.js", "icon.svg"}
    assert {"base.html", "overview.html", "error.html"} <= templates.keys()
    for text in templates.values():
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=|javascript:|\|\s*safe", text)
    for text in (*static.values(), *templates.values()):
        assert not re.search(r"https?://(?!www\.w3\.org/)", text)
    assert "innerHTML" not in static["page.js"]
