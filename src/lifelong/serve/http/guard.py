"""What stands before everything that is served: who may come in, from where, and with how much (SPEC S8)."""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import re
import secrets
import time
from collections import Counter
from collections.abc import Collection
from urllib.parse import quote

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lifelong.serve.http import problems
from lifelong.serve.http.problems import Refused

log = logging.getLogger("lifelong.serve")

LOOPBACK = ("localhost", "127.0.0.1", "::1")
LARGEST_BODY = 8 << 20  # bytes
LARGEST_FORM = 4 << 10  # bytes, where nobody has shown a token yet
LARGEST_HEADERS = 32 << 10  # bytes
MOST_HEADERS = 100
BODY_SECONDS = 30.0
LOGIN_SECONDS = 7 * 24 * 3600.0
MOST_LOGINS = 1_000
COOKIE = "lifelong_session"
SAFE = ("GET", "HEAD", "OPTIONS")
OPEN = ("/login", "/static/")
"""What can be had without a token: what it takes to give one."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{0,5})?", re.ASCII | re.IGNORECASE)

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}

SORRY = Markup("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>lifelong</title>
<h1>lifelong</h1>
<p>{}</p>
""")
"""What a browser is told that may not come in. Nothing else of the page is there for it, so it has no style."""


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach what listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


class Entry:
    """Who has shown the token: by header, or earlier, in a browser, by a cookie that is worth nothing elsewhere
    and ends with the server. Without a token everybody has."""

    def __init__(self, token: str = "") -> None:
        self._token = token.encode()
        self._logins: dict[str, float] = {}

    @property
    def is_free(self) -> bool:
        return not self._token

    def is_token(self, given: str) -> bool:
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token)

    def begin(self) -> str:
        """A browser's cookie."""
        now = time.monotonic()
        live = [(cookie, ends) for cookie, ends in self._logins.items() if ends > now]
        cookie = secrets.token_urlsafe(32)
        self._logins = {**dict(live[-MOST_LOGINS:]), cookie: now + LOGIN_SECONDS}
        return cookie

    def end(self, cookie: str) -> None:
        self._logins.pop(cookie, None)

    def admits(self, headers: Headers) -> bool:
        if self.is_free:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given.strip()):
            return True
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return self._logins.get(cookie, 0.0) > time.monotonic()


class Guard:
    """Middleware. A refused request is logged without its query and headers, which may hold secrets. `answered`
    counts answers by status."""

    def __init__(
        self,
        app: ASGIApp,
        entry: Entry,
        hosts: Collection[str] = (),
        answered: Counter[int] | None = None,
    ) -> None:
        self._app = app
        self._entry = entry
        self._hosts = {name_of(host) for host in (*LOOPBACK, *hosts)} - {""}
        self._answered = Counter() if answered is None else answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        begun = False

        async def dressed(message: Message) -> None:
            nonlocal begun
            if message["type"] == "http.response.start":
                begun = True
                self._answered[message["status"]] += 1
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if _is_static(scope) else "no-store")
            await send(message)

        try:
            await self._app(scope, await self._admit(scope, receive), dressed)
        except Exception as error:
            if begun:
                raise
            await self._refuse(scope, receive, dressed, error)

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
        to_login = isinstance(error, Refused) and error.status == 401 and is_page(scope)
        if isinstance(error, Refused) and (not to_login or _shows_something(scope)):
            who = (scope.get("client") or ("?",))[0]
            log.warning("refused %s %.200r from %s: %s", scope["method"], scope["path"], who, error)
        if to_login:
            return await RedirectResponse(_login(scope), 303)(scope, receive, send)
        answer = problems.answer(error)
        if is_page(scope):
            told = error if isinstance(error, Refused) else problems.INSIDE
            headers = error.headers if isinstance(error, Refused) else None
            answer = HTMLResponse(SORRY.format(told), answer.status_code, headers)
        return await answer(scope, receive, send)

    async def _admit(self, scope: Scope, receive: Receive) -> Receive:
        """What the request's body is read by, where it may come in."""
        headers = Headers(scope=scope)
        if len(headers) > MOST_HEADERS or sum(len(n) + len(v) for n, v in headers.raw) > LARGEST_HEADERS:
            raise Refused(431, "The headers are too large. Send fewer or shorter ones.", connection="close")
        hosts = headers.getlist("host")
        if len(hosts) != 1 or name_of(hosts[0]) not in self._hosts:
            raise Refused(
                403,
                "This server has another name. Start it with --allow-host and the name you call it by, or use "
                "localhost on its own machine.",
                connection="close",
            )
        if not scope["path"].startswith(OPEN) and not self._entry.admits(headers):
            raise Refused(
                401,
                "A token is needed. Send it as `Authorization: Bearer …`.",
                **{"www-authenticate": "Bearer"},
                **({} if scope["method"] in SAFE else {"connection": "close"}),
            )
        if not _is_static(scope) and _is_foreign(scope, headers):
            raise Refused(
                403,
                "Another site's page sent this. Send it from this server's own page, or by a program.",
                connection="close",
            )
        if scope["method"] in SAFE:
            return receive
        is_open = scope["path"].startswith((*OPEN, "/logout"))
        return await self._body(headers, receive, LARGEST_FORM if is_open else LARGEST_BODY)

    async def _body(self, headers: Headers, receive: Receive, largest: int) -> Receive:
        """The whole body, read here, so that what is too large or too slow reaches nobody."""
        too_large = Refused(
            413, f"The body is larger than {largest:,} bytes. Send it in parts.", connection="close"
        )
        declared = headers.get("content-length", "0")
        if not declared.isdecimal() or int(declared) > largest:
            raise too_large
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(BODY_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "The body ended early. Send it again.", connection="close")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > largest:
                        raise too_large
        except TimeoutError as error:
            late = f"The body took longer than {BODY_SECONDS:g} seconds. Send it again."
            raise Refused(408, late, connection="close") from error
        given = False

        async def replay() -> Message:
            nonlocal given
            if given:
                return await receive()
            given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        return replay


def name_of(host: str) -> str:
    """The name in a Host header, or in what a person calls a host; empty where it is none."""
    found = _HOST.fullmatch(f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host)
    return str(found[1] or found[2]).lower() if found else ""


def _is_foreign(scope: Scope, headers: Headers) -> bool:
    """Whether another site's page sent it. A link that a person follows to here is none of that, unless it asks
    a question, which the log of recall would keep."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers["host"]:
        return True
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return False
    followed = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    asks = scope["path"] == "/recall" and scope["query_string"]
    return scope["method"] not in SAFE or not followed or bool(asks)


def _shows_something(scope: Scope) -> bool:
    """Whether a token or a login was given, be it wrong."""
    headers = Headers(scope=scope)
    return "authorization" in headers or COOKIE in cookie_parser(headers.get("cookie", ""))


def _is_static(scope: Scope) -> bool:
    return str(scope["path"]).startswith("/static/")


def _login(scope: Scope) -> str:
    """Where a browser logs in, and then goes on to what it asked for; a form has to be sent again."""
    if scope["method"] not in SAFE:
        return "/login"
    asked = quote(scope["path"]) + (f"?{query.decode('latin-1')}" if (query := scope["query_string"]) else "")
    return "/login" if asked == "/" else f"/login?next={quote(asked, safe='')}"


def is_page(scope: Scope) -> bool:
    """Whether a person will see the answer: a browser follows a link, or sends a form."""
    wants = Headers(scope=scope).get("accept", "")
    return "text/html" in wants and not scope["path"].startswith("/api/")
