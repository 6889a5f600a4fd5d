"""Check every request before it reaches the application: Host, Origin, token, and the size of its body (SPEC S8).

Here, too, are login and logout, for people who look at the page of a server that requires a token.
"""

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
from urllib.parse import parse_qsl, quote

from markupsafe import Markup
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lifelong.serve.http import problems
from lifelong.serve.http.problems import Refused

log = logging.getLogger("lifelong.serve")

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
MAX_BODY_BYTES = 8 << 20
MAX_LOGIN_BYTES = 4 << 10  # where no token was shown yet
MAX_LOGIN_FIELDS = 2
BODY_TIMEOUT_SECONDS = 30.0
LOGIN_SECONDS = 7 * 24 * 3600.0
MAX_LOGINS = 1_000
WRONG_TOKEN_SECONDS = 1.0  # before a wrong token is answered
COOKIE = "lifelong_session"
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
PUBLIC_PATHS = ("/login", "/static/")
"""What needs no token: the login and what it looks like."""

_HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{0,5})?", re.ASCII | re.IGNORECASE)
_LOCAL_PATH = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # what a browser takes for a path of this server

RESPONSE_HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
}

REFUSAL_PAGE = Markup("""\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>lifelong</title>
<h1>lifelong</h1>
<p>{}</p>
""")
"""What a refused browser sees. It has no style, because the style sheet may be refused as well."""

# Without `meta referrer` a browser would send the form with `Origin: null`, which the guard refuses.
LOGIN_PAGE = Markup("""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>lifelong: log in</title>
<meta name="referrer" content="same-origin">
<link rel="icon" href="/static/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/static/page.css">
</head>
<body>
<main>
<form method="post" action="/login" class="card login">
<h1 class="mark"><img src="/static/icon.svg" alt="" width="26" height="26">lifelong</h1>
{message}
<label>Token
<input name="token" id="token" type="password" autocomplete="current-password" required autofocus></label>
<input name="next" type="hidden" value="{next}">
<p><button class="primary">Log in</button></p>
</form>
</main>
</body>
</html>
""")
ENTER_TOKEN = Markup("<p>Enter the token that this server was started with.</p>")
WRONG_TOKEN = Markup(
    '<p class="error" role="alert">That token is wrong. Enter the one that this server was started with.</p>'
)


def is_loopback(host: str) -> bool:
    """Return whether only this machine can reach what listens there."""
    try:
        return host == "localhost" or ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return False


def host_name(host: str) -> str:
    """Return the name in a Host header, or in what a person calls a host; empty where it is not one."""
    found = _HOST.fullmatch(f"[{host}]" if host.count(":") > 1 and not host.startswith("[") else host)
    return str(found[1] or found[2]).lower() if found else ""


def is_page(scope: Scope) -> bool:
    """Return whether a person will see the answer: a browser follows a link, or sends a form."""
    accepted = Headers(scope=scope).get("accept", "")
    return "text/html" in accepted and not scope["path"].startswith("/api/")


def is_from_page(headers: Headers) -> bool:
    """Return whether a person sent it from the server's own page, as far as that can be told: a browser names the
    page that it comes from (which the guard has checked), and a program shows a token."""
    return "origin" in headers and "authorization" not in headers


class Access:
    """Knows who has shown the token: in a header, or earlier, in a browser, whose cookie then counts as it. A
    cookie is of no use elsewhere and ends with the server. Without a token everybody has access."""

    def __init__(self, token: str = "") -> None:
        self._token = token.encode()
        self._logins: dict[str, float] = {}

    @property
    def is_open(self) -> bool:
        return not self._token

    def is_token(self, given: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token)

    def log_in(self) -> str:
        """Return a new cookie."""
        now = time.monotonic()
        live = [(cookie, ends) for cookie, ends in self._logins.items() if ends > now]
        cookie = secrets.token_urlsafe(32)
        self._logins = {**dict(live[-MAX_LOGINS:]), cookie: now + LOGIN_SECONDS}
        return cookie

    def log_out(self, cookie: str) -> None:
        self._logins.pop(cookie, None)

    def allows(self, headers: Headers) -> bool:
        if self.is_open:
            return True
        kind, _, given = headers.get("authorization", "").partition(" ")
        if kind.lower() == "bearer" and self.is_token(given.strip()):
            return True
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return self._logins.get(cookie, 0.0) > time.monotonic()


class Guard:
    """Middleware that refuses requests and sets headers on answers. A refused request is logged without its query
    and headers, which may hold secrets. `answered` counts answers by status."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: Collection[str] = (),
        answered: Counter[int] | None = None,
    ) -> None:
        self._app = app
        self._access = access
        self._hosts = {host_name(host) for host in (*LOOPBACK_NAMES, *hosts)} - {""}
        self._answered = Counter() if answered is None else answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            return await self._app(scope, receive, send)
        if scope["type"] != "http":
            return await send({"type": "websocket.close", "code": 1008})
        has_begun = False

        async def send_with_headers(message: Message) -> None:
            nonlocal has_begun
            if message["type"] == "http.response.start":
                has_begun = True
                self._answered[message["status"]] += 1
                headers = MutableHeaders(scope=message)
                for name, value in RESPONSE_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if _is_static(scope) else "no-store")
            await send(message)

        try:
            self._check(scope)
            await self._app(scope, await self._read_body(scope, receive), send_with_headers)
        except Exception as error:
            if has_begun:
                raise
            await _refuse(scope, receive, send_with_headers, error)

    def _check(self, scope: Scope) -> None:
        """Raise `Refused` unless the request may come in."""
        headers = Headers(scope=scope)
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            raise Refused(
                403,
                "This server has another name. Start it with --allow-host and the name you call it by, or use "
                "localhost on its own machine.",
                connection="close",
            )
        if not scope["path"].startswith(PUBLIC_PATHS) and not self._access.allows(headers):
            raise Refused(
                401,
                "A token is required. Send it as `Authorization: Bearer …`.",
                **{"www-authenticate": "Bearer"},
                **({} if scope["method"] in SAFE_METHODS else {"connection": "close"}),
            )
        if not _is_static(scope) and _is_cross_site(scope, headers):
            raise Refused(
                403,
                "Another site's page sent this. Send it from this server's own page, or from a program.",
                connection="close",
            )

    async def _read_body(self, scope: Scope, receive: Receive) -> Receive:
        """Read the whole body here, so that one that is too large or too slow reaches nothing behind. Return what
        gives it to the application."""
        if scope["method"] in SAFE_METHODS:
            return receive
        is_public = scope["path"].startswith((*PUBLIC_PATHS, "/logout"))
        limit = MAX_LOGIN_BYTES if is_public else MAX_BODY_BYTES
        too_large = Refused(413, f"The body is larger than {limit:,} bytes. Send it in parts.", connection="close")
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            raise too_large
        body, more = bytearray(), True
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "The body ended early. Send it again.", connection="close")
                    body += message.get("body", b"")
                    more = message.get("more_body", False)
                    if len(body) > limit:
                        raise too_large
        except TimeoutError as error:
            late = f"The body took longer than {BODY_TIMEOUT_SECONDS:g} seconds. Send it again."
            raise Refused(408, late, connection="close") from error
        is_given = False

        async def replay() -> Message:
            nonlocal is_given
            if is_given:
                return await receive()
            is_given = True
            return {"type": "http.request", "body": bytes(body), "more_body": False}

        return replay


async def _refuse(scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
    refused = error if isinstance(error, Refused) else None
    to_login = refused is not None and refused.status == 401 and is_page(scope)
    if refused and (not to_login or _shows_credentials(scope)):
        client = (scope.get("client") or ("?",))[0]
        log.warning("refused %s %.200r from %s: %s", scope["method"], scope["path"], client, error)
    if to_login:
        return await RedirectResponse(_login_address(scope), 303)(scope, receive, send)
    answer = problems.answer(error)
    if is_page(scope):
        message = refused or problems.INTERNAL_ERROR
        answer = HTMLResponse(
            REFUSAL_PAGE.format(message), answer.status_code, refused.headers if refused else None
        )
    return await answer(scope, receive, send)


def _is_cross_site(scope: Scope, headers: Headers) -> bool:
    """Return whether another site's page sent it. A link from elsewhere that a person follows is allowed, unless
    it searches: the recall log would keep the question."""
    origin = headers.get("origin")
    if origin is not None and origin.partition("://")[2] != headers["host"]:
        return True
    if headers.get("sec-fetch-site", "none") in ("same-origin", "none"):
        return False
    is_link = headers.get("sec-fetch-mode") == "navigate" and headers.get("sec-fetch-dest") == "document"
    searches = scope["path"] == "/search" and scope["query_string"]
    return scope["method"] not in SAFE_METHODS or not is_link or bool(searches)


def _shows_credentials(scope: Scope) -> bool:
    """Return whether a token or a login was given, right or wrong."""
    headers = Headers(scope=scope)
    return "authorization" in headers or COOKIE in cookie_parser(headers.get("cookie", ""))


def _is_static(scope: Scope) -> bool:
    return str(scope["path"]).startswith("/static/")


def _login_address(scope: Scope) -> str:
    """Return where a browser logs in; it then goes on to what it asked for. A form has to be sent again."""
    if scope["method"] not in SAFE_METHODS:
        return "/login"
    wanted = quote(scope["path"]) + (f"?{query.decode('latin-1')}" if (query := scope["query_string"]) else "")
    return "/login" if wanted == "/" else f"/login?next={quote(wanted, safe='')}"


# Login and logout


def login_routes(access: Access) -> list[Route]:
    async def show(request: Request) -> Response:
        wanted = request.query_params.get("next", "")
        return RedirectResponse("/", 303) if access.is_open else _login_page(ENTER_TOKEN, wanted)

    async def log_in(request: Request) -> Response:
        form = _form_fields(await request.body())
        wanted = form.get("next", "")
        if not access.is_open and not access.is_token(form.get("token", "")):
            log.warning("refused a login from %s: wrong token", request.client.host if request.client else "?")
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            return _login_page(WRONG_TOKEN, wanted, 401)
        answer = RedirectResponse(wanted if _LOCAL_PATH.fullmatch(wanted) else "/", 303)
        answer.set_cookie(
            COOKIE,
            access.log_in(),
            max_age=int(LOGIN_SECONDS),
            httponly=True,
            samesite="strict",
            secure=_is_secure(request),
        )
        return answer

    async def log_out(request: Request) -> Response:
        access.log_out(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_is_secure(request))
        return answer

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]


def _form_fields(body: bytes) -> dict[str, str]:
    """Return the fields of the login form; none where there are more than it has."""
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MAX_LOGIN_FIELDS))
    except ValueError:
        return {}


def _is_secure(request: Request) -> bool:
    """Return whether the browser uses TLS, if only to a proxy: then its cookie must not travel without it."""
    return request.headers.get("origin", "").startswith("https://")


def _login_page(message: Markup, wanted: str, status: int = 200) -> Response:
    return HTMLResponse(LOGIN_PAGE.format(message=message, next=wanted), status)
