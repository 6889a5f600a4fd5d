"""Check every request before it reaches the application: Host, Origin, token, and the size of its body (SPEC S8).

Here, too, are login and logout, for people who look at the page of a server that requires a token.
"""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import re
from collections import Counter
from collections.abc import Collection, Mapping
from urllib.parse import parse_qsl, quote

from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request, cookie_parser
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from lifelong.errors import LifelongError
from lifelong.serve.http import problems
from lifelong.serve.http.access import COOKIE, LOGIN_SECONDS, Access, bearer_token, client_of
from lifelong.serve.http.problems import Refused
from lifelong.serve.operation import Operation, begin
from lifelong.tokens import Grant, Outcome, Tokens

log = logging.getLogger("lifelong.serve")

LOOPBACK_NAMES = ("localhost", "127.0.0.1", "::1")
MAX_BODY_BYTES = 8 << 20
MAX_LOGIN_BYTES = 4 << 10  # where no token was shown yet
MAX_LOGIN_FIELDS = 2
BODY_TIMEOUT_SECONDS = 30.0
MAX_BODIES_BYTES = 64 << 20  # of all requests that are read or answered
SMALL_BODY_BYTES = 64 << 10  # which everybody may send, however much others do
RETRY_SECONDS = 2
WRONG_TOKEN_SECONDS = 1.0  # before a wrong token is answered
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
ENTER_TOKEN = Markup("<p>Enter your token, or the one that this server was started with.</p>")
WRONG_TOKEN = Markup('<p class="error" role="alert">{}</p>')


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


class Guard:
    """Middleware that refuses requests and sets headers on answers. A refused request is logged without its query
    and headers, which may hold secrets. What is changed with a token goes into the log of writes. `answered`
    counts answers by status."""

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: Collection[str] = (),
        answered: Counter[int] | None = None,
        tokens: Tokens | None = None,
    ) -> None:
        self._app = app
        self._access = access
        self._hosts = {host_name(host) for host in (*LOOPBACK_NAMES, *hosts)} - {""}
        self._answered = Counter() if answered is None else answered
        self._tokens = tokens
        self._body_bytes = 0  # of all requests that are read or answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif scope["type"] != "http":
            await send({"type": "websocket.close", "code": 1008})
        else:
            await self._answer(scope, receive, send)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        status, body = 0, Body(self)
        operation = begin(scope, Grant())

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                self._answered[status] += 1
                headers = MutableHeaders(scope=message)
                for name, value in RESPONSE_HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-cache" if _is_static(scope) else "no-store")
            await send(message)

        try:
            await self._check(scope, operation)
            await self._app(scope, await body.read(scope, receive), send_with_headers)
        except Exception as error:
            if status:
                raise
            await self._refuse(scope, receive, send_with_headers, error)
        finally:
            body.release()
            if operation.name and operation.grant.token:
                await self._log_write(operation, status or 500)

    async def _check(self, scope: Scope, operation: Operation) -> None:
        """Raise `Refused` unless the request may come in. Note what its sender may do."""
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers and ("content-length" in headers or scope["http_version"] == "1.0"):
            # A proxy in front may go by the other header, and take the rest of this body for the next request.
            raise Refused(
                400,
                "The request says in two ways how long its body is. Send Content-Length or Transfer-Encoding.",
                connection="close",
            )
        hosts = headers.getlist("host")
        if len(hosts) != 1 or host_name(hosts[0]) not in self._hosts:
            raise Refused(
                403,
                "This server has another name. Start it with --allow-host and the name you call it by, or use "
                "localhost on its own machine.",
                connection="close",
            )
        if not scope["path"].startswith(PUBLIC_PATHS):
            grant = await self._access.identify(headers, client_of(scope))
            if grant is None:
                raise Refused(
                    401,
                    "This token is not accepted: it is unknown or was revoked. Make another: lifelong token create"
                    if bearer_token(headers)
                    else "A token is required. Send it as `Authorization: Bearer …`.",
                    **{"www-authenticate": "Bearer"},
                    **({} if scope["method"] in SAFE_METHODS else {"connection": "close"}),
                )
            operation.grant = grant
        if not _is_static(scope) and _is_cross_site(scope, headers):
            raise Refused(
                403,
                "Another site's page sent this. Send it from this server's own page, or from a program.",
                connection="close",
            )

    def check_room(self, count: int, held: int = 0) -> None:
        """Raise `Refused` where all bodies together are too large for more of one that has `held` bytes so far."""
        if held + count > SMALL_BODY_BYTES and self._body_bytes + count > MAX_BODIES_BYTES:
            raise Refused(
                503,
                "Others send too much at the moment. Send it again in a few seconds.",
                **{"retry-after": str(RETRY_SECONDS), "connection": "close"},
            )

    def count_bytes(self, count: int) -> None:
        """Count bytes of a body that is read, or, below zero, that is done with."""
        self._body_bytes += count

    async def _log_write(self, operation: Operation, status: int) -> None:
        """Note who changed what, after the answer: nobody waits for the log."""
        by_status: Outcome = "done" if status < 400 else "refused" if status < 500 else "failed"
        outcome = operation.outcome or by_status
        if not self._tokens:
            return
        try:
            await run_in_threadpool(
                self._tokens.log_write,
                *(operation.grant, operation.name, operation.user, operation.targets, outcome),
            )
        except LifelongError as error:
            log.warning(
                "%s by the token %s is not in the log of writes: %s", operation.name, operation.grant.token, error
            )

    async def _refuse(self, scope: Scope, receive: Receive, send: Send, error: Exception) -> None:
        refused = error if isinstance(error, Refused) else None
        to_login = refused is not None and refused.status == 401 and is_page(scope)
        if refused and (not to_login or _shows_credentials(scope)):
            client = client_of(scope)
            message = f"refused {scope['method']} {scope['path']!r:.200} from {client}: {error}"
            if refused.status in (401, 429):
                self._access.failures.note(message, client)
            else:
                log.warning("%s", message)
        if to_login:
            return await RedirectResponse(_login_address(scope), 303)(scope, receive, send)
        # The database may be away while a token is looked up. Nobody has shown one yet, so no place is named.
        answer = problems.answer(error, lambda found: str(type(found)()))
        if is_page(scope):
            is_told = isinstance(error, LifelongError) and answer.status_code != 500
            shown = refused or (str(type(error)()) if is_told else problems.INTERNAL_ERROR)
            answer = HTMLResponse(
                REFUSAL_PAGE.format(shown), answer.status_code, refused.headers if refused else None
            )
        return await answer(scope, receive, send)


class Body:
    """The body of one request. It is read whole before the application gets it, so that one that is too large or
    too slow reaches nothing behind. Its bytes count until the request is answered."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._held = 0

    def release(self) -> None:
        self._guard.count_bytes(-self._held)
        self._held = 0

    def _take(self, count: int) -> None:
        self._guard.check_room(count, self._held)
        self._guard.count_bytes(count)
        self._held += count

    async def read(self, scope: Scope, receive: Receive) -> Receive:
        """Read it, and return what gives it to the application."""
        if scope["method"] in SAFE_METHODS:
            return receive
        is_public = scope["path"].startswith((*PUBLIC_PATHS, "/logout"))
        limit = MAX_LOGIN_BYTES if is_public else MAX_BODY_BYTES
        too_large = Refused(413, f"The body is larger than {limit:,} bytes. Send it in parts.", connection="close")
        declared = Headers(scope=scope).get("content-length", "0")
        if not declared.isdecimal() or int(declared) > limit:
            raise too_large
        self._guard.check_room(int(declared))  # one that cannot fit is not begun
        parts: list[bytes] = []
        more = True
        try:
            async with asyncio.timeout(BODY_TIMEOUT_SECONDS):
                while more:
                    message = await receive()
                    if message["type"] == "http.disconnect":
                        raise Refused(400, "The body ended early. Send it again.", connection="close")
                    part = message.get("body", b"")
                    more = message.get("more_body", False)
                    self._take(len(part))
                    parts.append(part)
                    if self._held > limit:
                        raise too_large
        except TimeoutError as error:
            late = f"The body took longer than {BODY_TIMEOUT_SECONDS:g} seconds. Send it again."
            raise Refused(408, late, connection="close") from error
        waiting = [b"".join(parts)]
        parts.clear()

        async def replay() -> Message:
            if not waiting:
                return await receive()
            return {"type": "http.request", "body": waiting.pop(), "more_body": False}

        return replay


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
        return RedirectResponse("/", 303) if await access.is_open() else _login_page(ENTER_TOKEN, wanted)

    async def log_in(request: Request) -> Response:
        form = _form_fields(await request.body())
        wanted = form.get("next", "")
        client, token = client_of(request.scope), form.get("token", "").strip()
        try:
            grant = Grant() if await access.is_open(token) else await access.grant(token, client)
        except Refused as error:
            return _login_page(WRONG_TOKEN.format(error), wanted, error.status, error.headers)
        if grant is None:
            access.failures.note(f"refused a login from {client}: wrong token", client)
            await asyncio.sleep(WRONG_TOKEN_SECONDS)
            wrong = "That token is wrong. Enter yours, or the one that this server was started with."
            return _login_page(WRONG_TOKEN.format(wrong), wanted, 401)
        answer = RedirectResponse(wanted if _LOCAL_PATH.fullmatch(wanted) else "/", 303)
        answer.set_cookie(
            COOKIE,
            access.log_in(grant),
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


def _login_page(
    message: Markup, wanted: str, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    return HTMLResponse(LOGIN_PAGE.format(message=message, next=wanted), status, headers)
