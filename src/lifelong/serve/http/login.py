"""Login and logout, for people who look at the page of a server that wants a token."""

from __future__ import annotations

import asyncio
import logging
import re
from urllib.parse import parse_qsl

from markupsafe import Markup
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from lifelong.serve.http.guard import COOKIE, LOGIN_SECONDS, Entry

log = logging.getLogger("lifelong.serve")

# Without its `meta referrer` a browser would send the form with `Origin: null`, which the guard refuses.
PAGE = Markup("""\
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
{said}
<label>Token
<input name="token" id="token" type="password" autocomplete="current-password" required autofocus></label>
<input name="next" type="hidden" value="{next}">
<p><button class="primary">Log in</button></p>
</form>
</main>
</body>
</html>
""")
WELCOME = Markup("<p>The token this server was started with.</p>")
WRONG = Markup(
    '<p class="error" role="alert">That is not the token. It is the one this server was started with.</p>'
)

_LOCAL = re.compile(r"/(?![/\\])[^\\\x00-\x20\x7f]*")  # what a browser takes for a path of this server

PAUSE = 1.0  # seconds that a wrong token costs
MOST_FIELDS = 2


def routes(entry: Entry) -> list[Route]:
    async def show(request: Request) -> Response:
        asked = request.query_params.get("next", "")
        return RedirectResponse("/", 303) if entry.is_free else _page(WELCOME, asked)

    async def log_in(request: Request) -> Response:
        form = _fields(await request.body())
        asked = form.get("next", "")
        if not entry.is_free and not entry.is_token(form.get("token", "")):
            log.warning("refused a login from %s: wrong token", request.client.host if request.client else "?")
            await asyncio.sleep(PAUSE)
            return _page(WRONG, asked, 401)
        answer = RedirectResponse(asked if _LOCAL.fullmatch(asked) else "/", 303)
        answer.set_cookie(
            COOKIE,
            entry.begin(),
            max_age=int(LOGIN_SECONDS),
            httponly=True,
            samesite="strict",
            secure=_is_secure(request),
        )
        return answer

    async def log_out(request: Request) -> Response:
        entry.end(request.cookies.get(COOKIE, ""))
        answer = RedirectResponse("/login", 303)
        answer.delete_cookie(COOKIE, httponly=True, samesite="strict", secure=_is_secure(request))
        return answer

    return [
        Route("/login", show, methods=["GET"]),
        Route("/login", log_in, methods=["POST"]),
        Route("/logout", log_out, methods=["POST"]),
    ]


def _fields(body: bytes) -> dict[str, str]:
    """Those of the form; none where there are more than it has."""
    try:
        return dict(parse_qsl(body.decode("utf-8", "replace"), max_num_fields=MOST_FIELDS))
    except ValueError:
        return {}


def _is_secure(request: Request) -> bool:
    """Whether the browser speaks TLS, be it to a proxy: then its cookie must go nowhere else."""
    return request.headers.get("origin", "").startswith("https://")


def _page(said: Markup, asked: str, status: int = 200) -> Response:
    return HTMLResponse(PAGE.format(said=said, next=asked), status)
