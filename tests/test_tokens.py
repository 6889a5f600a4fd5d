"""F5, S8: tokens of users: made, listed, revoked; what each may reach and do, over HTTP, MCP and the page; and the
log of what was changed with them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from mcp import Client as McpClient
from mcp import MCPError
from starlette.testclient import TestClient

from lifelong import Memory
from lifelong.errors import AccessDenied, InputError, StorageBusy, StorageUnavailable, TokenNotFound
from lifelong.memory import Store
from lifelong.serve.http.app import api, create_app
from lifelong.serve.http.scopes import ADMIN, READS, SCOPE_KEY
from lifelong.serve.mcp.server import make_server
from lifelong.serve.server import serve
from lifelong.testing import FakeClock
from lifelong.tokens import Grant, Scope
from tests import pages
from tests.command_line import Line
from tests.http_api import API, Api

SERVER_TOKEN = "the-token-of-the-server"
ON = {"journal_enabled": True, "experience_store_enabled": True}


# Tokens


def test_a_token_is_shown_once_and_stored_as_a_digest(memory: Memory) -> None:
    """F5: on either database."""
    tokens = memory.store.tokens
    assert not tokens.exist()
    made = tokens.create("mara", "write", "laptop")
    assert tokens.exist(live=True)
    (listed,) = tokens.list()
    assert (listed.id, listed.user, listed.scope, listed.name) == (made.id, "mara", "write", "laptop")
    assert not hasattr(listed, "secret")
    rows = memory._user_parts.shared.database.read(lambda tx: tx.all("SELECT * FROM tokens"))
    assert made.secret.rpartition("_")[2] not in str(rows)
    assert tokens.grant(made.secret) == Grant("write", "mara", made.id)


def test_a_wrong_token_grants_nothing(memory: Memory) -> None:
    tokens = memory.store.tokens
    made, other = tokens.create("mara"), tokens.create("ben")
    swapped = f"lifelong_{made.id}_{other.secret.split('_', 2)[2]}"
    for wrong in ("", "lifelong", made.id, made.secret[:-1], f"{made.secret}x", swapped, made.secret.upper()):
        assert tokens.grant(wrong) is None


def test_a_revoked_token_grants_nothing(memory: Memory) -> None:
    tokens = memory.store.tokens
    made = tokens.create("mara")
    revoked = tokens.revoke(made.id)
    assert revoked.revoked_at
    assert (tokens.grant(made.secret), tokens.grant_of(made.id)) == (None, None)
    assert tokens.revoke(made.id) == revoked, "twice is once"
    assert (tokens.exist(), tokens.exist(live=True)) == (True, False)
    with pytest.raises(TokenNotFound, match="token list"):
        tokens.revoke("t0000000000")


def test_use_is_noted_once_an_hour(memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """F5: reading does not write each time, and goes on where nothing can be written."""
    tokens = memory.store.tokens
    made = tokens.create("mara")
    first = clock.now
    for _ in range(3):
        tokens.grant(made.secret)
        clock.now += timedelta(minutes=10)
    assert tokens.list()[0].used_at == first
    clock.now += timedelta(hours=1)
    tokens.grant(made.secret)
    assert tokens.list()[0].used_at == clock.now
    clock.now += timedelta(hours=1)

    def busy(work: Callable[..., object]) -> None:
        raise StorageBusy

    monkeypatch.setattr(memory._user_parts.shared.database, "write", busy)
    assert tokens.grant(made.secret)


@pytest.mark.parametrize(
    ("user", "scope", "name", "why"),
    [
        ("", "write", "", "for one user"),
        ("Mara", "read", "", "cannot name a user"),
        ("mara", "root", "", "Unknown scope"),
        ("mara", "read", "x" * 101, "100"),
    ],
)
def test_what_cannot_be_a_token_is_refused(memory: Memory, user: str, scope: Any, name: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        memory.store.tokens.create(user, scope, name)
    assert not memory.store.tokens.exist()


def test_a_grant_reaches_one_user_and_no_further() -> None:
    grant = Grant("write", "mara", "t1")
    grant.check("read", "mara")
    grant.check("write", "mara")
    with pytest.raises(AccessDenied, match="for the user 'mara' only"):
        grant.check("read", "ben")
    with pytest.raises(AccessDenied, match="scope 'admin'"):
        grant.check("admin")
    Grant().check("admin", "ben")


def test_forgetting_a_user_removes_their_tokens_and_log(memory: Memory) -> None:
    """F5, S6."""
    store = memory.store
    store.user("mara").add("I live in Lisbon.")
    mine, other = store.tokens.create("mara"), store.tokens.create("ben")
    store.tokens.log_write(Grant("write", "mara", mine.id), "add", "mara", ["r1"], "done")
    store.tokens.log_write(Grant("write", "ben", other.id), "add", "ben", ["r2"], "done")
    store.forget_user("mara")
    assert [one.id for one in store.tokens.list()] == [other.id]
    assert store.tokens.grant(mine.secret) is None
    assert [one.user for one in store.tokens.write_log()] == ["ben"]


def test_an_export_has_no_token(tmp_path: Path) -> None:
    """F5, S10: nor does a token keep an import from its user."""
    with Store.open(tmp_path / "home") as store:
        store.user("mara").add("I live in Lisbon.")
        made = store.tokens.create("mara", name="my-own-laptop")
        store.tokens.log_write(Grant("write", "mara", made.id), "add", "mara", [], "done")
        store.user("mara").export(tmp_path / "export")
    whole = b"".join(file.read_bytes() for file in (tmp_path / "export").rglob("*") if file.is_file())
    assert not [part for part in (made.id, "my-own-laptop", "digest_of_token") if part.encode() in whole]
    with Store.open(tmp_path / "other") as store:
        kept = store.tokens.create("mara")
        store.import_user(tmp_path / "export")
        assert [one.id for one in store.tokens.list()] == [kept.id]


# The log of writes


def test_the_log_keeps_ids_and_no_text(memory: Memory, clock: FakeClock) -> None:
    tokens = memory.store.tokens
    targets = ["r12", "d0123456789abcdef", "Lisbon", "~/memory/people/priya", "my pin is 4711", "r12", "v3"]
    tokens.log_write(Grant("write", "mara", "t1"), "forget", "mara", targets, "done")
    (entry,) = tokens.write_log()
    assert entry.targets == ["r12", "d0123456789abcdef", "v3"]
    assert (entry.at, entry.token, entry.user, entry.operation, entry.outcome) == (
        *(clock.now, "t1", "mara", "forget", "done"),
    )


def test_the_log_is_filtered_and_paged(memory: Memory) -> None:
    tokens = memory.store.tokens
    for user, token in (("mara", "t1"), ("ben", "t2"), ("mara", "t3")):
        tokens.log_write(Grant("write", user, token), "add", user, [], "done")
    newest = tokens.write_log(1)[0]
    assert newest.token == "t3"
    assert [one.token for one in tokens.write_log(before=newest.id)] == ["t2", "t1"]
    assert [one.token for one in tokens.write_log(user="mara")] == ["t3", "t1"]
    assert [one.user for one in tokens.write_log(token="t2")] == ["ben"]


def test_the_log_is_bounded(memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> None:
    """By age and by number, without a job of its own."""
    monkeypatch.setattr("lifelong.tokens.WRITES_PER_PRUNING", 5)
    tokens, grant = memory.store.tokens, Grant("write", "mara", "t1")
    tokens.log_write(grant, "old", "mara", [], "done")
    clock.now += timedelta(days=400)
    for _ in range(5):
        tokens.log_write(grant, "new", "mara", [], "done")
    assert {one.operation for one in tokens.write_log()} == {"new"}
    monkeypatch.setattr("lifelong.tokens.MAX_LOGGED_WRITES", 2)
    tokens.prune_log()
    assert len(tokens.write_log()) == 2


def test_refused_writes_push_nothing_out_of_the_log(
    memory: Memory, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """S8: they are logged, up to a number of each token in an hour; what is done is logged always."""
    monkeypatch.setattr("lifelong.tokens.WRITES_PER_PRUNING", 1)
    monkeypatch.setattr("lifelong.tokens.MAX_LOGGED_WRITES", 9)
    monkeypatch.setattr("lifelong.tokens.MAX_NOT_DONE", 3)
    tokens, grant = memory.store.tokens, Grant("read", "mara", "t1")
    tokens.log_write(Grant("write", "ben", "t2"), "forget", "ben", ["r1"], "done")
    for number in range(20):
        tokens.log_write(grant, "add", "mara", [], "refused" if number % 2 else "failed")
    assert [one.token for one in tokens.write_log()] == ["t1"] * 3 + ["t2"]
    tokens.log_write(grant, "add", "mara", [], "done")
    tokens.log_write(Grant("read", "ben", "t3"), "add", "ben", [], "refused")
    clock.now += timedelta(hours=2)
    tokens.log_write(grant, "add", "mara", [], "refused")
    assert [one.token for one in tokens.write_log(3)] == ["t1", "t3", "t1"]
    assert tokens.write_log()[-1].operation == "forget"


# The command line


def test_the_commands(tmp_path: Path, line: Line) -> None:
    home = tmp_path / "home"
    line.done("init", "--home", home)
    made = line("token", "create", "--user", "mara", "--scope", "read", "--name", "laptop", "--home", home)
    assert made.code == 0
    secret = made.out.strip()
    assert "not shown again" in made.err
    assert "holds nothing yet" in made.err
    assert "require a token, on loopback too. For yourself: lifelong token create --scope admin" in made.err
    assert secret not in made.err
    again = line("token", "create", "--scope", "admin", "--home", home, "--json").json
    assert (again["scope"], again["user"]) == ("admin", "")
    (first,) = line.done("token", "list", "--user", "mara", "--home", home, "--json").json
    assert (first["name"], first["used_at"], first["revoked_at"]) == ("laptop", None, None)
    assert secret not in line.done("token", "list", "--home", home).out
    assert line.done("token", "revoke", first["id"], "--home", home).out.endswith("is revoked.\n")
    assert line.done("token", "revoke", first["id"], "--home", home).out.endswith("already.\n")
    with Store.open(home) as store:
        assert store.tokens.grant(secret) is None
        store.tokens.log_write(Grant(token=again["id"]), "backup", "", [], "done")
    assert line.done("token", "log", "--home", home, "--json").json[0]["operation"] == "backup"
    assert line("token", "create", "--home", home).code == 2


# Over HTTP


class Client:
    """Calls a server with one token."""

    def __init__(self, served: TestClient, secret: str) -> None:
        self._served = served
        self._headers = {"authorization": f"Bearer {secret}"}

    def __call__(self, method: str, path: str, body: object = None, **headers: str) -> Any:
        return self._served.request(method, path, json=body, headers={**self._headers, **headers})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "home", continuity=ON) as store:
        for user, city in (("mara", "Lisbon"), ("ben", "Oslo")):
            store.user(user).add(f"I live in {city}.")
        yield store


@pytest.fixture
def served(store: Store) -> Iterator[TestClient]:
    app = create_app(store, token=SERVER_TOKEN, hosts=["testserver"])
    with TestClient(app, follow_redirects=False) as client:
        yield client


@pytest.fixture
def client(store: Store, served: TestClient) -> Callable[..., Client]:
    def make(scope: Scope = "write", user: str = "mara") -> Client:
        return Client(served, store.tokens.create(user, scope).secret)

    return make


def test_a_token_reaches_its_users_memory_alone(client: Callable[..., Client]) -> None:
    """S8, C0: without naming the user, or by name; never another, whether there is one or not."""
    ask = client("read")
    for suffix in ("", "?user=mara"):
        found = ask("POST", f"{API}/search{suffix}", {"query": "Where do I live?"}).json()
        assert [hit["text"] for hit in found] == ["I live in Lisbon."]
    answers = [ask("POST", f"{API}/search?user={user}", {"query": "x"}) for user in ("ben", "nobody", "default")]
    assert {answer.status_code for answer in answers} == {403}
    assert {answer.json()["type"] for answer in answers} == {"urn:lifelong:access-denied"}
    assert len({answer.json()["detail"] for answer in answers}) == 1, "it does not tell which users there are"
    assert ask("GET", f"{API}/users").json() == ["mara"]
    assert ask("POST", f"{API}/search?user=mara&user=ben", {"query": "x"}).status_code == 403
    twice = ask("POST", f"{API}/search?user=ben&user=mara", {"query": "Where do I live?"}).json()
    assert [hit["text"] for hit in twice] == ["I live in Lisbon."]


def test_every_operation_is_refused_for_another_user(client: Callable[..., Client]) -> None:
    """S8: no operation forgets to ask."""
    ask = client("write")
    for path, methods in api().openapi()["paths"].items():
        for method, operation in methods.items():
            address = path.replace("{review}", "v1").replace("{record}", "r1").replace("{day}", "2026-03-05")
            address = address.replace("{item_id}", "1").replace("{changeset_id}", "1").replace("{recall_id}", "1")
            answer = ask(method.upper(), f"{address.replace('{', '').replace('}', '')}?user=ben", {})
            assert answer.status_code == 403, operation["operationId"]


def test_the_scopes_are_kept(client: Callable[..., Client]) -> None:
    """F5: `read` cannot write, `write` cannot administer; every operation says what it needs."""
    read, write = client("read"), client("write")
    seen = set()
    for path, methods in api().openapi()["paths"].items():
        for method, operation in methods.items():
            scope = operation[SCOPE_KEY]
            seen.add(operation["operationId"])
            if scope == "write":
                assert read(method.upper(), path, {}).status_code == 403, path
            if scope == "admin":
                assert {one(method.upper(), path, {}).status_code for one in (read, write)} == {403}, path
    assert {*READS, *ADMIN} <= seen, "each name is one of an operation"
    added = write("POST", f"{API}/add", {"text": "I like tea."})
    assert added.status_code == 201
    assert read("GET", f"{API}/receipt/{added.json()['ids'][0]}").status_code == 200
    assert read("POST", f"{API}/add", {"text": "No."}).json()["detail"].startswith("This token may only read")


def test_a_user_begins_with_a_token(store: Store, client: Callable[..., Client]) -> None:
    """F5: whoever has one may ask before anything is stored."""
    ask = client("write", "nora")
    assert ask("POST", f"{API}/search", {"query": "x"}).json() == []
    assert "nora" not in store.users()
    assert ask("POST", f"{API}/add", {"text": "Hello."}).status_code == 201
    assert "nora" in store.users()


def test_admins_look_after_tokens_over_http(store: Store, served: TestClient) -> None:
    """F5: with the server's token, and with one that it made."""
    root = Client(served, SERVER_TOKEN)
    made = root("POST", f"{API}/tokens", {"scope": "admin", "name": "ops"}).json()
    ops = Client(served, made["secret"])
    mine = ops("POST", f"{API}/tokens", {"user": "mara", "scope": "read"}).json()
    assert [one["id"] for one in ops("GET", f"{API}/tokens?user=mara").json()] == [mine["id"]]
    assert "secret" not in ops("GET", f"{API}/tokens").text
    ask = Client(served, mine["secret"])
    assert ask("GET", f"{API}/list").status_code == 200
    assert ops("DELETE", f"{API}/tokens/{mine['id']}").json()["revoked_at"]
    assert ask("GET", f"{API}/list").status_code == 401
    assert ops("DELETE", f"{API}/tokens/t0").status_code == 404
    assert ops("POST", f"{API}/tokens", {"scope": "read"}).status_code == 422
    assert ops("POST", f"{API}/search?user=ben", {"query": "Where?"}).json()
    served.headers["authorization"] = f"Bearer {made['secret']}"
    by_name = Api(served)
    assert by_name("list_tokens") == ops("GET", f"{API}/tokens").json()
    log = by_name("list_writes", limit=50)
    assert log == ops("GET", f"{API}/admin/write_log").json()
    assert [(one["token"], one["operation"], one["targets"], one["outcome"]) for one in log[::-1]] == [
        ("server", "create_token", [made["id"]], "done"),
        (made["id"], "create_token", [mine["id"]], "done"),
        (made["id"], "revoke_token", [mine["id"]], "done"),
        (made["id"], "revoke_token", ["t0"], "refused"),
        (made["id"], "create_token", [], "refused"),
    ]


def test_writes_are_logged_and_reads_are_not(store: Store, client: Callable[..., Client]) -> None:
    """F5: which token, in whose memory, which ids, how it ended; no text."""
    ask = client()
    ids = ask("POST", f"{API}/add", {"text": "My cat is Zimtstern."}).json()["ids"]
    ask("POST", f"{API}/search", {"query": "Zimtstern"})
    ask("POST", f"{API}/pin", {"item": ids[0]})
    document = ask("POST", f"{API}/documents", {"slug": "cats", "title": "Zimtstern", "body": "One."}).json()
    ask("PATCH", f"{API}/documents/{document['id']}", {"expected_version": 7, "append": "Zimtstern"})
    ask("POST", f"{API}/forget", {"matching": "Zimtstern"})
    ask("PUT", f"{API}/notes/zimtstern/zimtstern", {"content": "Zimtstern"})
    ask("POST", f"{API}/forget", {"ids": ids, "dry_run": False})
    client("read")("POST", f"{API}/add", {"text": "Zimtstern"})
    log = store.tokens.write_log()[::-1]
    assert [(one.operation, one.targets, one.outcome) for one in log] == [
        ("add", ids, "done"),
        ("pin", ids, "done"),
        ("make_document", [document["id"]], "done"),
        ("edit_document", [document["id"]], "refused"),
        ("store_note", [], "done"),
        ("forget", ids, "done"),
        ("add", [], "refused"),
    ]
    assert {one.user for one in log} == {"mara"}
    assert "zimtstern" not in str(log).lower()


def test_paths_of_the_machine_are_for_admins(
    store: Store, served: TestClient, client: Callable[..., Client], monkeypatch: pytest.MonkeyPatch
) -> None:
    """S8: neither in an error, nor in a reason, nor in a report."""
    place = str(store.home.path)
    root, ask = Client(served, SERVER_TOKEN), client()
    assert place in root("POST", f"{API}/admin/backup", {"name": "copy"}).json()["path"]
    store.set_worker_notes({"": [f"{place}/users/ben/MEMORY.md could not be read. Check it."]})
    assert place in root("GET", f"{API}/admin/health").text
    health = ask("GET", f"{API}/admin/health").json()
    assert health["reasons"] == ["… could not be read. Check it."]
    for tell in (root, ask):
        report = tell("POST", f"{API}/forget?user=mara", {"matching": "Lisbon"}).json()["report"]
        assert report["backups"] == [f"{place}/backups/copy.db" if tell is root else "copy.db"]
    page = {"accept": "text/html"}
    assert place not in ask("GET", "/forget?matching=Lisbon", **page).text
    assert place not in "".join(ask("GET", path, **page).text for path in ("/", "/inbox", "/journal", "/review"))
    folder = store.home.path / "users" / "mara" / "workers" / "builder"
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("in the way")
    for tell in (root, ask):
        failed = tell("PUT", f"{API}/notes/builder/a?user=mara", {"content": "x"})
        assert failed.status_code >= 400
        assert tell is root or place not in failed.text


def test_mcp_honours_tokens(store: Store, client: Callable[..., Client]) -> None:
    """F5, F2: a token that may only read is offered what reads; each write is logged."""
    read, write = client("read"), client("write")
    protocol = {"accept": "application/json, text/event-stream", "mcp-protocol-version": "2025-06-18"}

    def call(ask: Client, method: str, address: str = "/mcp", **given: object) -> Any:
        message = {"jsonrpc": "2.0", "id": 1, "method": method, "params": given}
        return ask("POST", address, message, **protocol).json()

    offered = [{one["name"] for one in call(ask, "tools/list")["result"]["tools"]} for ask in (read, write)]
    assert offered[0] < offered[1]
    assert "add" in offered[1] - offered[0]
    known = len(store.user("mara").agents.list())
    found = call(read, "tools/call", name="recall_memory", arguments={"query": "Where do I live?"})["result"]
    assert "Lisbon" in found["content"][0]["text"]
    assert len(store.user("mara").agents.list()) == known, "whoever only reads makes no agent"
    refused = call(read, "tools/call", name="add", arguments={"user": "No."})["result"]
    assert refused["isError"]
    assert "may only read" in refused["content"][0]["text"]
    assert "for the user 'mara' only" in json.dumps(call(write, "tools/list", "/mcp?user=ben"))
    stored = call(write, "tools/call", name="add", arguments={"user": "I like tea."})["result"]
    assert stored["content"][0]["text"].startswith("Stored as r")
    log = [(one.operation, one.targets, one.outcome) for one in store.tokens.write_log()[::-1]]
    assert log == [
        ("mcp add", [], "refused"),
        ("mcp add", [stored["content"][0]["text"].removeprefix("Stored as ").rstrip(".")], "done"),
    ]


def test_mcp_over_http_does_nothing_for_who_is_not_known(store: Store) -> None:
    """S8: a version of the SDK that hides the request would else open the home to every token."""

    async def ask() -> None:
        async with McpClient(make_server(store, over_http=True)) as client:
            with pytest.raises(MCPError):
                await client.list_tools()

    asyncio.run(ask())


def test_the_page_honours_tokens(store: Store, served: TestClient) -> None:
    """F5: a login is worth what its token is, and ends with it."""
    made = store.tokens.create("mara", "read")
    item = store.user("mara").list("record")[0].id
    assert served.post("/login", data={"token": made.secret}).status_code == 303
    page = served.get("/browse", headers={"accept": "text/html"})
    assert "I live in Lisbon." in page.text
    assert "ben" not in page.text
    assert served.get("/?user=ben", headers={"accept": "text/html"}).status_code == 403
    form = {"item": item, "verdict": "useful"}
    refused = served.post("/items", data=form, headers={"accept": "text/html", "origin": "http://testserver"})
    assert (refused.status_code, "Not with this token" in refused.text) == (403, True)
    assert served.get(f"/forget?id={item}", headers={"accept": "text/html"}).status_code == 403
    assert served.get("/docs", headers={"accept": "text/html"}).status_code == 200
    assert [(one.operation, one.outcome) for one in store.tokens.write_log()] == [
        ("page /items", "refused"),
    ]
    store.tokens.revoke(made.id)
    assert served.get("/", headers={"accept": "text/html"}).headers["location"] == "/login"


def test_events_end_with_their_token(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: who listens hears nothing more of the memory once the token is revoked."""
    monkeypatch.setattr("lifelong.serve.http.events.POLL_SECONDS", 0.05)
    made = store.tokens.create("mara", "read")
    with pages.served(store, SERVER_TOKEN) as address:
        told = urlopen(Request(f"{address}{API}/events", headers={"authorization": f"Bearer {made.secret}"}))
        assert told.readline() == b"event: overview\n"
        store.tokens.revoke(made.id)
        store.user("mara").documents.write(slug="a", title="A", description="", body="Nobody hears of this.")
        assert not any(b"changeset" in line for line in iter(told.readline, b""))  # until its end


# When one is needed


def test_a_home_with_a_token_is_closed_on_loopback_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: from the first one on, also where that was revoked since."""
    monkeypatch.setattr("lifelong.serve.http.access.OPEN_SECONDS", 0.0)
    with Store.open(tmp_path / "home") as store:
        with TestClient(create_app(store), base_url="http://localhost") as client:
            assert client.get(f"{API}/users").status_code == 200
            made = store.tokens.create(scope="admin")
            assert client.get(f"{API}/users").status_code == 401
            assert Client(client, made.secret)("GET", f"{API}/users").status_code == 200
            store.tokens.revoke(made.id)
            assert client.get(f"{API}/users").status_code == 401
        with TestClient(create_app(store), base_url="http://localhost") as client:
            assert client.get(f"{API}/users").status_code == 401


def test_a_token_counts_at_once_also_the_first_one(tmp_path: Path) -> None:
    """S8: who shows it just after the home was open is not taken for somebody who may do all."""
    with (
        Store.open(tmp_path / "home") as store,
        TestClient(create_app(store), base_url="http://localhost") as client,
    ):
        assert client.get(f"{API}/users").status_code == 200
        mara = Client(client, store.tokens.create("mara", "read").secret)
        assert mara("GET", f"{API}/users").json() == ["mara"]
        assert mara("POST", f"{API}/add", {"text": "Not with this one."}).status_code == 403
        assert client.get(f"{API}/users").status_code == 401


def test_off_loopback_a_live_token_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: of the home or of the server; a revoked one is none."""
    with Store.open(tmp_path) as store:
        made = store.tokens.create("mara")

    class Listening(Exception):
        """It would start now."""

    def listening(host: str, port: int) -> None:
        raise Listening

    monkeypatch.setattr("lifelong.serve.server._listening", listening)
    with pytest.raises(Listening):
        serve(tmp_path, host="0.0.0.0")
    with pytest.raises(InputError, match="Leave LIFELONG_TOKEN out"):  # it would be the token of nobody
        serve(tmp_path, host="0.0.0.0", token=made.secret)
    with Store.open(tmp_path) as store:
        store.tokens.revoke(made.id)
    with pytest.raises(InputError, match="a token is required"):
        serve(tmp_path, host="0.0.0.0")


def test_a_database_that_is_away_lets_nobody_in(store: Store) -> None:
    """S8: and what is answered then names no place, since nobody has shown a token."""
    made = store.tokens.create(scope="admin")
    with TestClient(create_app(store, hosts=["testserver"])) as client:

        def away(work: Callable[..., object]) -> None:
            raise StorageUnavailable(f"{store.home.path} cannot be opened.")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(store._parts.database, "read", away)
            for headers in ({"accept": "text/html"}, {"accept": "*/*"}):
                answer = client.get("/", headers={**headers, "authorization": f"Bearer {made.secret}"})
                assert (answer.status_code, str(store.home.path) in answer.text) == (503, False)


def test_a_server_that_others_reach_is_never_open(tmp_path: Path) -> None:
    """S8: also where its tokens went with their users."""
    with (
        Store.open(tmp_path) as store,
        TestClient(create_app(store, token_required=True), base_url="http://localhost") as client,
    ):
        assert client.get(f"{API}/users").status_code == 401
