"""The rows of `session_history`: what was said, written once, in an order that never changes.

`append_keys` remembers which record a caller's idempotency key became.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from hashlib import blake2b
from typing import Any, NamedTuple, TypeAlias, get_args

from lifelong.errors import InputError
from lifelong.redaction import redact, redact_json, redact_message
from lifelong.storage.base import NO_LIMIT, Row, Transaction
from lifelong.types import ORIGINAL, PROVENANCES, Record, StoredRecord, from_micros, to_micros
from lifelong.validation import RECORD_LIMIT_ADVICE, has_surrogate, plain_json, validate_text, validate_time

log = logging.getLogger("lifelong.collect")

MAX_SPEAKER_CHARS = 200  # characters
_STRUCTURE = frozenset({"role", "type", "id", "uuid", "parentUuid", "sessionId", "call_id", "status", "timestamp"})
"""What of a framework's message nobody said."""
MAX_ORIGINAL_CHARS = 100_000_000  # it may hold files
MAX_AHEAD = 86_400_000_000  # microseconds of the clock; another machine's may be some hours fast

RecordRow: TypeAlias = tuple[str, str, int, str]
"""A record analyzed to be stored: type, provenance, at, data."""


class IndexableRecord(NamedTuple):
    """A stored record that goes into the index. `since`: when it was stored (none: just now); `analyzed`: its text
    as the index needs it, if that was made already."""

    record_id: int
    session_id: str
    agent_id: str
    agent_kind: str
    written: RecordRow
    since: datetime | None = None
    analyzed: object = None


_RECORDS: dict[str, type[Record]] = {kind.type: kind for kind in get_args(Record)}
_CONTENT = {
    kind: tuple((f.name, f.default) for f in fields(kind) if f.name not in ("provenance", "at"))
    for kind in _RECORDS.values()
}
"""What each kind keeps in `data`: field and default (a value equal to it is not written)."""

_COLUMNS = "id, session_id, type, provenance, at, recorded_at, data"
_JSON = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class RecordPage:
    """Loaded records, and the id of the last row that was read, whether it was readable or not."""

    records: tuple[StoredRecord, ...]
    until: int


class History:
    """Read and write `session_history` in a transaction."""

    __slots__ = ("_tx",)

    def __init__(self, tx: Transaction) -> None:
        self._tx = tx

    def insert(self, rows: Iterable[tuple[str, RecordRow, int]]) -> Sequence[int]:
        """Store (session, record, recorded at), in order, and return their ids. The sessions' rows are already
        locked, so ids within a session become visible in order."""
        return self._tx.insert(
            "session_history (session_id, type, provenance, at, recorded_at, data)",
            [
                (session_id, kind, provenance, at, recorded_at, data)
                for session_id, (kind, provenance, at, data), recorded_at in rows
            ],
        )

    def max_id(self, session_id: str) -> int | None:
        """Return the id of the session's newest record; none when it is empty."""
        row = self._tx.one("SELECT max(id) FROM session_history WHERE session_id = ?", session_id)
        return row[0] if row else None

    def count_since_id(self, session_id: str, after: int) -> int:
        row = self._tx.one(
            "SELECT count(*) FROM session_history WHERE session_id = ? AND id > ?", session_id, after
        )
        return row[0] if row else 0

    def find_since_id(self, session_id: str, after: int) -> list[StoredRecord]:
        """Return the records strictly after this id, ascending."""
        return list(self.load(session_id, after).records)

    def last(self, session_id: str, count: int, until: int = NO_LIMIT) -> tuple[StoredRecord, ...]:
        """Return the newest records of the session up to this id, ascending."""
        rows = self._tx.all(
            "SELECT id FROM session_history WHERE session_id = ? AND id <= ? ORDER BY id DESC LIMIT ?",
            *(session_id, until, count),
        )
        return self.load(session_id, rows[-1][0] - 1, until=until).records if rows else ()

    def between(self, session_id: str, after: int, until: int) -> tuple[StoredRecord, ...]:
        """Return the records of the session in (after, until]."""
        return self.load(session_id, after, until=until).records

    def spans(self, session_ids: Iterable[str]) -> dict[str, tuple[int, datetime, datetime]]:
        """Return how many messages each session has, and when the first and the last were said."""
        rows = self._tx.many(
            "SELECT session_id, sum(CASE WHEN type IN ('tool_call', 'tool_result') OR data LIKE ? THEN 0 ELSE 1 "
            "END), min(at), max(at) FROM session_history WHERE session_id = ? GROUP BY session_id",
            [('{"text":"",%', one) for one in session_ids],
        )
        return {row[0]: (int(row[1]), from_micros(row[2]), from_micros(row[3])) for row in rows}

    def first_requests(self, session_ids: Iterable[str]) -> dict[str, StoredRecord]:
        """Return the first record of a user in each session; where there is none, the first message."""
        rows = self._tx.many(
            "SELECT session_id, id FROM session_history WHERE session_id = ? "
            "AND type NOT IN ('tool_call', 'tool_result') "
            "ORDER BY CASE type WHEN 'user_message' THEN 0 ELSE 1 END, id LIMIT 1",
            [(one,) for one in session_ids],
        )
        return {row[0]: one for row in rows for one in self.between(row[0], row[1] - 1, row[1])}

    def session_of(self, record_id: int) -> str | None:
        """Return the session of a record; none where there is no such record."""
        row = self._tx.one("SELECT session_id FROM session_history WHERE id = ?", record_id)
        return row[0] if row else None

    def with_ids(self, record_ids: Iterable[int]) -> list[StoredRecord]:
        """Return the records with these ids, of whichever sessions; those that do not exist are left out."""
        found = ((one, session) for one in record_ids if (session := self.session_of(one)))
        return [record for one, session in found for record in self.between(session, one - 1, one)]

    def said_at(self, owner: str, record_id: int) -> datetime | None:
        """Return when a record of the owner was said; none where there is no such record."""
        row = self._one_of_owner("h.at", owner, record_id)
        return from_micros(row[0]) if row else None

    def provenance(self, owner: str, record_id: int) -> str:
        """Return who or what a record of the owner comes from; empty where there is no such record."""
        row = self._one_of_owner("h.provenance", owner, record_id)
        return row[0] if row else ""

    def _one_of_owner(self, column: str, owner: str, record_id: int) -> Row | None:
        return self._tx.one(
            f"SELECT {column} FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.id = ?",
            *(owner, record_id),
        )

    def of_owner(self, owner: str, record_ids: Iterable[int]) -> dict[int, StoredRecord]:
        """Return those of these records that were said to an agent of the owner. Unreadable ones are skipped."""
        columns = ", ".join(f"h.{name}" for name in _COLUMNS.split(", "))
        rows = self._tx.many(
            f"SELECT {columns} FROM session_history h JOIN sessions s ON s.id = h.session_id "
            "JOIN agents a ON a.id = s.agent_id WHERE a.owner = ? AND h.id = ?",
            [(owner, record_id) for record_id in record_ids],
        )
        return {one.id: one for row in rows if (one := from_row(row))}

    def texts_before(self, record_ids: Sequence[int]) -> dict[int, tuple[str, str]]:
        """Return type and data of what was said just before each of these in its session. Tool calls are passed
        over."""
        marks = ", ".join("?" * len(record_ids))
        rows = self._tx.all(
            "SELECT h.id, p.type, p.data FROM session_history h JOIN session_history p ON p.id = (SELECT x.id "
            "FROM session_history x WHERE x.session_id = h.session_id AND x.id < h.id AND x.type <> 'tool_call' "
            f"ORDER BY x.id DESC LIMIT 1) WHERE h.id IN ({marks})",
            *record_ids,
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def size(self, session_id: str) -> int:
        """Return how many characters the session's records hold."""
        row = self._tx.one("SELECT sum(length(data)) FROM session_history WHERE session_id = ?", session_id)
        return int(row[0]) if row and row[0] else 0

    def waiting(self, session_id: str, after: int) -> tuple[datetime, datetime, int] | None:
        """Return when the first and the last record after this id arrived, and how many characters these hold."""
        row = self._tx.one(
            "SELECT min(recorded_at), max(recorded_at), sum(length(data)) FROM session_history "
            "WHERE session_id = ? AND id > ?",
            *(session_id, after),
        )
        return (from_micros(row[0]), from_micros(row[1]), int(row[2])) if row and row[2] else None

    def until_bytes(self, session_id: str, after: int, limit: int, most: int) -> int:
        """Return the id of the last of the next `limit` records that together take at most so many bytes, or of
        the first if it takes more; `after` where there is none."""
        until, total = after, 0
        for record_id, size in self._tx.all(
            "SELECT id, octet_length(data) FROM session_history WHERE session_id = ? AND id > ? "
            "ORDER BY id LIMIT ?",
            *(session_id, after, limit),
        ):
            total += size
            if total > most and until > after:
                break
            until = record_id
        return until

    def load(self, session_id: str, after: int, limit: int = NO_LIMIT, until: int = NO_LIMIT) -> RecordPage:
        """Return the next records strictly after this id, ascending. Unreadable ones are logged and skipped."""
        rows = self._rows(session_id, after, until, limit)
        readable = tuple(recorded for row in rows if (recorded := from_row(row)))
        return RecordPage(readable, rows[-1][0] if rows else after)

    def _rows(self, session_id: str, after: int, until: int, limit: int) -> list[Row]:
        """Return the raw rows; a row whose text cannot be decoded comes back empty."""
        which = "FROM session_history WHERE session_id = ? AND id > ? AND id <= ? ORDER BY id LIMIT ?"
        try:
            return self._tx.all(f"SELECT {_COLUMNS} {which}", session_id, after, until, limit)
        except UnicodeDecodeError:
            ids = self._tx.all(f"SELECT id {which}", session_id, after, until, limit)
            return [self._row(session_id, row[0]) for row in ids]

    def _row(self, session_id: str, record_id: int) -> Row:
        try:
            row = self._tx.one(f"SELECT {_COLUMNS} FROM session_history WHERE id = ?", record_id)
        except UnicodeDecodeError:
            row = None
        return row or (record_id, session_id, "", "", 0, 0, "")

    def last_recorded_at(self, session_id: str) -> datetime | None:
        """Return when the session's newest record arrived."""
        row = self._tx.one(
            "SELECT recorded_at FROM session_history WHERE session_id = ? ORDER BY id DESC LIMIT 1",
            session_id,
        )
        return from_micros(row[0]) if row else None

    def find_keys(self, pairs: Sequence[tuple[str, str]]) -> dict[tuple[str, str], tuple[int, str]]:
        """Return the (agent, key) pairs that were stored before, each with its record and digest."""
        if not pairs:
            return {}
        rows = self._tx.many(
            "SELECT agent_id, key, record_id, digest FROM append_keys WHERE agent_id = ? AND key = ?", pairs
        )
        return {(row[0], row[1]): (row[2], row[3]) for row in rows}

    def insert_keys(self, keys: Sequence[tuple[str, str, int, str]]) -> None:
        if keys:
            self._tx.many("INSERT INTO append_keys (agent_id, key, record_id, digest) VALUES (?, ?, ?, ?)", keys)


def to_row(record: Record, now: int, limit: int) -> RecordRow:
    """Return the record as a row, without its secrets; raise `InputError` where it cannot be stored."""
    at, content = check_record(record, now, limit)
    safe = {name: _without_secrets(value, name) for name, value in content.items()}
    return record.type, record.provenance, at, _JSON.encode(safe)


def check_record(record: Record, now: int, limit: int) -> tuple[int, dict[str, object]]:
    """Return the record's time and its content as it was given; raise `InputError` where it cannot be stored.
    Secrets are not looked for: in a long text, that takes much longer than everything else."""
    kind = type(record)
    if kind not in _CONTENT:
        names = ", ".join(known.__name__ for known in _CONTENT)
        raise InputError(f"{record!r:.200} is not a record. Use one of: {names}.")
    if record.provenance not in PROVENANCES:
        raise InputError(
            f"Unknown provenance {record.provenance!r:.200}. Use one of: {', '.join(sorted(PROVENANCES))}."
        )
    at = now if record.at is None else to_micros(validate_time(record.at, f"{kind.__name__}.at"))
    if at > now + MAX_AHEAD:
        raise InputError(
            f"{kind.__name__}.at is in the future: {record.at}. Give the time when it was said, or leave it out; "
            "what is planned for a day belongs into the text."
        )
    content: dict[str, object] = {}
    for name, default in _CONTENT[kind]:
        value = getattr(record, name)
        if value is not default:
            content[name] = _checked(value, name, default, f"{kind.__name__}.{name}", limit)
    return at, content


def from_json(content: Mapping[str, Any]) -> Record:
    """Return the record that JSON describes by its `type` and fields, `at` being a time already."""
    fields = dict(content)
    kind = _RECORDS.get(fields.pop("type", ""))
    if kind is None:
        raise InputError(f"{content!r:.200} has no known type. Use one of: {', '.join(_RECORDS)}.")
    try:
        return kind(**fields)
    except TypeError as error:
        raise InputError(f"{kind.__name__} does not take these fields: {error}.") from error


def from_row(row: Row) -> StoredRecord | None:
    """Return the record of a row; none, with a warning, where it cannot be read."""
    record_id, session_id, kind, provenance, at, recorded_at, data = row
    try:
        if provenance not in PROVENANCES:
            raise ValueError(f"unknown provenance {provenance!r}")  # noqa: TRY301
        record = _RECORDS[kind](**json.loads(data), provenance=provenance, at=from_micros(at))
        for name, default in _CONTENT[type(record)]:
            if not _fits(getattr(record, name), name, default):
                raise ValueError(f"{name} is of the wrong type")  # noqa: TRY301
        return StoredRecord(record_id, session_id, from_micros(at), from_micros(recorded_at), record)
    except (ValueError, TypeError, KeyError, OverflowError, RecursionError) as error:
        log.warning("record %s of session %s cannot be read and is skipped: %r", record_id, session_id, error)
        return None


def digest(written: RecordRow) -> str:
    """Return a short hash of what a record says, which tells a retry from another record."""
    kind, provenance, _, data = written
    return blake2b(f"{kind} {provenance} {data}".encode(), digest_size=12).hexdigest()


def _checked(value: object, name: str, default: object, what: str, limit: int) -> object:
    if not _fits(value, name, default):
        wanted = "a mapping" if name == "arguments" else "a bool" if isinstance(default, bool) else "text"
        raise InputError(f"{what} must be {wanted}, not {type(value).__name__}. Pass {wanted}.")
    if name == "speaker":
        return validate_text(value, what, MAX_SPEAKER_CHARS)
    if name == ORIGINAL:
        checked = validate_text(value, what, MAX_ORIGINAL_CHARS)
        _parse_original(checked)
        return checked
    if isinstance(value, str):
        return validate_text(value, what, limit, RECORD_LIMIT_ADVICE)
    if isinstance(value, Mapping):
        plain = plain_json(value, what, limit)
        if len(_JSON.encode(plain)) > limit:
            raise InputError(f"{what} is longer than {limit:,} characters. {RECORD_LIMIT_ADVICE}")
        return plain
    return value


def _without_secrets(value: object, name: str) -> object:
    if name == "call_id":  # it looks random, and joins call and result
        return value
    if isinstance(value, str):
        return safe_original(value) if name == ORIGINAL else redact(value)
    return redact_json(value) if isinstance(value, Mapping) else value


def safe_original(text: str) -> str:
    """Return a framework's message without its secrets, as JSON."""
    given = _parse_original(text)
    try:
        safe = redact_message(given)
    except RecursionError as error:
        raise InputError(f"An original is nested too deeply: {error}. Pass a flatter message.") from error
    return text if safe == given else write_original(safe)


def _parse_original(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InputError(
            f"An original must be JSON: {error}. Pass the message as json.dumps writes it."
        ) from error


def write_original(message: object) -> str:
    """Return a framework's message as JSON that every database takes. Raise `InputError` where JSON cannot hold
    it."""
    try:
        text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
        return text if not has_surrogate(text) else json.dumps(message, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise InputError(
            f"The message is not JSON: {error}. Pass plain dicts, lists, texts and numbers."
        ) from error


def without_original(data: str) -> str:
    """Return the content of a record without the message that it carries for a framework, unless it says nothing
    else."""
    content = _loaded(data) if f'"{ORIGINAL}":' in data else {}
    content.pop(ORIGINAL, None)
    return _JSON.encode(content) if any(content.values()) else data


def cleaned_original(data: str, clean: Callable[[str], str]) -> str:
    """Return the content of a record with other texts in the message that it carries for a framework."""
    content = _loaded(data)
    try:
        before = json.loads(content[ORIGINAL])
        after = _with_texts(before, clean)
    except (ValueError, KeyError, TypeError, RecursionError):
        return data
    return data if after == before else _JSON.encode(content | {ORIGINAL: write_original(after)})


def _with_texts(value: object, clean: Callable[[str], str]) -> object:
    match value:
        case str():
            return clean(value)
        case dict():
            return {key: inner if key in _STRUCTURE else _with_texts(inner, clean) for key, inner in value.items()}
        case list():
            return [_with_texts(inner, clean) for inner in value]
        case _:
            return value


def _loaded(data: str) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _fits(value: object, name: str, default: object) -> bool:
    if name == "arguments":
        return isinstance(value, Mapping)
    return isinstance(value, bool if isinstance(default, bool) else str)
