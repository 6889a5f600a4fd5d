"""The way into the page: login and logout, where they lead, and what a browser is told that may not come in."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from lifelong.memory import Store
from lifelong.serve.http.app import create_app
from tests.pages import HOSTILE

TOKEN = "s3cret-for-tests"
BROWSER = {"accept": "text/html,*/*"}


@pytest.fixture
def client(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[TestClient]:
    """A server with a token, and nobody logged in."""
    monkeypatch.setattr("lifelong.serve.http.guard.WRONG_TOKEN_SECONDS", 0.0)
    with Store.open(tmp_path / "home") as store:
        app = create_app(store, token=TOKEN)
        yield TestClient(app, base_url="http://localhost", follow_redirects=False, headers=BROWSER)


def test_a_login_goes_on_to_the_wanted_page(client: TestClient) -> None:
    """S8: also after a wrong token."""
    asked = "/search?q=Gr%C3%BC%C3%9Fe+%26+more&kind=record"
    sent = client.get(asked).headers["location"]
    assert sent == f"/login?next={quote(asked, safe='')}"
    field = 'name="next" type="hidden" value="/search?q=Gr%C3%BC%C3%9Fe+%26+more&amp;kind=record"'
    assert field in client.get(sent).text
    wrong = client.post("/login", data={"token": "guess", "next": asked})
    assert wrong.status_code == 401
    assert 'role="alert"' in wrong.text
    assert field in wrong.text
    assert client.post("/login", data={"token": TOKEN, "next": asked}).headers["location"] == asked


@pytest.mark.parametrize(
    "asked",
    [
        *("https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "/\n/evil.example"),
        *("javascript:ran()", "evil.example", "\\\\evil.example", " //evil.example", "/a\\b", ""),
    ],
)
def test_a_login_goes_nowhere_else(client: TestClient, asked: str) -> None:
    """S8: no link to our login sends a person to another site."""
    assert client.post("/login", data={"token": TOKEN, "next": asked}).headers["location"] == "/"


def test_what_is_asked_for_is_text_on_the_login(client: TestClient) -> None:
    """S5."""
    html = client.get("/login", params={"next": HOSTILE}).text
    assert "<script" not in html
    assert 'value="&lt;/title&gt;' in html


def test_who_logged_in_can_log_out(client: TestClient) -> None:
    """S8: by a button that is there for nobody else."""
    button = 'action="/logout"'
    assert button not in client.get("/", headers={"authorization": f"Bearer {TOKEN}"}).text
    client.post("/login", data={"token": TOKEN})
    assert button in client.get("/").text
    assert button in client.get("/documents?id=nope").text
    assert client.post("/logout").headers["location"] == "/login"
    assert client.get("/").headers["location"] == "/login"


def test_a_browser_is_told_why_it_is_refused(client: TestClient) -> None:
    """S8: by a page; a program gets its problem as before."""
    page = client.get("/", headers={"host": "memory.lan"})
    assert (page.status_code, page.headers["content-type"]) == (403, "text/html; charset=utf-8")
    assert "--allow-host" in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    for address, accept in (("/", "*/*"), ("/api/v1/admin/health", "text/html")):
        answer = client.get(address, headers={"host": "memory.lan", "accept": accept})
        assert (answer.status_code, answer.headers["content-type"]) == (403, "application/problem+json")


def test_a_form_whose_login_has_ended_leads_to_the_login(client: TestClient) -> None:
    """S8: a person sees no JSON; a program still gets its problem."""
    sent = client.post("/items", data={"item": "r1", "do": "pin"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    answer = client.post("/api/v1/search", json={"query": "tea"})
    assert (answer.status_code, answer.headers["content-type"]) == (401, "application/problem+json")


@pytest.mark.parametrize(
    ("address", "status", "told"),
    [("/nowhere", 404, "There is nothing at this address."), ("/items", 405, "Method Not Allowed.")],
)
def test_a_person_gets_a_page_for_a_404(client: TestClient, address: str, status: int, told: str) -> None:
    """With the way back; a program gets a problem."""
    client.headers["authorization"] = f"Bearer {TOKEN}"
    page = client.get(address)
    assert (page.status_code, page.headers["content-type"]) == (status, "text/html; charset=utf-8")
    assert told in page.text
    assert 'href="/search"' in page.text
    assert client.get(address, headers={"accept": "*/*"}).json()["status"] == status


def test_a_person_sees_no_json_where_something_broke(client: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """And nothing of the inside."""
    client.headers["authorization"] = f"Bearer {TOKEN}"
    monkeypatch.setattr("lifelong.serve.page.context.VIEWS", None)
    page = client.get("/")
    assert (page.status_code, page.headers["content-type"]) == (500, "text/html; charset=utf-8")
    assert "Something went wrong in the server. Its log says what." in page.text


@pytest.mark.parametrize(("further", "is_told"), [((), True), (("--allow-host", "memory.lan"), False)])
def test_listening_everywhere_hints_at_allow_host(tmp_path: Path, further: tuple[str, ...], is_told: bool) -> None:
    """S8: other machines call it by another name, which must be allowed."""
    Store.open(tmp_path / "home").close()
    command = (sys.executable, "-m", "lifelong", "serve", "--host", "0.0.0.0", "--port", "0", "--no-worker")
    with subprocess.Popen(
        [*command, "--home", str(tmp_path / "home"), *further],
        env={**os.environ, "LIFELONG_TOKEN": TOKEN},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        said = process.stdout.readline()
        process.terminate()
    assert "http://127.0.0.1:" in said
    assert ("--allow-host NAME" in said) is is_told
