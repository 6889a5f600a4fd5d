"""How records are stored. Each call is one transaction: durable when it returns, without trace when it raises."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple, TypeVar

from lifelong.collect.agents import AgentRow, Agents, agent_not_found, validate_living
from lifelong.collect.history import History, IndexableRecord, RecordRow, check_record, digest, to_row
from lifelong.collect.lifecycle import Lifecycle
from lifelong.collect.sessions import Sessions
from lifelong.collect.tombstones import Tombstones
from lifelong.errors import InputError, LifelongError, OutcomeUnknown, StorageError
from lifelong.recall.index_writer import analyze_record, index_records
from lifelong.recall.repair import IndexRepair
from lifelong.redaction import has_secret, redact
from lifelong.storage.base import Database, Transaction
from lifelong.storage.group_commit import GroupCommitter
from lifelong.types import Clock, Record, Session, SystemMessage, Turn, to_micros
from lifelong.validation import validate_name, validate_text

T = TypeVar("T")

OVERFLOW_MESSAGE = "The context overflowed."
MAX_KEY_BYTES = 500  # bytes


class PendingRecord(NamedTuple):
    """A record that is to be stored: its row, its idempotency key, its text as the index needs it, and the digest
    that tells a retry: of its content, or of all records that share the key."""

    written: RecordRow
    key: str | None
    analyzed: object
    digest: str


class PastSession(NamedTuple):
    """A conversation that took place elsewhere and is over. `id` is its own there, `note` says where it comes
    from; each record has an idempotency key."""

    id: str
    records: Sequence[tuple[str, Record]]
    note: str = ""


class PastStored(NamedTuple):
    """How many records of past sessions were stored, were there before, and were forgotten here before."""

    added: int
    known: int
    forgotten: int


class Batch(NamedTuple):
    """Records for one agent that are stored together or not at all: in its active session, or in that of this id,
    which is over, with a note."""

    owner: str
    agent_id: str
    entries: Sequence[PendingRecord]
    now: datetime
    past_id: str = ""
    note: str = ""

    def keyed(self) -> list[tuple[str, str]]:
        return [(self.agent_id, entry.key) for entry in self.entries if entry.key is not None]


RecordIds = list[int]

Outcome = RecordIds | BaseException | None
"""The ids of a batch or its error. None: another transaction has locked the agent's row; the batch then waits for
it alone, so that the rest of its group does not."""


class Recorder:
    """Write history for every user of a home. Records become searchable in the transaction that stores them.
    `on_mark` is called after a transaction that may have marked a session, `on_append` with the owner and the
    agent after one that may have completed a turn."""

    def __init__(
        self,
        database: Database,
        lifecycle: Lifecycle,
        repair: IndexRepair,
        clock: Clock,
        *,
        turn_threshold: int,
        max_record_chars: int,
        on_mark: Callable[[], None],
        on_append: Callable[[str, str], None],
    ) -> None:
        self._database = database
        self._lifecycle = lifecycle
        self._repair = repair
        self._clock = clock
        self._threshold = turn_threshold
        self._limit = max_record_chars
        self._on_mark = on_mark
        self._on_append = on_append
        self._committer: GroupCommitter[Batch, RecordIds | None] = GroupCommitter(
            self._store_group, "lifelong-append"
        )

    def validate(self, records: Iterable[Record], key: str | None = None) -> None:
        """Raise `InputError` unless the records can be stored, under this key if there is one."""
        if key is not None:
            _check_key(key)
        now = to_micros(self._clock())
        for record in records:
            check_record(record, now, self._limit)

    def append(self, owner: str, agent_id: str, record: Record, key: str | None = None) -> int:
        """Store one record and return its id once it is durable. Of one that was forgotten, and comes again with
        its own time, nothing is stored: the id that it had is returned, negated."""
        now = self._clock()
        return self._submit(Batch(owner, agent_id, (self._entry(record, key, to_micros(now)),), now))[0]

    def append_many(
        self, owner: str, agent_id: str, records: Iterable[Record], keys: Iterable[str | None] | None = None
    ) -> RecordIds:
        """Store records in order, all or none, and return their ids. A record whose key was seen before is not
        stored again: its first id is returned. One that was forgotten has its id negated, as in `append`."""
        records = _several(records, "records")
        keys = (None,) * len(records) if keys is None else _several(keys, "keys")
        if len(keys) != len(records):
            raise InputError(f"{len(records)} records need as many keys (or none), not {len(keys)}.")
        now = self._clock()
        arrived = to_micros(now)
        entries = [self._entry(record, key, arrived) for record, key in zip(records, keys, strict=True)]
        return self._submit(Batch(owner, agent_id, entries, now)) if entries else []

    def append_under(self, owner: str, agent_id: str, records: Sequence[Record], key: str) -> RecordIds:
        """Store records under one key, all or none, and return their ids. A retry with the same records stores
        nothing; one with other records raises `InputError`."""
        now = self._clock()
        arrived = to_micros(now)
        own = blake2b(_check_key(key).encode(), digest_size=16).hexdigest()
        keys = [key, *(f"{own}/{number}" for number in range(2, len(records) + 1))]
        entries = [self._entry(record, each, arrived) for record, each in zip(records, keys, strict=True)]
        whole = blake2b(" ".join(entry.digest for entry in entries).encode(), digest_size=12).hexdigest()
        if len(entries) > 1:
            entries[0] = entries[0]._replace(digest=whole)
        return self._submit(Batch(owner, agent_id, entries, now)) if entries else []

    def append_past(self, owner: str, agent_id: str, sessions: Sequence[PastSession]) -> PastStored:
        """Store conversations that are over, each as a session of its own that has ended, all or none. A session
        that is there gets what is new of it. A record whose key was seen before is not stored again, whatever it
        says now."""
        now = self._clock()
        arrived = to_micros(now)
        records: dict[str, dict[str, Record]] = {}
        for one in sessions:
            records.setdefault(one.id, {}).update(one.records)
        notes = {one.id: redact(validate_text(one.note, "The note", self._limit)) for one in sessions}
        known = self.find_known(agent_id, [key for keyed in records.values() for key in keyed])
        batches, seen = [], set(known)
        for past_id, keyed in records.items():
            new = {key: record for key, record in keyed.items() if key not in seen}
            seen.update(new)
            entries = [self._entry(record, key, arrived) for key, record in new.items()]
            session_id = blake2b(f"{agent_id} {past_id}".encode(), digest_size=16).hexdigest()
            if entries:
                batches.append(Batch(owner, agent_id, entries, now, session_id, notes[past_id]))
        if not batches:
            return PastStored(0, len(known), 0)

        def work(tx: Transaction) -> int:
            outcomes, _ = self._store(tx, batches, wait=True)
            if failed := next((one for one in outcomes if isinstance(one, BaseException)), None):
                raise failed
            return len(History(tx).find_keys([pair for batch in batches for pair in batch.keyed()]))

        added = self._write_and_notify(owner, agent_id, work)
        return PastStored(added, len(known), sum(len(batch.entries) for batch in batches) - added)

    def find_known(self, agent_id: str, keys: Sequence[str]) -> set[str]:
        """Return which of the keys were seen before."""
        stored = {key: safe_key(key) for key in keys}
        found = self._database.read(
            lambda tx: History(tx).find_keys([(agent_id, key) for key in dict.fromkeys(stored.values())])
        )
        return {key for key, safe in stored.items() if (agent_id, safe) in found}

    def end_turn(self, owner: str, agent_id: str) -> Turn | None:
        """End the agent's turn. Return the range of its records; none if nothing was recorded since the last
        end."""
        now = self._clock()

        def work(tx: Transaction) -> Turn | None:
            agent = Agents(tx).get_for_update(owner, agent_id)
            self._lifecycle.touch(tx, agent, now)
            session = Sessions(tx).active(agent.id)
            newest = session and History(tx).max_id(session.id)
            return Sessions(tx).end_turn(session.id, newest, now) if session and newest else None

        turn = self._database.write(work)
        self._on_append(owner, agent_id)
        return turn

    def reset(self, owner: str, agent_id: str, message: str | None = None, *, emergency: bool = False) -> Session:
        """Close the agent's session and open a new one. The old one is marked first. `emergency`: without a
        message, note that the context overflowed."""
        if message is not None:
            message = redact(validate_text(message, "The reset message", self._limit))
        now = self._clock()

        def work(tx: Transaction) -> Session:
            agent = Agents(tx).get_for_update(owner, agent_id)
            self._lifecycle.touch(tx, agent, now)
            return self._next_session(tx, agent, now, message or (OVERFLOW_MESSAGE if emergency else None))

        return self._write_and_notify(owner, agent_id, work)

    def compact_context(self, owner: str, agent_id: str, summary: str) -> Session:
        """Do what `reset` does, with the summary as the new session's first record: a system message, not the
        user's word."""
        if not validate_text(summary, "The summary", self._limit).strip():
            raise InputError("The summary must not be empty. Use reset(agent) to start without one.")
        now = self._clock()
        opening = self._entry(SystemMessage(summary, summary=True), None, to_micros(now))

        def work(tx: Transaction) -> Session:
            agent = Agents(tx).get_for_update(owner, agent_id)
            session = self._next_session(tx, agent, now, None)
            self._store_alone(tx, Batch(owner, agent.id, (opening,), now))
            return session

        return self._write_and_notify(owner, agent_id, work)

    def close(self) -> None:
        self._committer.close()

    def _entry(self, record: Record, key: str | None, arrived: int) -> PendingRecord:
        written = to_row(record, arrived, self._limit)
        checked = None if key is None else safe_key(_check_key(key))
        return PendingRecord(written, checked, analyze_record(written), digest(written))

    def _submit(self, batch: Batch) -> RecordIds:
        ids = self._committer.submit(batch)
        if ids is None:
            return self._write_and_notify(batch.owner, batch.agent_id, lambda tx: self._store_alone(tx, batch))
        self._on_append(batch.owner, batch.agent_id)
        return ids

    def _write_and_notify(self, owner: str, agent_id: str, work: Callable[[Transaction], T]) -> T:
        done = self._write_repairing(work)
        self._on_append(owner, agent_id)
        self._on_mark()
        return done

    def _write_repairing(self, work: Callable[[Transaction], T]) -> T:
        """Write. If a damaged index refuses it, repair the index and write again; what may have been stored is not
        written twice."""
        try:
            return self._database.write(work)
        except StorageError as error:
            if isinstance(error, OutcomeUnknown) or not self._repair.repair_fulltext(error):
                raise
            return self._database.write(work)

    def _next_session(self, tx: Transaction, agent: AgentRow, now: datetime, message: str | None) -> Session:
        sessions = Sessions(tx)
        if old := sessions.active(agent.id):
            if newest := History(tx).max_id(old.id):
                sessions.mark([(agent, old.id, newest)])
            sessions.end(old.id, now, message)
        return sessions.create(agent.id, now)

    # Storing. A group is what waited together; one transaction takes all of it in a handful of statements.

    def _store_group(self, batches: Sequence[Batch]) -> Sequence[Outcome]:
        outcomes, marked = self._write_repairing(lambda tx: self._store(tx, batches, wait=False))
        if marked:
            self._on_mark()
        return outcomes

    def _store_alone(self, tx: Transaction, batch: Batch) -> RecordIds:
        (outcome,), _ = self._store(tx, (batch,), wait=True)
        if isinstance(outcome, BaseException):
            raise outcome
        assert outcome is not None, "a batch that waits for its row gets it"
        return outcome

    def _store(self, tx: Transaction, batches: Sequence[Batch], *, wait: bool) -> tuple[list[Outcome], bool]:
        """Lock the agents, skip what was stored before, insert the rest, mark sessions over the threshold. Return
        the outcome of each batch, and whether anything was marked."""
        agents = Agents(tx).lock({batch.agent_id for batch in batches}, wait=wait)
        intake = _Intake(History(tx).find_keys([pair for batch in batches for pair in batch.keyed()]))
        outcomes: list[Outcome] = []
        for batch in batches:
            agent = agents.get(batch.agent_id)
            if agent is None and not wait:
                outcomes.append(None)
                continue
            try:
                outcomes.append(intake.take(batch, agent))
            except LifelongError as error:
                outcomes.append(error)
        if not intake.rows:
            return outcomes, False
        forgotten = self._forgotten(tx, intake.rows)
        rows = [row for place, row in enumerate(intake.rows) if place not in forgotten]
        ids, marked = self._insert(tx, rows, agents) if rows else ((), False)
        numbers, stored = [0] * len(intake.rows), iter(ids)
        for place in range(len(numbers)):
            numbers[place] = -forgotten[place] if place in forgotten else next(stored)
        with_ids: list[Outcome] = [
            [ref if ref > 0 else numbers[~ref] for ref in o] if isinstance(o, list) else o for o in outcomes
        ]
        return with_ids, marked

    def _forgotten(self, tx: Transaction, rows: Sequence[tuple[Batch, PendingRecord]]) -> dict[int, int]:
        """Return which of the rows are records that were forgotten, said again word for word with their own times,
        and the numbers that they had: they are not stored again."""
        replayed: dict[str, list[int]] = {}
        for place, (batch, entry) in enumerate(rows):
            if entry.written[2] != to_micros(batch.now):
                replayed.setdefault(batch.owner, []).append(place)
        found: dict[int, int] = {}
        for owner, places in replayed.items():
            again = Tombstones(tx, owner).find_again([rows[place][1].written for place in places])
            found |= {places[which]: number for which, number in again.items()}
        return found

    def _insert(
        self, tx: Transaction, rows: Sequence[tuple[Batch, PendingRecord]], agents: dict[str, AgentRow]
    ) -> tuple[Sequence[int], bool]:
        sessions, history = Sessions(tx), History(tx)
        grown: dict[str, int] = {}
        for batch, _ in rows:
            if not batch.past_id:
                grown[batch.agent_id] = grown.get(batch.agent_id, 0) + 1
        enough = {agent_id: max(1, self._threshold + 1 - new) for agent_id, new in grown.items()}
        active = sessions.active_with_backlog(enough) if enough else {}
        for agent_id, now in {batch.agent_id: batch.now for batch, _ in rows if not batch.past_id}.items():
            if agent_id not in active:
                active[agent_id] = (sessions.create(agent_id, now).id, False)
            self._lifecycle.wake(tx, agents[agent_id], now)
        for batch in {batch.past_id: batch for batch, _ in rows if batch.past_id}.values():
            times = [entry.written[2] for entry in batch.entries]
            sessions.ensure_past(batch.past_id, batch.agent_id, min(times), max(times), batch.note)
        placed = [batch.past_id or active[batch.agent_id][0] for batch, _ in rows]
        ids = history.insert(
            (session_id, entry.written, to_micros(batch.now))
            for (batch, entry), session_id in zip(rows, placed, strict=True)
        )
        newest = {
            (batch.agent_id, session_id): record_id
            for (batch, _), session_id, record_id in zip(rows, placed, ids, strict=True)
        }
        due = {
            active[agent_id][0] for agent_id, new in grown.items() if active[agent_id][1] or new > self._threshold
        }
        due |= {batch.past_id for batch, _ in rows if batch.past_id}
        marks = [
            (agents[agent_id], session_id, record_id)
            for (agent_id, session_id), record_id in newest.items()
            if session_id in due
        ]
        sessions.mark(marks)
        stored: dict[str, list[IndexableRecord]] = {}
        for (batch, entry), session_id, record_id in zip(rows, placed, ids, strict=True):
            stored.setdefault(batch.owner, []).append(
                IndexableRecord(
                    record_id,
                    session_id,
                    batch.agent_id,
                    agents[batch.agent_id].kind,
                    entry.written,
                    analyzed=entry.analyzed,
                )
            )
        for owner, records in stored.items():
            index_records(tx, owner, records, rows[0][0].now)
        history.insert_keys(
            [
                (batch.agent_id, entry.key, record_id, entry.digest)
                for (batch, entry), record_id in zip(rows, ids, strict=True)
                if entry.key is not None
            ]
        )
        return ids, bool(marks)


class _Intake:
    """Collect the new rows of one transaction, in order, and where the id of each record comes from."""

    def __init__(self, known: dict[tuple[str, str], tuple[int, str]]) -> None:
        self.rows: list[tuple[Batch, PendingRecord]] = []
        self._known = known

    def take(self, batch: Batch, agent: AgentRow | None) -> list[int]:
        """Return a reference for each record: the id of one stored before, or ~n for the n-th new row."""
        if agent is None or agent.owner != batch.owner:
            raise agent_not_found(batch.agent_id)
        self._check_retries(batch)
        if any(entry.key is None or (agent.id, entry.key) not in self._known for entry in batch.entries):
            validate_living(agent)
        return [self._refer(batch, entry) for entry in batch.entries]

    def _refer(self, batch: Batch, entry: PendingRecord) -> int:
        if entry.key is not None and (known := self._known.get((batch.agent_id, entry.key))):
            return known[0]
        self.rows.append((batch, entry))
        ref = ~(len(self.rows) - 1)
        if entry.key is not None:
            self._known[batch.agent_id, entry.key] = (ref, entry.digest)
        return ref

    def _check_retries(self, batch: Batch) -> None:
        """Raise `InputError` where a key comes again with other content: that content would be lost."""
        digests: dict[str, str] = {}
        for entry in batch.entries:
            if entry.key is None:
                continue
            _, before = self._known.get((batch.agent_id, entry.key), (0, digests.get(entry.key)))
            digests[entry.key] = entry.digest
            if before and before != entry.digest:
                raise InputError(
                    f"The key {entry.key!r} was used before for another record. Nothing was stored; "
                    "use a new key for a new record."
                )


def _check_key(key: object) -> str:
    return validate_name(key, "The key", MAX_KEY_BYTES)


@lru_cache(maxsize=4096)  # an import asks for each key twice
def safe_key(key: str) -> str:
    """Return the key that is stored: of one that looks like a secret, its hash, which tells a retry as well."""
    return blake2b(key.encode(), digest_size=16).hexdigest() if has_secret(key) else key


def _several(things: Iterable[T], what: str) -> tuple[T, ...]:
    if isinstance(things, str) or not isinstance(things, Iterable):
        raise InputError(f"The {what} cannot be {things!r:.200}. Pass a list of them.")
    return tuple(things)
