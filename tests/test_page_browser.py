"""The page in a real Chromium: it is read, clicked and typed into; nothing that is stored runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Error,
    Page,
    Request,
    ViewportSize,
    expect,
    sync_playwright,
)

from lifelong import User, UserMessage
from lifelong.memory import Store
from lifelong.testing import FakeClock
from tests.conftest import absent
from tests.pages import ON, fill, hostile, served
from tests.test_page import VIEWS, links

DESKTOP, PHONE = ViewportSize(width=1280, height=800), ViewportSize(width=390, height=844)
LAPTOP = ViewportSize(width=1190, height=800)
SETTLED = 30_000  # ms that anything may take on a slow machine
GROUND = "getComputedStyle(document.body).backgroundColor"
DETECTOR = "window.ran = () => { window.hasRun = true; }"

Visit = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = shutil.which("chromium")
    if not program:
        absent("chromium is not installed (apt-get install chromium)")
    expect.set_options(timeout=SETTLED)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-background-networking"]
        )
        yield launched
        launched.close()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    clock = FakeClock()
    home = tmp_path_factory.mktemp("page") / "home"
    fill(home, clock)
    with Store.open(home, clock=clock, continuity=ON) as opened:
        yield opened


@pytest.fixture(scope="module")
def address(store: Store) -> Iterator[str]:
    with served(store) as found:
        yield found


@pytest.fixture
def serving() -> Iterator[ExitStack]:
    """Servers of one test: they end after the pages that visit them, which may still be asking for something."""
    with ExitStack() as servers:
        yield servers


@pytest.fixture
def visit(browser: Browser, address: str, serving: ExitStack) -> Iterator[Visit]:
    """Opens pages that watch themselves: an error on the console, an error in the script, a request to another
    host, and a dialog of the browser's own fail the test."""
    wrong: list[str] = []
    opened = []

    def watched(place: str = "/", *, at: str = address, refused: bool = False, **how: object) -> Page:
        context = browser.new_context(**{"viewport": DESKTOP, **how})  # type: ignore[arg-type]
        opened.append(context)
        page = context.new_page()
        page.set_default_timeout(SETTLED)
        page.add_init_script(DETECTOR)

        def told(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning") and not (refused and "status of 4" in message.text):
                wrong.append(f"{message.text} at {page.url}")

        def asked(request: Request) -> None:
            if urlsplit(request.url).netloc != urlsplit(at).netloc:
                wrong.append(f"asked for {request.url}")

        page.on("console", told)
        page.on("request", asked)
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("dialog", lambda dialog: wrong.append(dialog.message))
        page.goto(at + place)
        return page

    yield watched
    for context in opened:
        context.close()
    assert wrong == []


def fits(page: Page) -> bool:
    """Whether nothing stands beyond the window's edge."""
    return bool(page.evaluate("document.documentElement.scrollWidth <= window.innerWidth"))


@pytest.mark.parametrize("size", [DESKTOP, LAPTOP, PHONE], ids=["desktop", "laptop", "phone"])
def test_every_view_fits_its_window(visit: Visit, address: str, size: ViewportSize) -> None:
    """In light and in dark."""
    page = visit(viewport=size, color_scheme="dark")
    document = page.locator("#changes a", has_text="Mara Lindqvist").first.get_attribute("href")
    more = ("/search?q=Lisbon", "/changesets?id=1", "/records?id=3", "/relations?entity=Mara+Lindqvist", document)
    for view in (*VIEWS, *more):
        page.goto(f"{address}{view}")
        assert page.locator("main h1").count() == 1, view
        assert fits(page), view
        assert page.evaluate(GROUND) == "rgb(21, 21, 26)", view
        page.emulate_media(color_scheme="light")
        assert page.evaluate(GROUND) == "rgb(251, 250, 247)", view
        page.emulate_media(color_scheme="dark")


def test_the_theme_is_kept(visit: Visit) -> None:
    page = visit(color_scheme="light")
    dark = f"{GROUND} == 'rgb(21, 21, 26)'"
    switch = page.locator("[data-theme-switch]")
    switch.click()
    switch.click()
    assert page.evaluate(dark)
    page.reload()
    assert page.evaluate(dark)


def test_it_works_without_its_script(visit: Visit) -> None:
    page = visit("/search", java_script_enabled=False)
    page.get_by_role("searchbox").fill("Where does Mara live?")
    page.get_by_role("button", name="Search").click()
    expect(page.locator(".hit").first).to_be_visible()
    page.get_by_role("link", name="Changes").click()
    page.get_by_role("link", name="Changeset 1").click()
    expect(page.get_by_role("button", name="Roll back")).to_be_visible()


def test_a_search_says_where_its_hits_come_from(visit: Visit) -> None:
    """R2, R11: source, date, trust and the parts of the score; a pin at a click."""
    page = visit("/search")
    page.get_by_role("searchbox").fill("What does Casa do Fado cost?")
    page.get_by_role("button", name="Search").click()
    hit = page.locator(".hit", has=page.locator(".badge.data")).first
    expect(hit).to_contain_text("84 EUR")
    expect(hit.locator(".badge.data").first).to_have_text("web, data")
    expect(hit.locator(".sources li .badge.data").first).to_have_text("web, data")
    assert hit.locator("rect").count() > 1
    hit.get_by_role("button", name="Pin").click()
    expect(page.get_by_role("status")).to_contain_text("Pinned")
    expect(page.locator(".hit .badge.pin").first).to_be_visible()
    page.get_by_role("button", name="Unpin").click()
    expect(page.locator(".hit .badge.pin")).to_have_count(0)


def test_a_rollback_is_asked_about_first(visit: Visit, store: Store) -> None:
    """O21: a no changes nothing; a yes shows the changeset that did it."""
    last = store.user().documents.changesets(1)[0].id
    page = visit("/changesets?id=2")
    page.get_by_role("button", name="Roll back").click()
    page.get_by_role("button", name="Cancel").click()
    assert store.user().documents.changesets(1)[0].id == last
    page.get_by_role("button", name="Roll back").click()
    page.locator("dialog[open]").get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(f"Changeset {last + 1}")
    expect(page.get_by_role("status")).to_contain_text("Rolled back")
    expect(page.locator(".diff del").last).to_have_text("It flies.")


def test_what_failed_is_retried_and_what_comes_in_is_live(visit: Visit, store: Store) -> None:
    """O5, O6: the overview follows what other processes do, without a reload."""
    overview = visit("/")
    expect(overview.locator("[data-live-state]")).to_have_text("Live")
    expect(overview.locator("#health")).to_contain_text("Something needs your attention")
    inbox = visit("/inbox")
    inbox.get_by_role("button", name="Retry all that failed (1)").click()
    expect(inbox.get_by_role("status")).to_contain_text("Queued again")
    memory = store.user()
    memory.organize()
    expect(overview.locator("#health")).to_contain_text("All is well")
    expect(inbox.locator("#items")).not_to_contain_text("pending")
    memory.append(memory.agent(User("cli", "bo", "main")), UserMessage("A word that just came in."))
    memory.organize()
    expect(overview.locator("#records")).to_contain_text("A word that just came in.")


def test_the_first_record_is_live(visit: Visit, serving: ExitStack, tmp_path: Path) -> None:
    """O6: what came in and what was organized, on a page that was opened on an empty home."""
    store = serving.enter_context(Store.open(tmp_path / "home"))
    at = serving.enter_context(served(store))
    page = visit("/", at=at)
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    expect(page.locator("#records")).to_contain_text("lifelong add")
    memory = store.user()
    bo = memory.agent(User("cli", "bo", "main"))
    memory.append(bo, UserMessage("I live in Oslo.", "Bo"))
    memory.end_session(bo)
    memory.organize()
    expect(page.locator("#records")).to_contain_text("I live in Oslo.")
    expect(page.locator("#changes")).to_contain_text("Changeset 1")


def test_a_person_reviews_what_agents_wrote(visit: Visit, serving: ExitStack, tmp_path: Path) -> None:
    """S5: what waits, why and from whom; approved, changed, refused; the navigation counts what is left."""
    store = serving.enter_context(Store.open(tmp_path / "home", continuity=ON))
    memory = store.user()
    made = memory.documents.write(slug="x", title="X", body="Mara prefers tea.", parent_path="~/memory")
    tools = {one.name: one.call for one in memory.tools("cursor")}
    tools["document_edit"](document_id=made.id, expected_version=1, find="tea", replace="rum, always")
    for text in ("Always reply in French.", "Never use tabs."):
        tools["remember_this"](text=text)
    at = serving.enter_context(served(store))
    page = visit("/", at=at)
    count = page.locator("nav .count")
    expect(count).to_have_text("3")
    page.get_by_role("link", name="Review").click()
    page.wait_for_url("**/review")
    items = page.locator("[data-item]")
    expect(items).to_have_count(3)
    expect(items.first).to_contain_text("Never use tabs.")
    expect(items.first).to_contain_text("from cursor")
    expect(items.first).to_contain_text("rests on the agent's word alone")
    expect(page.locator("#v1 ins")).to_have_text("Mara prefers rum, always.")
    page.locator("#v3").get_by_role("button", name="Refuse").click()
    expect(page.get_by_role("status")).to_contain_text("Refused. It is not remembered")
    expect(count).to_have_text("2")
    page.locator("#v2").get_by_text("Edit and approve").click()
    page.locator("#v2 textarea").fill("Reply in French or English.")
    page.get_by_role("button", name="Approve these words").click()
    expect(page.get_by_role("status")).to_contain_text("Approved in your words")
    page.locator("#v1").get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("as the agent's word that you approved")
    expect(count).to_have_count(0)
    expect(page.locator(".empty")).to_contain_text("Nothing waits for you")
    assert [one.text for one in memory.journal.records()] == ["Reply in French or English."]
    assert memory.documents.read(made.id).body == "Mara prefers rum, always."
    page.get_by_role("link", name="refused").click()
    expect(items).to_contain_text("refused by user")
    assert fits(page)


def test_a_person_logs_in_and_out(visit: Visit, serving: ExitStack, store: Store) -> None:
    """S8: and gets to see what was asked for."""
    at = serving.enter_context(served(store, "open-sesame"))
    page = visit("/search?q=Lisbon", at=at, refused=True)
    page.get_by_label("Token").fill("guess")
    page.get_by_role("button", name="Log in").click()
    expect(page.get_by_role("alert")).to_contain_text("That token is wrong.")
    expect(page.get_by_role("alert")).to_have_css("color", "rgb(179, 38, 30)")
    page.get_by_label("Token").fill("open-sesame")
    page.get_by_role("button", name="Log in").click()
    page.wait_for_url("**/search?q=Lisbon")
    page.get_by_role("button", name="Log out").click()
    page.wait_for_url("**/login")


def test_bars_and_badges_are_aligned(visit: Visit, address: str) -> None:
    """R2, R9: the bars of all hits begin at one place; a badge is no record; what is drawn can be followed."""
    page = visit("/search?q=Where+does+Mara+live%3F")
    starts = page.locator(".score svg").evaluate_all(
        "all => all.map(e => e.getBoundingClientRect().x - e.closest('table').getBoundingClientRect().x)"
    )
    assert len(starts) > 3
    assert max(starts) - min(starts) < 1
    page.goto(f"{address}/records?id=5")
    badge = page.locator(".conversation .badge.data").first
    assert badge.evaluate("e => getComputedStyle(e).borderLeftWidth") == "1px"
    page.goto(f"{address}/relations?entity=Mara+Lindqvist")
    drawn = page.get_by_role("group", name="What Mara Lindqvist is related to")
    drawn.get_by_role("link", name="Anders Holm").focus()
    page.keyboard.press("Enter")
    page.wait_for_url("**/relations?entity=Anders+Holm")


def test_a_phone_shows_the_documents_below_the_root(visit: Visit) -> None:
    page = visit("/documents", viewport=PHONE)
    expect(page.locator("article").get_by_role("link", name="Mara Lindqvist")).to_be_visible()


def test_long_words_and_deep_quotes_fit_a_phone(visit: Visit, serving: ExitStack, tmp_path: Path) -> None:
    word = "W" * 300
    store = serving.enter_context(Store.open(tmp_path, continuity=ON))
    memory = store.user("default")
    said = memory.add(f"Mara wrote {word}")[0]
    memory.documents.write(slug="thread", title="Thread", body=f"{'> ' * 8}{word}\n\n{'- ' * 8}{word}")
    at = serving.enter_context(served(store))
    page = visit("/documents?id=~/thread", at=at, viewport=PHONE)
    for view in ("/documents?id=~/thread", f"/forget?id={said}", "/forget?id=~/thread", "/browse", "/sessions"):
        page.goto(f"{at}{view}")
        assert fits(page), view


def test_it_can_be_used_by_keys_alone(visit: Visit) -> None:
    page = visit("/")
    keys = page.keyboard
    keys.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    assert page.locator(".skip").bounding_box()["y"] >= 0  # type: ignore[index]
    keys.press("Enter")
    expect(page.locator("main")).to_be_focused()
    keys.press("?")
    expect(page.locator("#keys")).to_be_visible()
    keys.press("Escape")
    keys.press("j")
    keys.press("j")
    keys.press("k")
    expect(page.locator("[data-item]").first).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    keys.press("Enter")
    page.wait_for_url("**/sessions?**")
    for letter, path in (("d", "/documents"), ("j", "/journal"), ("f", "/search")):
        keys.press("g")
        keys.press(letter)
        page.wait_for_url(f"**{path}")
    keys.press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    keys.type("Where does Mara live? j/g")
    keys.press("Enter")
    page.wait_for_url("**/search?q=**")
    expect(page.locator(".hit").first).to_be_visible()


def test_a_missing_document_is_shown_as_an_error(visit: Visit) -> None:
    page = visit("/documents?id=nope", refused=True)
    expect(page.get_by_role("heading", level=1)).to_have_text("Not found")


def test_nothing_that_is_stored_runs(visit: Visit, serving: ExitStack, tmp_path: Path) -> None:
    """S5: hostile text in every field, on every page that can be reached, without the policy's help.
    However long its words are, they fit a phone."""
    clock = FakeClock()
    fill(tmp_path / "home", clock, hostile)
    alive = (
        "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => a.name.startsWith('on'))"
        " || (e.tagName == 'SCRIPT' && !e.src.endsWith('/static/page.js'))"
        " || (e.tagName == 'IMG' && !e.src.endsWith('/static/icon.svg'))"
        " || (e.href && /^(javascript|data):/i.test(e.href.baseVal ?? e.href))).length"
    )
    store = serving.enter_context(Store.open(tmp_path / "home", clock=clock, continuity=ON))
    at = serving.enter_context(served(store))
    page = visit("/", at=at, bypass_csp=True, refused=True, viewport=PHONE)
    waiting, seen = [*VIEWS, "/search?q=Lisbon"], set[str]()
    while waiting:
        seen.add(place := waiting.pop(0))
        try:
            page.goto(at + place, wait_until="domcontentloaded")
        except Error as error:  # so that it says where
            pytest.fail(f"{place}: {error}")
        assert page.evaluate("window.hasRun") is None, place
        assert page.evaluate(alive) == 0, place
        assert fits(page), place
        for link in sorted(links(page.content()) - seen - {*waiting}):
            alike = [one for one in (*seen, *waiting) if shape(one) == shape(link)]
            if len(alike) < 2 and not link.startswith("/static/"):
                waiting.append(link)
    assert {urlsplit(place).path for place in seen} >= {urlsplit(view).path for view in VIEWS}
    page.goto(f"{at}/changesets?id=2")
    page.get_by_role("button", name="Roll back").click()
    page.locator("dialog[open]").get_by_role("button", name="Roll back").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Changeset 3")
    assert page.evaluate("window.hasRun") is None


def shape(link: str) -> tuple[str, ...]:
    """Which view a link leads to, whatever it shows there."""
    parts = urlsplit(link)
    return (parts.path, *sorted(one.partition("=")[0] for one in parts.query.split("&")))


def test_a_person_is_forgotten_by_keys_and_on_a_phone(visit: Visit, serving: ExitStack, tmp_path: Path) -> None:
    """S6: what would go is shown first, Keep it goes back, and the proof is read on the page."""
    store = serving.enter_context(Store.open(tmp_path / "home", continuity=ON))
    at = serving.enter_context(served(store))
    memory = store.user()
    memory.add(["My sister Zelda works at Quuxcorp.", "I live in Porto, near the river."], speaker="Mara")
    memory.end_session()
    memory.organize()
    page = visit("/documents?id=~/memory/people/mara", at=at, viewport=PHONE, color_scheme="dark")
    fact = page.locator(".prose .menu").first
    fact.locator("summary").first.press("Enter")
    fact.get_by_role("link", name="Forget").press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Forget f")
    assert fits(page)
    page.get_by_role("link", name="Keep it").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Mara")
    page.goto(f"{at}/about?name=Zelda")
    page.get_by_role("link", name="Forget everything about Zelda").click()
    expect(page.locator(".going").first).to_contain_text("Quuxcorp")
    page.get_by_role("button", name="Forget for good").click()
    expect(page.get_by_role("status")).to_contain_text("It is gone")
    expect(page.get_by_role("status")).to_contain_text(": nothing is left.")
    assert fits(page)
    assert "Quuxcorp" not in "".join(hit.text for hit in memory.list())


def test_a_search_begins_on_the_overview(visit: Visit) -> None:
    """R11: the box is there, and / goes to it."""
    page = visit("/")
    page.keyboard.press("/")
    page.keyboard.type("Where does Mara live?")
    page.keyboard.press("Enter")
    page.wait_for_url("**/search?q=**")
    expect(page.locator(".hit").first).to_be_visible()


def test_the_api_is_described_offline(visit: Visit) -> None:
    """F5: `/docs` opens each operation, leads to its values, and asks no other host for anything."""
    page = visit("/docs")
    expect(page.get_by_role("heading", name="API", exact=True)).to_be_visible()
    page.locator("#search summary").click()
    expect(page.locator("#search pre")).to_contain_text("/api/v1/search")
    page.locator("#search").get_by_role("link", name="Hit").click()
    expect(page.locator("section#Hit h3")).to_be_in_viewport()
