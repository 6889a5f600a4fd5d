"""Tokens of the server: who may reach whose memory, and the log of what was changed with each.

A token is shown once, when it is made. Stored is its SHA-256 digest: a token has 256 random bits, so nobody can
guess it from its digest. A slow hash, which protects what people choose, would only make each request slow.
"""

from __future__ import annotations

import builtins
import hashlib
import hmac
import json
import logging
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Literal, TypeAlias, get_args

from lifelong.errors import AccessDenied, InputError, StorageError, TokenNotFound
from lifelong.storage.base import Database, Param, Row, Transaction
from lifelong.types import Clock, from_micros, to_micros
from lifelong.validation import validate_count, validate_text, validate_user

log = logging.getLogger("lifelong.tokens")

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)  # each includes those before it
Outcome: TypeAlias = Literal["done", "refused", "failed"]

PREFIX = "lifelong"
MAX_NAME_CHARS = 100
SECRET_BYTES = 32
USED_PRECISION = timedelta(hours=1)  # so that reading does not write each time
MAX_TARGETS = 20  # of a write in the log
MAX_LOGGED_WRITES = 1_000_000
WRITES_PER_PRUNING = 100
MAX_NOT_DONE = 50  # writes of a token that are logged in a window: in a year fewer than half of all
NOT_DONE_WINDOW = timedelta(hours=1)

_TOKEN = re.compile(rf"{PREFIX}_(t[0-9a-f]{{10}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
_TARGET = re.compile(r"(?=.*\d)[a-z]?[0-9a-f]{1,40}", re.ASCII)  # r12, v3, an id of a document or of a session
_COLUMNS = "id, owner, scope, name, created_at, used_at, revoked_at"


@dataclass(frozen=True, slots=True)
class Token:
    """A token, without its secret. `user` is whose it is: `read` and `write` reach that memory alone, `admin` the
    whole home. `used_at` is when it was last used, to about an hour."""

    id: str
    user: str
    scope: Scope
    name: str
    created_at: datetime
    used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class NewToken(Token):
    """A token that was just made, with its secret, which is not stored."""

    secret: str


@dataclass(frozen=True, slots=True)
class Grant:
    """What a caller may do: how much, in whose memory (in all of them where `user` is empty), and by which token
    (by none where it is empty)."""

    scope: Scope = "admin"
    user: str = ""
    token: str = ""

    @property
    def is_admin(self) -> bool:
        """Return whether it is for the whole home."""
        return self.scope == "admin"

    def allows(self, scope: Scope) -> bool:
        """Return whether it may do what needs this scope."""
        return SCOPES.index(scope) <= SCOPES.index(self.scope)

    def check(self, scope: Scope, user: str = "") -> None:
        """Raise `AccessDenied` unless it may do what needs this scope, in this user's memory."""
        if self.user and user and user != self.user:
            raise AccessDenied(f"This token is for the user {self.user!r} only. Leave `user` out, or use another.")
        if not self.allows(scope):
            raise AccessDenied(
                f"This token may only {self.scope}; this needs a token of the scope {scope!r}. Ask whoever looks "
                "after the server for one."
            )


@dataclass(frozen=True, slots=True)
class LoggedWrite:
    """One change that was made, or tried, with a token: the operation, in whose memory (empty: of the home), and
    the ids that it concerns. No text of the memory is kept."""

    id: int
    at: datetime
    token: str
    user: str
    operation: str
    targets: list[str]
    outcome: Outcome


class Tokens:
    """The tokens of a home, and the log of what was changed with them."""

    def __init__(self, database: Database, clock: Clock, retain_days: int | None) -> None:
        self._database = database
        self._clock = clock
        self._retain_days = retain_days

    def create(self, user: str = "", scope: Scope = "write", name: str = "") -> NewToken:
        """Make a token and return it with its secret, which cannot be shown again. `read` and `write` need the
        user whose memory they reach; the user need not hold anything yet."""
        if scope not in SCOPES:
            raise InputError(f"Unknown scope {scope!r:.100}. Use one of: {', '.join(SCOPES)}.")
        if scope == "admin" and user:
            raise InputError("An admin token is for the whole home. Leave the user out, or use the scope write.")
        if scope != "admin":
            if not user:
                raise InputError(f"A token to {scope} is for one user. Name the user, or make an admin token.")
            validate_user(user)
        validate_text(name, "The token's name", MAX_NAME_CHARS)
        id_ = f"t{secrets.token_hex(5)}"
        secret = f"{PREFIX}_{id_}_{secrets.token_urlsafe(SECRET_BYTES)}"
        now = self._clock()
        self._database.write(
            lambda tx: tx.run(
                f"INSERT INTO tokens ({_COLUMNS}, digest) VALUES (?, ?, ?, ?, ?, NULL, NULL, ?)",
                *(id_, user, scope, name, to_micros(now), _digest(secret)),
            )
        )
        return NewToken(id_, user, scope, name, now, None, None, secret)

    def list(self, user: str | None = None) -> builtins.list[Token]:
        """Return the tokens, those that were revoked too, newest first; of one user where one is named."""
        which, given = ("", ()) if user is None else (" WHERE owner = ?", (user,))
        rows = self._database.read(
            lambda tx: tx.all(f"SELECT {_COLUMNS} FROM tokens{which} ORDER BY created_at DESC, id", *given)
        )
        return [_token(row) for row in rows]

    def revoke(self, token_id: str) -> Token:
        """Have a token no longer accepted, at once and by every server of the home. Raise `TokenNotFound` for an
        unknown id. To revoke one twice changes nothing."""

        def write(tx: Transaction) -> Row | None:
            tx.run(
                "UPDATE tokens SET revoked_at = ? WHERE id = ? AND revoked_at IS NULL",
                *(to_micros(self._clock()), token_id),
            )
            return tx.one(f"SELECT {_COLUMNS} FROM tokens WHERE id = ?", token_id)

        row = self._database.write(write)
        if not row:
            raise TokenNotFound(f"No token has the id {token_id!r:.100}. See: lifelong token list")
        return _token(row)

    def exist(self, *, live: bool = False) -> bool:
        """Return whether there is a token, if only a revoked one; with `live`, one that is accepted."""
        which = " WHERE revoked_at IS NULL" if live else ""
        return bool(self._database.read(lambda tx: tx.one(f"SELECT 1 FROM tokens{which} LIMIT 1")))

    @staticmethod
    def has_shape(secret: str) -> bool:
        """Return whether a text looks like a token that `create` made."""
        return bool(_TOKEN.fullmatch(secret))

    def grant(self, secret: str) -> Grant | None:
        """Return what a token allows; none where it is wrong or revoked."""
        found = _TOKEN.fullmatch(secret)
        if not found:
            return None
        row = self._row(found[1])
        if not row or not hmac.compare_digest(str(row[-1]), _digest(secret)):
            return None
        return self._accept(row)

    def grant_of(self, token_id: str) -> Grant | None:
        """Return what the token of this id allows now, for who has shown it before; none where it was revoked."""
        row = self._row(token_id)
        return self._accept(row) if row else None

    def _row(self, token_id: str) -> Row | None:
        return self._database.read(
            lambda tx: tx.one(f"SELECT {_COLUMNS}, digest FROM tokens WHERE id = ?", token_id)
        )

    def _accept(self, row: Row) -> Grant | None:
        token = _token(row[:-1])
        if token.revoked_at:
            return None
        now = self._clock()
        if token.used_at is None or now - token.used_at >= USED_PRECISION:
            self._note_use(token.id, now)
        return Grant(token.scope, "" if token.scope == "admin" else token.user, token.id)

    def _note_use(self, token_id: str, now: datetime) -> None:
        try:
            self._database.write(
                lambda tx: tx.run("UPDATE tokens SET used_at = ? WHERE id = ?", to_micros(now), token_id)
            )
        except StorageError as error:  # no reason to refuse who only reads
            log.warning("that the token %s was used could not be noted: %s", token_id, error)

    # The log of writes

    def log_write(self, grant: Grant, operation: str, user: str, targets: Sequence[str], outcome: Outcome) -> None:
        """Note a change that was made, or tried, with a token. What does not look like an id is left out of the
        targets: the log keeps no text. The oldest entries go. Of the changes that a token did not make, the first
        in each hour are noted: nobody pushes older entries out with what is refused."""
        ids = [one for one in dict.fromkeys(targets) if _TARGET.fullmatch(one)][:MAX_TARGETS]
        now = self._clock()
        row = (to_micros(now), grant.token, user, operation, json.dumps(ids), outcome)
        since = to_micros(now - NOT_DONE_WINDOW)

        def write(tx: Transaction) -> None:
            if outcome != "done":
                lately = "SELECT count(*) FROM write_log WHERE token = ? AND outcome <> 'done' AND at > ?"
                counted = tx.one(lately, grant.token, since)
                if counted and counted[0] >= MAX_NOT_DONE:
                    return
            into = "write_log (at, token, owner, operation, targets, outcome)"
            if tx.insert(into, [row])[0] % WRITES_PER_PRUNING == 0:
                self._prune(tx)

        self._database.write(write)

    def prune_log(self) -> None:
        """Remove the entries of the log that are too old or too many."""
        self._database.write(self._prune)

    def _prune(self, tx: Transaction) -> None:
        if self._retain_days:
            until = self._clock() - timedelta(days=self._retain_days)
            tx.run("DELETE FROM write_log WHERE at < ?", to_micros(until))
        tx.run("DELETE FROM write_log WHERE id <= (SELECT max(id) FROM write_log) - ?", MAX_LOGGED_WRITES)

    def write_log(
        self, limit: int = 100, *, user: str = "", token: str = "", before: int = 0
    ) -> builtins.list[LoggedWrite]:
        """Return what was changed with tokens, newest first: in one user's memory, with one token, before the
        entry of an id."""
        validate_count(limit, "The limit")
        wanted: dict[str, Param] = {"owner = ?": user, "token = ?": token, "id < ?": before}
        wanted = {condition: value for condition, value in wanted.items() if value}
        which = f" WHERE {' AND '.join(wanted)}" if wanted else ""
        rows = self._database.read(
            lambda tx: tx.all(
                "SELECT id, at, token, owner, operation, targets, outcome FROM write_log"
                f"{which} ORDER BY id DESC LIMIT ?",
                *(*wanted.values(), limit),
            )
        )
        return [
            LoggedWrite(id_, from_micros(at), by, owner, operation, json.loads(targets), outcome)
            for id_, at, by, owner, operation, targets, outcome in rows
        ]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()


def _token(row: Row) -> Token:
    id_, owner, scope, name, created_at, used_at, revoked_at = row
    times = (None if one is None else from_micros(one) for one in (used_at, revoked_at))
    return Token(id_, owner, scope, name, from_micros(created_at), *times)
