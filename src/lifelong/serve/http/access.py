"""Find out who sends a request: by the server's token, by a user's token, or by a login of a browser. Wrong tokens
are counted and throttled (SPEC S8).

What a request may do is its `Grant`; every face checks it: the API by operation, the page by view, MCP by tool.
"""

from __future__ import annotations

import asyncio
import hmac
import ipaddress
import logging
import secrets
import time
from collections import Counter
from collections.abc import Mapping
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.datastructures import Headers
from starlette.requests import cookie_parser

from lifelong.serve.http.problems import Refused
from lifelong.tokens import Grant, Tokens

log = logging.getLogger("lifelong.serve")

COOKIE = "lifelong_session"
LOGIN_SECONDS = 7 * 24 * 3600.0
MAX_LOGINS = 1_000
MAX_LOGINS_OF_TOKEN = 100  # so that who has one token ends no logins of others
SERVER_TOKEN = "server"
"""What the log of writes calls the token that the server was started with."""
OPEN_SECONDS = 1.0  # for which a home without tokens is taken to have none

WINDOW_SECONDS = 60.0
MAX_FAILURES = 10  # of one address in a window
MAX_FAILURES_OVERALL = 200  # in a window; above them an address has one
MAX_ADDRESSES = 10_000  # that are counted in a window
MAX_TRUSTED = 1_000
TRUST_SECONDS = 3600.0  # after a right token


class AuthFailures:
    """Count wrong tokens by address, in windows of a minute, and log one line for an address in each.

    A token that lifelong made has 256 random bits and is looked up always: guesses cannot find it, and nobody who
    has it is locked out. The server's own token is what a person chose: what comes from an address that was wrong
    too often is not compared with it until the window ends, unless a right one came from there in the last
    hour."""

    def __init__(self) -> None:
        self.total = 0
        self._ends = 0.0
        self._failures: Counter[str] = Counter()
        self._in_window = 0
        self._noted: set[str] = set()
        self._unlogged = 0
        self._trusted: dict[str, float] = {}

    @property
    def retry_after(self) -> int:
        """Return in how many seconds the window ends."""
        return max(1, int(self._ends - time.monotonic()) + 1)

    def is_over_limit(self, address: str) -> bool:
        """Return whether an address was wrong too often in this window, or comes when no more are counted."""
        self._roll()
        limit = 1 if self._in_window >= MAX_FAILURES_OVERALL else MAX_FAILURES
        network = _network(address)
        is_counted = network in self._failures or len(self._failures) < MAX_ADDRESSES
        return not is_counted or self._failures[network] >= limit

    def may_guess(self, address: str) -> bool:
        """Return whether what an address sends is compared with the server's own token."""
        known = self._trusted.get(_network(address), 0.0) > time.monotonic()
        return known or not self.is_over_limit(address)

    def succeeded(self, address: str) -> None:
        network = _network(address)
        self._trusted.pop(network, None)
        self._trusted[network] = time.monotonic() + TRUST_SECONDS
        if len(self._trusted) > MAX_TRUSTED:
            del self._trusted[next(iter(self._trusted))]

    def failed(self, address: str) -> None:
        """Count a wrong token."""
        self._roll()
        self.total += 1
        self._in_window += 1
        network = _network(address)
        if network in self._failures or len(self._failures) < MAX_ADDRESSES:
            self._failures[network] += 1

    def note(self, message: str, address: str) -> None:
        """Log a refusal, once for each address in a window. Further ones are counted, and one line says how many
        when the window is over."""
        self._roll()
        network = _network(address)
        if network in self._noted or len(self._noted) >= MAX_FAILURES_OVERALL:
            self._unlogged += 1
        else:
            self._noted.add(network)
            log.warning("%s", message)

    def _roll(self) -> None:
        """Begin a new window if the last one is over."""
        now = time.monotonic()
        if now < self._ends:
            return
        if self._unlogged:
            log.warning("refused %d more requests without a right token in %g s", self._unlogged, WINDOW_SECONDS)
        self._failures.clear()
        self._noted.clear()
        self._in_window = self._unlogged = 0
        self._ends = now + WINDOW_SECONDS
        asyncio.get_running_loop().call_later(WINDOW_SECONDS + 0.1, self._close, self._ends)

    def _close(self, ends: float) -> None:
        """Log what a window left, also where nothing follows it."""
        if self._ends == ends and self._unlogged:
            self._roll()


def _network(address: str) -> str:
    """Return what one sender has: an address of IPv4, or a /64 of IPv6."""
    try:
        found = ipaddress.ip_address(address)
    except ValueError:
        return address
    return address if found.version == 4 else str(ipaddress.ip_network(f"{address}/64", strict=False))


def client_of(scope: Mapping[str, Any]) -> str:
    """Return the address that a request comes from."""
    return str((scope.get("client") or ("?",))[0])


def bearer_token(headers: Headers) -> str:
    """Return the token that a request shows; empty where it shows none."""
    kind, _, given = headers.get("authorization", "").partition(" ")
    return given.strip() if kind.lower() == "bearer" else ""


class Access:
    """Knows who may come in: who shows the server's token or one of the home's `tokens` in a header, or has shown
    it in a browser, whose cookie then counts as it. A cookie is of no use elsewhere and ends with the server, or
    when its token is revoked. Unless one is `required`, a home in which no token was ever made is open."""

    def __init__(self, token: str = "", tokens: Tokens | None = None, *, required: bool = False) -> None:
        self._token = token.encode()
        self._tokens = tokens
        self._required = required or bool(token)
        self._open_until = 0.0
        self._logins: dict[str, tuple[float, str]] = {}
        self.failures = AuthFailures()

    async def is_open(self, shown: str = "") -> bool:
        """Return whether no token is needed. A home that got its first token is closed from then on: at once for
        who shows one, who must not be taken for somebody without any, and for the others within a second."""
        if self._required:
            return False
        if time.monotonic() >= self._open_until or Tokens.has_shape(shown):
            if self._tokens is not None and await run_in_threadpool(self._has_tokens):
                self._required = True
                return False
            self._open_until = time.monotonic() + OPEN_SECONDS
        return True

    def _has_tokens(self) -> bool:
        return self._tokens is not None and self._tokens.exist()

    async def identify(self, headers: Headers, client: str) -> Grant | None:
        """Return what the sender may do; none where no token or a wrong one is shown. Raise `Refused` where wrong
        ones came too often."""
        token = bearer_token(headers)
        if await self.is_open(token):
            return Grant()
        if token and (grant := await self.grant(token, client)):
            return grant
        cookie = cookie_parser(headers.get("cookie", "")).get(COOKIE, "")
        return await self._grant_of_login(cookie) if cookie else None

    async def grant(self, given: str, client: str) -> Grant | None:
        """Return what a token allows; none for a wrong one. Raise `Refused` where wrong ones came too often."""
        if self._tokens and self._tokens.has_shape(given):
            found = await run_in_threadpool(self._tokens.grant, given)
            if found:
                return found
        elif self._token and self.failures.may_guess(client) and self._is_server_token(given):
            self.failures.succeeded(client)
            return Grant(token=SERVER_TOKEN)
        is_over_limit = self.failures.is_over_limit(client)
        self.failures.failed(client)
        if is_over_limit:
            raise Refused(
                429,
                "Too many wrong tokens came from this address. Wait, and send a right one.",
                **{"retry-after": str(self.failures.retry_after), "connection": "close"},
            )
        return None

    def _is_server_token(self, given: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(given.encode("utf-8", "surrogateescape"), self._token)

    def log_in(self, grant: Grant) -> str:
        """Return a new cookie, which counts as the token of the grant. Where there are too many, the oldest of the
        same token end, then the oldest of all."""
        now = time.monotonic()
        of_token = [
            cookie for cookie, (ends, token) in self._logins.items() if ends > now and token == grant.token
        ]
        too_many = {*of_token[: max(0, len(of_token) + 1 - MAX_LOGINS_OF_TOKEN)]}
        live = [one for one in self._logins.items() if one[1][0] > now and one[0] not in too_many]
        cookie = secrets.token_urlsafe(32)
        self._logins = {**dict(live[-MAX_LOGINS:]), cookie: (now + LOGIN_SECONDS, grant.token)}
        return cookie

    def log_out(self, cookie: str) -> None:
        self._logins.pop(cookie, None)

    async def _grant_of_login(self, cookie: str) -> Grant | None:
        ends, token = self._logins.get(cookie, (0.0, ""))
        return await self._grant_of(token) if ends > time.monotonic() else None

    async def _grant_of(self, token: str) -> Grant | None:
        """Return what the token of this id allows now; none where it was revoked since it was shown."""
        if token == SERVER_TOKEN or self._tokens is None:
            return Grant(token=SERVER_TOKEN)
        return await run_in_threadpool(self._tokens.grant_of, token)

    async def is_valid(self, grant: Grant) -> bool:
        """Return whether what was granted when a long answer began still is."""
        return await self._grant_of(grant.token) is not None if grant.token else await self.is_open()
