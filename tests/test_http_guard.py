"""S8: who may come in, from where, and with how much. Over a real server on loopback, and raw connections."""

from __future__ import annotations

import asyncio
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient
from starlette.websockets import WebSocketDisconnect

from lifelong.errors import InputError
from lifelong.memory import Store
from lifelong.serve.http import access, app, connection, guard
from lifelong.serve.http.access import COOKIE, Access
from lifelong.serve.http.app import create_app
from lifelong.serve.http.guard import is_loopback
from lifelong.serve.server import Server, serve
from lifelong.tokens import Grant
from tests.conftest import until
from tests.pages import served

TOKEN = "s3cret-for-tests-only"
HEALTH = "/api/v1/admin/health"


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    with Store.open(tmp_path_factory.mktemp("home")) as store:
        yield store


@pytest.fixture(scope="module")
def free(store: Store) -> Iterator[TestClient]:
    """A server without a token, as on loopback."""
    with TestClient(create_app(store), base_url="http://localhost:8377") as client:
        yield client


@pytest.fixture(scope="module")
def locked(store: Store) -> Iterator[TestClient]:
    """A server with one, and a name of its own."""
    app = create_app(store, token=TOKEN, hosts=["memory.example"])
    with TestClient(app, base_url="http://memory.example", follow_redirects=False) as client:
        yield client


@pytest.fixture(autouse=True)
def no_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each wrong token is the first one, unless a test says otherwise."""
    monkeypatch.setattr(access, "WINDOW_SECONDS", 0.0)


# Where it listens


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.0.2.1", "memory.example", ""])
def test_off_loopback_there_must_be_a_token(tmp_path: Path, host: str) -> None:
    with pytest.raises(InputError, match="a token is required"):
        serve(tmp_path / "home", host=host)
    assert not (tmp_path / "home").exists()


def test_a_name_that_others_know_needs_a_token(tmp_path: Path) -> None:
    """Whoever leads here by a proxy or by DNS comes from elsewhere."""
    with pytest.raises(InputError, match=r"memory\.example can be reached by others, so a token is required"):
        serve(tmp_path / "home", hosts=["localhost:80", "memory.example"])
    with pytest.raises(InputError, match="'evil/path' is not a host name"):
        serve(tmp_path / "home", hosts=["evil/path"], token=TOKEN)


@pytest.mark.parametrize(
    ("token", "why"), [("short", "less than 16"), ("längst-genug-für-alle", "ASCII"), (" ", "ASCII")]
)
def test_a_token_is_hard_to_guess_and_fits_a_header(tmp_path: Path, token: str, why: str) -> None:
    with pytest.raises(InputError, match=f"{why}.* Make one with: python3"):
        serve(tmp_path / "home", host="0.0.0.0", token=token)


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "::1", "[::1]", "127.1.2.3"])
def test_loopback_is_known(host: str) -> None:
    assert is_loopback(host)


# Who comes in


def test_the_token_is_required(locked: TestClient) -> None:
    answer = locked.get(HEALTH)
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.headers["content-type"] == "application/problem+json"
    for address in ("/metrics", "/openapi.json", "/mcp", "/", "/static"):
        assert locked.get(address).status_code == 401


@pytest.mark.parametrize("given", [f"Bearer {TOKEN}x", "Bearer ", f"Basic {TOKEN}", TOKEN, "Bearer s3cret-é"])
def test_a_wrong_token_is_refused(locked: TestClient, given: str, caplog: pytest.LogCaptureFixture) -> None:
    answer = locked.get(HEALTH, headers={b"authorization": given.encode("latin-1")})
    assert answer.status_code == 401
    assert ("not accepted" in answer.json()["detail"]) == given.startswith("Bearer s3cret")
    assert "refused GET '/api/v1/admin/health'" in caplog.text
    assert "s3cret" not in caplog.text


@pytest.mark.parametrize("shown", [{"authorization": "Bearer guess"}, {"cookie": f"{COOKIE}=guess"}], ids=str)
def test_a_wrong_token_is_logged_on_the_page_too(
    locked: TestClient, shown: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert locked.get("/", headers={"accept": "text/html"}).status_code == 303
    assert "refused" not in caplog.text  # who shows nothing only has not logged in yet
    assert locked.get("/", headers={"accept": "text/html", **shown}).status_code == 303
    assert "refused GET '/'" in caplog.text
    assert "guess" not in caplog.text


def test_the_right_token_is_accepted(locked: TestClient) -> None:
    assert locked.get(HEALTH, headers={"authorization": f"Bearer {TOKEN}"}).status_code == 200
    assert locked.get(HEALTH, headers={"authorization": f"bearer  {TOKEN}"}).status_code == 200


def test_a_browser_logs_in_and_out(
    locked: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(guard, "WRONG_TOKEN_SECONDS", 0.0)
    sent = locked.get("/", headers={"accept": "text/html"})
    assert (sent.status_code, sent.headers["location"]) == (303, "/login")
    assert "/static/page.css" in locked.get("/login").text
    assert locked.post("/login", data={"token": "guess"}).status_code == 401
    assert "refused a login" in caplog.text
    assert "guess" not in caplog.text
    came = locked.post("/login", data={"token": TOKEN})
    cookie = came.headers["set-cookie"]
    assert (came.status_code, came.headers["location"]) == (303, "/")
    assert TOKEN not in cookie
    assert {"HttpOnly", "SameSite=strict"} <= {part.strip() for part in cookie.split(";")}
    assert locked.get(HEALTH).status_code == 200
    value = locked.cookies[COOKIE]
    assert locked.post("/logout").headers["location"] == "/login"
    locked.cookies.set(COOKIE, value)  # what somebody kept of it is worth nothing
    assert locked.get(HEALTH).status_code == 401
    locked.cookies.clear()


def test_a_login_takes_only_a_small_form(locked: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before a token is shown, a body is small, and has few fields."""
    monkeypatch.setattr(guard, "WRONG_TOKEN_SECONDS", 0.0)
    for path in ("/login", "/login/x", "/static/page.css"):
        assert locked.post(path, content=b"a=&" * 1_400).status_code == 413
    assert locked.post("/login", content=f"a=&b=&token={TOKEN}").status_code == 401


def test_a_cookie_from_tls_is_sent_over_tls_only(locked: TestClient) -> None:
    for scheme in ("http", "https"):
        came = locked.post("/login", data={"token": TOKEN}, headers={"origin": f"{scheme}://memory.example"})
        assert ("Secure" in came.headers["set-cookie"]) == (scheme == "https")
        locked.cookies.clear()


def test_without_a_token_there_is_no_login(free: TestClient) -> None:
    assert free.get("/login", follow_redirects=False).headers["location"] == "/"


# Wrong tokens


class Knocking:
    """Shows tokens to a server of its own, from addresses of its own on loopback."""

    def __init__(self, address: str) -> None:
        self.port = int(address.rpartition(":")[2])

    def __call__(self, token: str, source: str = "127.0.0.1") -> tuple[int, str]:
        asking = HTTPConnection("127.0.0.1", self.port, timeout=60, source_address=(source, 0))
        with closing(asking):
            asking.request("GET", HEALTH, headers={"authorization": f"Bearer {token}"})
            answer = asking.getresponse()
            return answer.status, answer.headers.get("retry-after", "")


@pytest.fixture
def knock(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Knocking]:
    monkeypatch.setattr(access, "WINDOW_SECONDS", 60.0)
    monkeypatch.setattr(access, "MAX_FAILURES", 3)
    with Store.open(tmp_path / "home") as store, served(store, TOKEN) as address:
        yield Knocking(address)


def test_wrong_tokens_are_throttled_by_address(knock: Knocking, caplog: pytest.LogCaptureFixture) -> None:
    """S8: guesses are answered with 429, also the right one; others, and who was right before, come in."""
    assert knock(TOKEN, "127.0.0.3")[0] == 200
    assert [knock(f"guess-{number}")[0] for number in range(5)] == [401, 401, 401, 429, 429]
    status, wait = knock(TOKEN)
    assert (status, 0 < int(wait) <= 61) == (429, True)
    assert [knock(TOKEN, source)[0] for source in ("127.0.0.2", "127.0.0.3")] == [200, 200]
    assert [knock("guess", "127.0.0.3")[0] for _ in range(4)] == [401, 401, 401, 429]
    assert knock(TOKEN, "127.0.0.3")[0] == 200
    assert caplog.text.count("refused GET") == 2, "one line for each address, however often"
    assert "guess" not in caplog.text


def test_a_token_that_was_made_is_never_locked_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: nobody can guess it, so it is looked up also where others at the same address guess."""
    monkeypatch.setattr(access, "WINDOW_SECONDS", 60.0)
    with Store.open(tmp_path / "home") as store:
        made = store.tokens.create("mara", "read")
        with served(store) as address:
            knock = Knocking(address)
            wrong = f"{made.secret[:-1]}{'x' if made.secret[-1] != 'x' else 'y'}"
            assert {knock(wrong)[0] for _ in range(15)} == {401, 429}
            assert knock(made.secret)[0] == 200


def test_many_addresses_have_one_guess_each(knock: Knocking, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: the limit over all."""
    monkeypatch.setattr(access, "MAX_FAILURES_OVERALL", 4)
    assert [knock("guess", f"127.0.1.{number}")[0] for number in range(1, 6)] == [401] * 5
    assert knock("guess", "127.0.1.1")[0] == 429
    assert knock("guess", "127.0.1.9")[0] == 401
    assert knock("guess", "127.0.1.9")[0] == 429


def test_wrong_tokens_are_counted_and_said_once_a_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """S8: a figure for the one who looks after it, and one line for all that were not logged."""
    monkeypatch.setattr(access, "WINDOW_SECONDS", 0.5)
    with Store.open(tmp_path / "home") as store, served(store, TOKEN) as address:
        knock = Knocking(address)
        for _ in range(4):
            knock("guess")
        until(lambda: "more requests without a right token" in caplog.text)
        with closing(HTTPConnection("127.0.0.1", knock.port, timeout=60)) as asking:
            asking.request("GET", "/metrics", headers={"authorization": f"Bearer {TOKEN}"})
            assert b"\nlifelong_auth_failures_total 4\n" in asking.getresponse().read()


def test_a_window_of_addresses_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: an address of IPv6 is worth no more than its network, and no number of them takes more room, or gives
    one that is not counted as many guesses as it likes."""
    monkeypatch.setattr(access, "WINDOW_SECONDS", 60.0)
    monkeypatch.setattr(access, "MAX_ADDRESSES", 5)

    async def count() -> tuple[bool, int, int]:
        failures = access.AuthFailures()
        failures.succeeded("198.51.100.1")
        for number in range(access.MAX_FAILURES):
            failures.failed(f"2001:db8::{number + 1:x}")
        is_over = failures.is_over_limit("2001:db8::ffff")
        for number in range(20):
            failures.failed(f"192.0.2.{number}")
            failures.note("refused", f"192.0.2.{number}")
        assert [failures.may_guess(one) for one in ("198.51.100.7", "198.51.100.1")] == [False, True]
        return is_over, len(failures._failures), failures.total

    assert asyncio.run(count()) == (True, 5, access.MAX_FAILURES + 20)


def test_logins_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(access, "MAX_LOGINS", 2)
    door, server = Access(TOKEN), Grant(token="server")

    def allows(cookie: str) -> bool:
        return asyncio.run(door.identify(Headers({"cookie": f"{COOKIE}={cookie}"}), "127.0.0.1")) is not None

    cookies = [door.log_in(server) for _ in range(4)]
    assert list(map(allows, cookies)) == [False, True, True, True]
    monkeypatch.setattr(access, "LOGIN_SECONDS", -1.0)
    for _ in range(3):
        assert not allows(door.log_in(server))
    assert allows(cookies[-1])  # those that ended take no room


def test_logins_of_one_token_end_no_others(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """S8: who has a token may log in as often as they like, and only their own oldest logins end."""
    monkeypatch.setattr(access, "MAX_LOGINS", 5)
    monkeypatch.setattr(access, "MAX_LOGINS_OF_TOKEN", 2)
    with Store.open(tmp_path) as store:
        door = Access(TOKEN, store.tokens)
        mine = Grant("write", "mara", store.tokens.create("mara").id)

        def allows(cookie: str) -> bool:
            return asyncio.run(door.identify(Headers({"cookie": f"{COOKIE}={cookie}"}), "127.0.0.1")) is not None

        other = door.log_in(Grant(token="server"))
        cookies = [door.log_in(mine) for _ in range(10)]
        assert list(map(allows, cookies)) == [False] * 8 + [True] * 2
        assert allows(other)


# From where


@pytest.mark.parametrize("host", ["localhost", "localhost:8377", "127.0.0.1:1", "[::1]:8377", "LOCALHOST"])
def test_loopback_names_are_answered(free: TestClient, host: str) -> None:
    assert free.get(HEALTH, headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        *("evil.example", "localhost.evil.example", "127.0.0.1.nip.io", "", "[::1", "a@b", "evil@localhost"),
        *("localhost/evil", "localhost?evil", "localhost:x", "localhost#", "[::1]x"),
    ],
)
def test_a_host_that_somebody_else_named_is_refused(
    free: TestClient, host: str, caplog: pytest.LogCaptureFixture
) -> None:
    """DNS rebinding: the name leads here, but is not ours."""
    assert free.get(HEALTH, headers={"host": host}).status_code == 403
    assert "another name" in caplog.text


def test_two_host_headers_are_refused(free: TestClient) -> None:
    assert free.get(HEALTH, headers=[("host", "localhost"), ("host", "evil.example")]).status_code == 403


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "http://[::1"},
        {"origin": "http://localhost:9999"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "http://localhost:8377", "sec-fetch-site": "cross-site"},
    ],
    ids=str,
)
def test_another_sites_page_changes_nothing(
    free: TestClient, headers: dict[str, str], caplog: pytest.LogCaptureFixture
) -> None:
    assert free.post("/api/v1/inbox/retry", headers=headers).status_code == 403
    assert "Another site's page" in caplog.text
    for path in ("/", HEALTH, "/search?q=x"):  # a recall is logged
        assert free.get(path, headers=headers).status_code == 403
    assert free.get("/static/page.css", headers=headers).status_code == 200


def test_a_link_from_elsewhere_leads_to_the_page_and_asks_nothing(free: TestClient) -> None:
    followed = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert free.get("/", headers=followed).status_code == 200
    assert free.get("/search", headers=followed).status_code == 200
    assert free.get("/search?q=x", headers=followed).status_code == 403
    assert free.get("/", headers={**followed, "sec-fetch-dest": "iframe"}).status_code == 403
    assert free.post("/items", headers=followed).status_code == 403


def test_the_own_page_and_programs_change_things(free: TestClient) -> None:
    own = {"origin": "http://localhost:8377", "sec-fetch-site": "same-origin"}
    assert free.post("/api/v1/inbox/retry", headers=own).status_code == 200
    assert free.post("/api/v1/inbox/retry").status_code == 200


def test_every_answer_has_the_headers(free: TestClient, locked: TestClient) -> None:
    for answer in (free.get(HEALTH), free.get("/nothing"), locked.get(HEALTH), locked.get("/login")):
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        assert "frame-ancestors 'none'" in answer.headers["content-security-policy"]
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"


def test_no_path_leaves_its_folder(free: TestClient) -> None:
    """S3: whatever a path is made to look like, no file of the machine comes back."""
    for path in (
        "/static/../../../../etc/passwd",
        "/static/%2e%2e/%2e%2e/%2e%2e/etc/passwd",
        "/static/..%2f..%2fetc%2fpasswd",
        "/..%2fetc/passwd",
        "/api/v1/notes/..%2f..%2f..%2fetc",
        "/api/v1/notes/%2e%2e",
        "/api/v1/documents/at?path=~/../../etc/passwd",
        "/api/v1/documents/..%2f..%2fetc%2fpasswd",
        "/api/v1/admin/health?user=../../etc",
    ):
        answer = free.get(path)
        assert answer.status_code in (404, 422), path
        assert "root:" not in answer.text


# How much


@pytest.fixture(scope="module")
def port(store: Store) -> Iterator[int]:
    """The server, with little patience."""
    server = Server(create_app(store), lambda: None)
    with pytest.MonkeyPatch.context() as patch, socket.create_server(("127.0.0.1", 0)) as listener:
        patch.setattr(connection, "HEAD_TIMEOUT_SECONDS", 2.0)
        patch.setattr(guard, "MAX_BODY_BYTES", 1_000)
        patch.setattr(guard, "BODY_TIMEOUT_SECONDS", 0.3)
        thread = threading.Thread(target=server.run, args=([listener],))
        thread.start()
        while not server.started:
            time.sleep(0.01)
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def talk(port: int, sent: bytes) -> bytes:
    """What comes back before the connection ends."""
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        connection.sendall(sent)
        got = b""
        with suppress(ConnectionResetError):  # it ended before it had read everything
            while part := connection.recv(1 << 16):
                got += part
        return got


def head(*lines: str, method: str = "POST", path: str = "/api/v1/search") -> bytes:
    first = (f"{method} {path} HTTP/1.1", "host: localhost", "content-type: application/json", *lines)
    return "\r\n".join((*first, "", "")).encode()


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (head("content-length: 9000000"), 413),
        (head("transfer-encoding: chunked") + b"800\r\n" + b"x" * 0x800 + b"\r\n", 413),
        (head("content-length: 100") + b'{"query":', 408),
        (head("transfer-encoding: chunked") + b"3\r\n{\r\n", 408),
        (head("origin: http://evil.example", "content-length: 100"), 403),
    ],
    ids=["declared", "streamed", "slow", "slow chunks", "foreign"],
)
def test_too_much_and_too_slow_is_refused_and_others_are_served(
    port: int, sent: bytes, status: int, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "lifelong.serve"):
        got = talk(port, sent)
    assert re.match(rb"HTTP/1.1 (\d+)", got)[1] == str(status).encode()  # type: ignore[index]
    assert b"application/problem+json" in got
    assert "refused" in caplog.text
    assert b"200 OK" in talk(port, head("connection: close", method="GET", path=HEALTH))


def test_a_body_within_the_limit_comes_in_pieces(port: int) -> None:
    pieces = b'a\r\n{"query":"\r\n4\r\nhi"}\r\n0\r\n\r\n'
    assert b"200 OK" in talk(port, head("transfer-encoding: chunked", "connection: close") + pieces)


def test_a_client_that_leaves_early_disturbs_nobody(port: int) -> None:
    with socket.create_connection(("127.0.0.1", port)) as connection:
        connection.sendall(head("content-length: 100") + b"{")
    assert b"200 OK" in talk(port, head("connection: close", method="GET", path=HEALTH))


@pytest.mark.parametrize("sent", [b"", b"GET / HTTP/1.1\r\nhost: local"], ids=["nothing", "half"])
def test_silent_and_half_requests_are_disconnected(port: int, sent: bytes) -> None:
    assert talk(port, sent) == b""


@pytest.mark.parametrize("before", [(), ("content-length: 9000",)], ids=["head", "body of a GET"])
def test_a_request_that_trickles_is_disconnected(port: int, before: tuple[str, ...]) -> None:
    """Each drop begins no time of its own; also after a request that was answered."""
    with closing(socket.create_connection(("127.0.0.1", port), timeout=60)) as talking:
        talking.sendall(head(*before, method="GET", path=HEALTH))
        assert b"200 OK" in talking.recv(1 << 16)
        talking.settimeout(0.05)
        assert any(is_over_after_a_drop(talking) for _ in range(200))


def is_over_after_a_drop(talking: socket.socket) -> bool:
    try:
        talking.sendall(b"G")
        return not talking.recv(1)
    except TimeoutError:
        return False
    except ConnectionError:
        return True


def test_a_request_without_a_host_is_refused(port: int) -> None:
    assert b"403 Forbidden" in talk(port, f"GET {HEALTH} HTTP/1.0\r\n\r\n".encode())


def test_what_is_not_http_is_refused(port: int) -> None:
    assert b" 400 " in talk(port, b"HELLO\r\n\r\n")[:40]


def test_headers_without_end_are_refused(port: int) -> None:
    got = talk(port, head("x-long: " + "y" * 200_000, method="GET").rstrip())
    assert not got or b" 400 " in got[:40]
    assert b"200 OK" in talk(port, head("connection: close", method="GET", path=HEALTH))


BOTH = ("content-length: 4", "transfer-encoding: chunked")
SMUGGLED = b"0\r\n\r\n" + head("connection: close", method="GET", path=HEALTH)


@pytest.mark.parametrize("lines", [BOTH, BOTH[::-1]], ids=["length first", "encoding first"])
@pytest.mark.parametrize("method", ["POST", "GET"])
def test_one_framing_only(port: int, lines: tuple[str, ...], method: str) -> None:
    """S8: where a request gives its length in two ways, a proxy may take what follows for its body, or not. It is
    refused, and so is all that follows on the connection."""
    got = talk(port, head(*lines, method=method) + SMUGGLED)
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"400"]
    assert b"connection: close" in got.lower()


@pytest.mark.parametrize("lines", [BOTH, BOTH[1:]], ids=["two framings", "one"])
def test_a_wrong_chunk_gets_one_answer_and_no_traceback(
    port: int, lines: tuple[str, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """S8: also while the request is refused for another reason."""
    got = talk(port, head(*lines) + b'e\r\n{"query": "hi"}\r\n0\r\n\r\n')
    assert re.findall(rb"HTTP/1.1 (\d+)", got) == [b"400"]
    assert b"200 OK" in talk(port, head("connection: close", method="GET", path=HEALTH))
    assert not [one for one in caplog.records if one.levelno >= logging.ERROR]


def test_an_old_request_in_chunks_is_refused(port: int) -> None:
    """S8: HTTP/1.0 knows no chunks."""
    sent = head("transfer-encoding: chunked").replace(b"HTTP/1.1", b"HTTP/1.0")
    assert re.findall(rb"HTTP/1.1 (\d+)", talk(port, sent + SMUGGLED)) == [b"400"]


@pytest.mark.parametrize(
    "lines",
    [("content-length: 4", "content-length: 5"), ("content-length: 4, 5",), ("content-length: +4",)],
    ids=str,
)
def test_two_lengths_are_refused(port: int, lines: tuple[str, ...]) -> None:
    assert re.findall(rb"HTTP/1.1 (\d+)", talk(port, head(*lines) + b"{}  ")) == [b"400"]


def test_large_bodies_leave_room_for_small_ones(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: what all bodies take together is bounded. Beyond it a large one is answered with 503, before or while it
    comes; a small one is served; and what is done with counts no longer."""
    monkeypatch.setattr(guard, "MAX_BODIES_BYTES", 1_000_000)
    monkeypatch.setattr(guard, "MAX_BODY_BYTES", 8_000_000)
    monkeypatch.setattr(guard, "BODY_TIMEOUT_SECONDS", 60.0)
    small = b'{"query": "hi"}'
    expecting = head("content-length: 300001", "expect: 100-continue")

    def is_expected() -> bytes:
        with connected(address, expecting) as asking:
            return asking.recv(1 << 16)

    with served(store) as address, ExitStack() as stack:
        port = int(address.rpartition(":")[2])
        for _ in range(3):  # 900,000 bytes, and each body lacks its end
            waiting = stack.enter_context(connected(address, expecting))
            assert b" 100 " in waiting.recv(1 << 16)
            waiting.sendall(b" " * 300_000)
        until(lambda: b" 503 " in is_expected()[:40])
        refused = is_expected()
        assert b"retry-after: 2" in refused
        assert b"application/problem+json" in refused
        chunks = 3 * (b"186a0\r\n" + b" " * 100_000 + b"\r\n")
        assert b" 503 " in talk(port, head("transfer-encoding: chunked") + chunks)[:40]
        assert b"200 OK" in talk(port, head(f"content-length: {len(small)}", "connection: close") + small)
        stack.close()
        large = small + b" " * 900_000
        sent = head(f"content-length: {len(large)}", "connection: close") + large
        until(lambda: b"200 OK" in talk(port, sent))


# How many


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Room for three, and patience with each of them."""
    monkeypatch.setattr(connection, "MAX_CONNECTIONS", 3)
    monkeypatch.setattr(connection, "HEAD_TIMEOUT_SECONDS", 60.0)
    monkeypatch.setattr(guard, "BODY_TIMEOUT_SECONDS", 60.0)


def connected(address: str, sent: bytes = b"") -> socket.socket:
    talking = socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2])), timeout=60)
    talking.sendall(sent)
    return talking


def sending(address: str) -> socket.socket:
    """One whose request has come, and whose body is awaited."""
    talking = connected(address, head("content-length: 100", "expect: 100-continue"))
    assert b" 100 " in talking.recv(1 << 16)
    return talking


def at_work(address: str) -> socket.socket:
    """One that is being answered."""
    talking = connected(address, head(method="GET", path="/api/v1/events"))
    assert b"200 OK" in talking.recv(1 << 16)
    return talking


@pytest.mark.usefixtures("few")
def test_silent_connections_make_room(store: Store) -> None:
    """S8: of more connections than there may be, whoever has been silent longest goes."""
    with served(store) as address, ExitStack() as stack:
        silent = [stack.enter_context(connected(address)) for _ in range(5)]
        assert [one.recv(1) for one in silent[:2]] == [b"", b""]
        silent[4].sendall(head("connection: close", method="GET", path=HEALTH))
        assert b"200 OK" in silent[4].recv(1 << 16)


@pytest.mark.usefixtures("few")
def test_slow_bodies_make_room(store: Store) -> None:
    """S8: after who is silent, whose body has been awaited longest. Slow forms lock nobody out."""
    with ExitStack() as stack, served(store) as address:
        slow = [stack.enter_context(sending(address)) for _ in range(2)]
        silent = stack.enter_context(connected(address))
        for gone in (silent, *slow):
            stack.enter_context(at_work(address))
            assert gone.recv(1) == b""


@pytest.mark.usefixtures("few")
def test_the_connection_limit_is_answered_with_503(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """S8: it is a problem as any other; and the end of the server waits for none of them."""
    with ExitStack() as stack:
        with served(store) as address:
            for _ in range(3):
                stack.enter_context(at_work(address))
            got = talk(int(address.rpartition(":")[2]), head(method="GET", path=HEALTH))
            assert b" 503 " in got[:40]
            assert b"application/problem+json" in got
        assert "connection limit 3 reached; answered 503" in caplog.text
        assert not [record for record in caplog.records if record.exc_info]


def test_a_client_that_reads_nothing_is_disconnected(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: the answers that nobody takes would stay for ever."""
    monkeypatch.setattr(connection, "READ_TIMEOUT_SECONDS", 0.2)
    asked = 100_000 * head(method="GET", path="/openapi.json")
    with served(store) as address, connected(address) as talking, pytest.raises(ConnectionError):
        talking.sendall(asked)


def test_a_slow_reader_gets_the_whole_answer(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """S8: only who takes nothing is hung up on."""
    size = 40_000_000
    monkeypatch.setattr(app.HttpApp, "openapi", lambda self: {"x": "y" * size})
    monkeypatch.setattr(connection, "READ_TIMEOUT_SECONDS", 2.0)
    asked = head("connection: close", method="GET", path="/openapi.json")
    got = 0
    with served(store) as address, connected(address, asked) as talking:
        while part := talking.recv(500_000):
            got += len(part)
            time.sleep(len(part) / 8e6)
    assert got > size


def test_a_websocket_is_closed(free: TestClient) -> None:
    with pytest.raises(WebSocketDisconnect) as closed, free.websocket_connect("/api/v1/events"):
        pass
    assert closed.value.code == 1008
