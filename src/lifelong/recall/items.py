"""The rows of everything that can be found: `items`, and `item_words` with the words they hold.

Each word in the full-text index begins with its owner, so that a search cannot reach another owner's items, and
with another letter in items that were made from a record: these do not change how rare a word is.
"""

from __future__ import annotations

import re
import sys
from array import array
from base64 import b32encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

from lifelong.errors import ItemNotFound
from lifelong.recall.analyzer import ASSISTANT, BEGINS_PLAY, PERSON, AnalyzedText, analyze
from lifelong.recall.ends import HAS_ENDED, Ends
from lifelong.redaction import find_secrets, mentions_secret
from lifelong.storage.base import NO_LIMIT, Param, Row, Transaction
from lifelong.text.names import NAMELESS
from lifelong.text.role_play import PlayMark, Plays
from lifelong.types import (
    Item,
    ItemKind,
    Provenance,
    from_micros,
    from_optional_micros,
    to_micros,
)

if TYPE_CHECKING:
    from lifelong.vectors.base import VectorFilter

MAX_SPEAKERS = 1_000  # that a question may name
MAX_PLAY_MARKS = 2_000  # the newest records that begin or end a play
MAX_IDS = 10_000  # in a statement; PostgreSQL takes 65,535 parameters
ID_STEP = 64  # ids are looked up in multiples of this, so that few statements need to be prepared
FOUND_COLUMNS = 22  # of a row, that `found_item` reads
RECORD_ID, UNTIL, END_KNOWN, BY_RECORD = 9, 12, 13, 17  # columns of such a row
SHORT_ID = 9  # characters of an id that are shown: the letter of its kind, and eight digits

_RECORD_ID = re.compile(r"r[0-9]{1,19}", re.ASCII)
_FACT_ID = re.compile(r"f[0-9]{1,18}", re.ASCII)
_OTHER_ID = re.compile(r"[jne][0-9a-f]{1,40}", re.ASCII)
_BEGINS = "i.public_id >= ? AND i.public_id < ?"  # with "g" behind it, which follows every digit

_NEW = (
    "items (owner, kind, ref, thread, agent_id, session_id, record_id, speaker, trust, at, since, text, stems, "
    "length, flags, public_id, approved_by)"
)
_FOUND = (
    "SELECT i.id, i.kind, i.ref, i.text, i.at, i.trust, i.speaker, i.agent_id, i.session_id, i.record_id, "
    "i.thread, i.since, e.until, e.known_at, i.gone, i.nudge, i.pinned, e.by_record, i.public_id, h.type, h.data, "
    "i.approved_by FROM items i LEFT JOIN session_history h ON i.kind = 'record' AND h.id = i.record_id "
    "LEFT JOIN ends e ON e.owner = i.owner AND e.kind = i.kind AND e.ref = i.ref WHERE i.owner = ?"
)


class FoundItem(NamedTuple):
    """An item as its row has it. Its times: `at` said, `since` known from, `until` no longer true from,
    `end_known` when that became known (also of a part of it), `hidden_at` hidden from. `container` is the session,
    document or file that holds it; `by_record` is the record that says that it has ended; `feedback_score` is what
    verdicts add up to; `approved_by` is the person who approved what an agent wrote. For a record, `type` and
    `data` are those of its row in history."""

    id: int
    kind: ItemKind
    ref: str
    text: str
    at: datetime
    trust: Provenance
    speaker: str
    agent_id: str
    session_id: str
    record_id: int | None
    container: str
    since: datetime
    until: datetime | None
    end_known: datetime | None
    hidden_at: datetime | None
    feedback_score: float
    pinned: bool
    by_record: int | None
    public_id: str | None
    type: str
    data: str
    approved_by: str = ""

    @property
    def key(self) -> str:
        """What pins, corrections and feedback name it by."""
        return f"{self.kind}:{self.ref}"

    @property
    def short_id(self) -> str:
        """The id people see, where no other item's begins alike (see `Items.shown_id`)."""
        if self.kind == "fact":
            return self.public_id or self.ref
        return self.public_id[:SHORT_ID] if self.public_id else f"r{self.ref}"


class Items:
    """The items of one owner, seen through a transaction."""

    def __init__(self, tx: Transaction, owner: str) -> None:
        self._tx = tx
        self._owner = owner

    # Writing

    def add(self, items: Iterable[Item], now: datetime) -> None:
        """Insert items that are certainly new."""
        self.add_analyzed(((item, analyze(item.text)) for item in items), now)

    def add_analyzed(self, items: Iterable[tuple[Item, AnalyzedText]], now: datetime) -> None:
        """Insert items whose text is analyzed already."""
        arrived, rows, words = to_micros(now), [], []
        for item, analyzed in items:
            text, stems = "" if item.kind == "record" else analyzed.text, analyzed.stems.tobytes()
            flags = analyzed.flags | _role(item)
            ids = _public_id(item), item.approved_by
            rows.append((*self._columns(item, arrived), text, stems, analyzed.length, flags, *ids))
            words.append((stems, is_derived(item.kind, item.record_id)))
        self.write_words((id_, *it) for id_, it in zip(self._tx.insert(_NEW, rows), words, strict=True))

    def write_words(self, items: Iterable[tuple[int, bytes, bool]]) -> None:
        """Write items to the full-text index, each with its stems as its row has them, and whether it is
        derived."""
        self._tx.many(
            f"INSERT INTO item_words (rowid, words) VALUES (?, {self._tx.fulltext_value})",
            [(id_, _words(stems, _prefix(self._owner, derived))) for id_, stems, derived in items if stems],
        )

    def put(self, items: Iterable[Item], now: datetime, *, rebuilding: bool = False) -> None:
        """Insert items, or update those that exist: they are shown again if they were hidden, and get their
        record and its trust. In a rebuild, new ones have been known since their record was stored."""
        given = {(item.kind, item.ref): item for item in items}
        known = {key: id_ for key, (id_, _) in self._known(given).items()}
        self._tx.many(
            "UPDATE items SET gone = NULL, record_id = ?, public_id = ?, trust = ?, approved_by = ? WHERE id = ?",
            [
                (one.record_id, _public_id(one), one.trust, one.approved_by, id_)
                for one, id_ in ((given[key], id_) for key, id_ in known.items())
            ],
        )
        new = [item for key, item in given.items() if key not in known]
        self.add(self._known_before(new, now) if rebuilding else new, now)

    def place(self, items: Iterable[Item]) -> None:
        """Set again where existing items belong, who said them, and when."""
        self._tx.many(
            "UPDATE items SET thread = ?, agent_id = ?, session_id = ?, speaker = ?, at = ? "
            "WHERE owner = ? AND kind = ? AND ref = ?",
            [
                (
                    *(one.container, one.agent_id, one.session_id, _name(one.speaker), to_micros(one.at)),
                    *(self._owner, one.kind, one.ref),
                )
                for one in items
            ],
        )

    def _known_before(self, items: Sequence[Item], now: datetime) -> list[Item]:
        """Return the items with the time since which they are known: that of their record, or else their own."""
        rows = self._tx.many(
            "SELECT id, recorded_at FROM session_history WHERE id = ?",
            [(item.record_id,) for item in items if item.record_id],
        )
        stored_at = {row[0]: from_micros(row[1]) for row in rows}
        return [item._replace(since=min(stored_at.get(item.record_id or 0, item.at), now)) for item in items]

    def replace(self, items: Iterable[Item], now: datetime) -> set[str]:
        """Replace items whose text has changed. The old one is hidden under another ref, since an item's
        vector and words rely on its text to stay the same. Return the refs of the replaced."""
        given = {(item.kind, item.ref): item for item in items}
        other = {
            key: id_
            for key, (id_, text) in self._known(given).items()
            if given[key].text != text and find_secrets(given[key].text).text != text
        }
        self._tx.many(
            "UPDATE items SET ref = ref || '@' || id, public_id = NULL, gone = COALESCE(gone, ?) WHERE id = ?",
            [(to_micros(now), id_) for id_ in other.values()],
        )
        self.add([given[key] for key in other], now)
        return {ref for _, ref in other}

    def hide(self, kind: ItemKind, refs: Iterable[str], now: datetime) -> None:
        """Hide items from now on; a search as of an earlier time still finds them."""
        self._tx.many(
            "UPDATE items SET gone = ? WHERE owner = ? AND kind = ? AND ref = ? AND gone IS NULL",
            [(to_micros(now), self._owner, kind, ref) for ref in refs],
        )

    def erase(self, ids: Sequence[int]) -> None:
        """Delete items for good, with their words and their vectors in the database."""
        every = [(id_,) for id_ in ids]
        counted = self._tx.many(
            "SELECT count(*) FROM items WHERE id = ? AND embedded IS NOT NULL "
            "AND (kind = 'record' OR record_id IS NULL)",
            every,
        )
        self._tx.many("DELETE FROM item_words WHERE rowid = ?", every)
        self._tx.many(
            "DELETE FROM item_vectors WHERE embedder_id IN (SELECT id FROM embedders) AND item_id = ?", every
        )
        self._tx.many("DELETE FROM items WHERE id = ?", every)
        if gone := sum(row[0] for row in counted):
            self._tx.run(
                "UPDATE index_state SET size = size - ? WHERE owner = ? AND size >= ?", gone, self._owner, gone
            )

    def set_feedback(
        self, kind: ItemKind, ref: str, *, score: float | None = None, pinned: bool | None = None
    ) -> None:
        """Set the feedback score of an item, or whether it is pinned."""
        self._tx.run(
            "UPDATE items SET nudge = COALESCE(?, nudge), pinned = COALESCE(?, pinned) "
            "WHERE owner = ? AND kind = ? AND ref = ?",
            *(score, None if pinned is None else int(pinned), self._owner, kind, ref),
        )

    def is_embedded(self, record_id: int) -> bool:
        """Return whether a record can be found by meaning, too, or is not searchable at all."""
        row = self._tx.one(
            "SELECT embedded FROM items WHERE owner = ? AND kind = 'record' AND ref = ?",
            self._owner,
            str(record_id),
        )
        return row is None or row[0] is not None

    def counts(self) -> dict[ItemKind, int]:
        """Return how many of each kind can be found. Hidden ones do not count."""
        which = "SELECT kind, count(*) FROM items WHERE owner = ? AND gone IS NULL GROUP BY kind"
        rows = self._tx.all(which, self._owner)
        return {row[0]: row[1] for row in rows}

    # Reading

    def holding(
        self, stems: Sequence[int], limit: int, only: VectorFilter | None = None, *, records: bool = True
    ) -> list[int]:
        """Return the ids of the newest items with all of these stems that pass the filter, newest first; without
        `records`, of the other kinds only."""
        each = [self.newest_holding(stems, limit, only, records=records, derived=one) for one in (False, True)]
        return sorted(chain(*each), reverse=True)[:limit]

    def newest_holding(
        self,
        stems: Sequence[int],
        limit: int,
        only: VectorFilter | None = None,
        *,
        records: bool = True,
        derived: bool,
    ) -> list[int]:
        """Return those of `holding` that were made from a record, or the others."""
        which, params = only.conditions() if only else ("", ())
        which += "" if records else " AND i.kind <> 'record'"
        if which:
            which = f" AND EXISTS (SELECT 1 FROM items i WHERE i.id = item_words.rowid{which})"
        prefix = _prefix(self._owner, derived)
        rows = self._tx.all(
            f"SELECT rowid FROM item_words WHERE {self._tx.fulltext_match}{which} "
            f"ORDER BY {self._tx.fulltext_newest} LIMIT ?",
            *(self._tx.fulltext_and.join(f"{prefix}{stem:08x}" for stem in stems), *params, limit),
        )
        return [row[0] for row in rows]

    def holding_each(self, stems: Iterable[int], limit: int) -> list[int]:
        """Return the ids of the newest items with each of these stems, the newest first."""
        rows = self._tx.many(
            f"SELECT rowid FROM item_words WHERE {self._tx.fulltext_match} "
            f"ORDER BY {self._tx.fulltext_newest} LIMIT ?",
            [(f"{_prefix(self._owner, derived)}{stem:08x}", limit) for stem in stems for derived in (False, True)],
        )
        return sorted({row[0] for row in rows}, reverse=True)

    def newest_said(self, by: Sequence[Provenance], limit: int) -> list[int]:
        """Return the ids of the newest records of these speakers, the newest first."""
        rows = self._tx.all(
            "SELECT id FROM items WHERE owner = ? AND kind = 'record' AND gone IS NULL "
            f"AND trust IN ({', '.join('?' * len(by))}) ORDER BY at DESC, id DESC LIMIT ?",
            self._owner,
            *by,
            limit,
        )
        return [row[0] for row in rows]

    def plays(self) -> Plays:
        """Return where people play parts."""
        rows = self._tx.all(
            "SELECT session_id, record_id, at, flags FROM items WHERE owner = ? AND kind = 'record' "
            f"AND flags >= {BEGINS_PLAY} ORDER BY record_id DESC LIMIT ?",
            *(self._owner, MAX_PLAY_MARKS),
        )
        return Plays(
            PlayMark(session_id, record_id, from_micros(at), bool(flags & BEGINS_PLAY))
            for session_id, record_id, at, flags in rows
            if flags & PERSON
        )

    def speaker_of(self, records: Iterable[int]) -> dict[int, tuple[str, str]]:
        """Return who said each of these records, and the agent it was said to."""
        rows = self._tx.many(
            "SELECT record_id, speaker, agent_id FROM items WHERE owner = ? AND kind = 'record' AND ref = ?",
            [(self._owner, str(record)) for record in records],
        )
        return {row[0]: (row[1], row[2]) for row in rows}

    def passing(self, only: VectorFilter, limit: int) -> list[tuple[int, bytes]] | None:
        """Return the items that pass a filter, each with its stems; none where they are more than the limit, or
        no index leads to them."""
        if only.since is None and only.until is None and (not only.kinds or "record" in only.kinds):
            return None
        which, params = only.conditions()
        rows = self._tx.all(
            f"SELECT i.id, i.stems FROM items i WHERE i.owner = ?{which} LIMIT ?", self._owner, *params, limit + 1
        )
        return [(row[0], row[1]) for row in rows] if len(rows) <= limit else None

    def said_by(self, speaker: str, limit: int) -> list[int]:
        """Return the ids of the newest items of this speaker, whatever the case of the name."""
        rows = self._tx.all(
            "SELECT id FROM items WHERE owner = ? AND lower(speaker) = lower(?) ORDER BY id DESC LIMIT ?",
            *(self._owner, speaker, limit),
        )
        return [row[0] for row in rows]

    def speakers(self) -> list[str]:
        """Return who speaks, in the order of names. Skips through the index, a step each."""
        rows = self._tx.all(
            "WITH RECURSIVE s(name) AS (SELECT (SELECT min(speaker) FROM items WHERE owner = ? AND speaker > '') "
            "UNION ALL SELECT (SELECT min(speaker) FROM items WHERE owner = ? AND speaker > s.name) FROM s "
            "WHERE s.name IS NOT NULL) SELECT name FROM s WHERE name IS NOT NULL LIMIT ?",
            *(self._owner, self._owner, MAX_SPEAKERS),
        )
        return [row[0] for row in rows]

    def newest_id(self) -> int:
        """Return the id of the item that was said last; 0 where there is none."""
        row = self._tx.one("SELECT id FROM items WHERE owner = ? ORDER BY at DESC, id DESC LIMIT 1", self._owner)
        return int(row[0]) if row else 0

    def get(self, ids: Sequence[int]) -> dict[int, FoundItem]:
        """Return items by id."""
        return {id_: found_item(row[:FOUND_COLUMNS]) for id_, row in self.rows(ids).items()}

    def rows(self, ids: Sequence[int]) -> dict[int, Row]:
        """Return the rows of items by id: what `found_item` reads, then their stems, their length and their flags.
        The expression on the owner makes both databases use the ids."""
        which = _FOUND.replace("i.owner = ?", "i.owner || '' = ?").replace(
            "i.approved_by", "i.approved_by, i.stems, i.length, i.flags"
        )
        found: dict[int, Row] = {}
        for start in range(0, len(ids), MAX_IDS):
            some = ids[start : start + MAX_IDS]
            padded = [*some, *[0] * (-len(some) % ID_STEP)]
            rows = self._tx.all(f"{which} AND i.id IN ({', '.join('?' * len(padded))})", self._owner, *padded)
            found |= {row[0]: row for row in self._with_ends(rows)}
        return found

    def _with_ends(self, rows: Iterable[Row]) -> list[Row]:
        """Return the rows that `found_item` reads with the ends that follow from the facts which cite their
        records. Of two ends, the one that became known first counts."""
        found = [*rows]
        ends = Ends(self._tx, self._owner).of_records(
            {row[RECORD_ID] for row in found if row[1] != "fact" and row[RECORD_ID]}
        )
        for at, row in enumerate(found):
            end = ends.get(row[RECORD_ID]) if row[1] != "fact" else None
            if end and (row[UNTIL] is None or (end.until and end.known_at < row[END_KNOWN])):
                changed = [*row]
                changed[UNTIL], changed[END_KNOWN], changed[BY_RECORD] = end.until or None, *end[1:]
                found[at] = tuple(changed)
        return found

    def ids_of(self, kind: ItemKind, refs: Iterable[str]) -> list[int]:
        """Return the ids of the items of a kind with these refs."""
        rows = self._tx.many(
            "SELECT id FROM items WHERE owner = ? AND kind = ? AND ref = ?",
            [(self._owner, kind, ref) for ref in refs],
        )
        return [row[0] for row in rows]

    def find(self, kind: ItemKind, ref: str) -> FoundItem | None:
        return next(iter(self._select("i.kind = ? AND i.ref = ?", kind, ref)), None)

    def look_up(self, item_id: str) -> FoundItem:
        """Return the item of an id as people see it: "r33", "f12", or a kind's letter and the beginning of its
        digits.
        Raise `ItemNotFound` where none has it, or where several begin so. Hidden items are found, too."""
        typed = item_id.strip().lower()
        if _RECORD_ID.fullmatch(typed):
            found = self._select("i.kind = 'record' AND i.ref = ?", str(int(typed[1:])))
        elif _FACT_ID.fullmatch(typed):
            found = self._select("i.public_id = ?", f"f{int(typed[1:])}")
        else:
            found = (
                self._select(f"{_BEGINS} ORDER BY i.public_id LIMIT 4", typed, f"{typed}g")
                if _OTHER_ID.fullmatch(typed)
                else []
            )
            found = [one for one in found if one.public_id == typed] or found
        if len(found) == 1:
            return found[0]
        if found:
            fitting = ", ".join(self.shown_id(one) for one in found[:3])
            raise ItemNotFound(
                f"Several items have an id that begins with {item_id!r:.200}: {fitting}"
                f"{' …' if found[3:] else ''}. Type more of it."
            )
        raise ItemNotFound(
            f"Nothing remembered has the id {item_id!r:.200}. Ids look like r12, f7 or j3a91c07b; search and list "
            "give one with every hit."
        )

    def shown_id(self, found: FoundItem) -> str:
        """Return the id to show for an item: as short as it can be typed, longer where another begins alike."""
        if not found.public_id or found.kind == "fact":
            return found.short_id
        short = found.short_id
        alike = self._tx.all(
            f"SELECT i.public_id FROM items i WHERE i.owner = ? AND {_BEGINS}", self._owner, short, f"{short}g"
        )
        others = [id_ for (id_,) in alike if id_ != found.public_id]
        length = SHORT_ID
        while any(other[:length] == found.public_id[:length] for other in others):
            length += 1
        return found.public_id[:length]

    def facts_of(self, record_id: int) -> list[FoundItem]:
        """Return the facts that hold and whose first citation is this record."""
        which = "i.kind <> 'record' AND i.kind = 'fact' AND i.record_id = ? AND e.until IS NULL"
        return self._select(f"{which} AND i.gone IS NULL ORDER BY i.id", record_id)

    def facts_citing(self, records: Iterable[int]) -> list[FoundItem]:
        """Return the facts whose first citation is one of these records, also those that have ended."""
        rows = self._tx.many(
            f"{_FOUND} AND i.kind = 'fact' AND i.ref = ? AND i.record_id = ? AND i.gone IS NULL",
            [(self._owner, ref, record) for record, ref in Ends(self._tx, self._owner).citing([*records])],
        )
        return [found_item(row) for row in rows]

    def pinned(self) -> list[FoundItem]:
        """Return the pinned items, newest first. The sum keeps databases from using the index of times."""
        return self._select("i.pinned = 1 AND i.gone IS NULL ORDER BY i.at + 0 DESC, i.id DESC")

    def newest(
        self, kinds: Sequence[ItemKind], since: datetime | None, before: FoundItem | None, limit: int
    ) -> list[FoundItem]:
        """Return the newest first, said since then, beginning after `before`."""
        marks = ", ".join("?" * len(kinds))
        return self._select(
            f"(i.at, i.id) < (?, ?) AND i.kind IN ({marks}) AND i.at >= ? AND i.gone IS NULL "
            "ORDER BY i.at DESC, i.id DESC LIMIT ?",
            *(*_place(before), *kinds, to_micros(since) if since else 0, limit),
        )

    def newest_of(
        self,
        ids: Iterable[int],
        kinds: Sequence[ItemKind],
        since: datetime | None,
        before: FoundItem | None,
        limit: int,
    ) -> list[FoundItem]:
        """Return those of the ids that `newest` would return, in its order."""
        rows = self._tx.many(
            "SELECT at, id, kind FROM items WHERE owner = ? AND id = ? AND at >= ? AND gone IS NULL",
            [(self._owner, id_, to_micros(since) if since else 0) for id_ in ids],
        )
        last = _place(before)
        fitting = sorted(((at, id_) for at, id_, kind in rows if kind in kinds and (at, id_) < last), reverse=True)
        found = self.get([id_ for _, id_ in fitting[:limit]])
        return [found[id_] for _, id_ in fitting[:limit]]

    def facts_in(self, document_id: str, limit: int = NO_LIMIT) -> list[FoundItem]:
        """Return a document's facts, newest first, by the index of containers (see `pinned`)."""
        which = "i.thread = ? AND i.kind = 'fact' AND i.kind <> 'record' AND i.gone IS NULL"
        return self._select(f"{which} ORDER BY i.at + 0 DESC, i.id DESC LIMIT ?", document_id, limit)

    def _select(self, which: str, *params: Param) -> list[FoundItem]:
        rows = self._with_ends(self._tx.all(f"{_FOUND} AND {which}", self._owner, *params))
        return [found_item(row) for row in rows]

    def known_facts(self, document_id: str) -> dict[str, tuple[int | None, str]]:
        """Return the refs of a document's facts that are not hidden, each with its first record and its id."""
        rows = self._tx.all(
            "SELECT ref, record_id, public_id FROM items WHERE owner = ? AND kind = 'fact' AND kind <> 'record' "
            "AND thread = ? AND gone IS NULL",
            *(self._owner, document_id),
        )
        return {row[0]: (row[1], row[2] or "") for row in rows}

    def take_ids(self, facts: Mapping[str, str]) -> None:
        """Take the ids of these facts, by ref, from others that had them before."""
        self._tx.many(
            "UPDATE items SET public_id = NULL WHERE owner = ? AND public_id = ? AND ref <> ?",
            [(self._owner, id_, ref) for ref, id_ in facts.items()],
        )

    def ended(self, kind: ItemKind) -> dict[str, datetime]:
        """Return the refs of a kind that stopped being true, and when each did."""
        return {one.ref: one.until for one in self._select(f"i.kind = ? AND {HAS_ENDED}", kind) if one.until}

    def refs(self, kind: ItemKind) -> set[str]:
        """Return the refs of a kind that are not hidden."""
        which = "SELECT ref FROM items WHERE owner = ? AND kind = ? AND gone IS NULL"
        return {row[0] for row in self._tx.all(which, self._owner, kind)}

    def texts(self, kind: ItemKind) -> list[tuple[str, str]]:
        """Return the refs of a kind that are not hidden, each with its text."""
        which = "SELECT ref, text FROM items WHERE owner = ? AND kind = ? AND gone IS NULL"
        return [(ref, text) for ref, text in self._tx.all(which, self._owner, kind)]

    def _known(self, keys: Iterable[tuple[ItemKind, str]]) -> dict[tuple[ItemKind, str], tuple[int, str]]:
        """Return those that exist, each with its id and its text."""
        rows = self._tx.many(
            "SELECT kind, ref, id, text FROM items WHERE owner = ? AND kind = ? AND ref = ?",
            [(self._owner, kind, ref) for kind, ref in keys],
        )
        return {(kind, ref): (id_, text) for kind, ref, id_, text in rows}

    def _columns(self, item: Item, arrived: int) -> tuple[Param, ...]:
        return (
            *(self._owner, item.kind, item.ref, item.container, item.agent_id, item.session_id, item.record_id),
            *(
                _name(item.speaker),
                item.trust,
                to_micros(item.at),
                to_micros(item.since) if item.since else arrived,
            ),
        )


def _words(stems: bytes, prefix: str) -> str:
    """Return each stem as eight digits with the prefix before it."""
    numbers = array("I", stems)
    if sys.byteorder == "little":
        numbers.byteswap()
    return prefix + numbers.tobytes().hex(" ", 4).replace(" ", f" {prefix}")


def is_derived(kind: ItemKind, record_id: int | None) -> bool:
    """Return whether an item was made from a record, and is found as one with it."""
    return kind != "record" and record_id is not None


@lru_cache(maxsize=512)
def _prefix(owner: str, derived: bool) -> str:
    """Return letters and digits that no other owner has."""
    return "dw"[not derived] + b32encode(blake2b(owner.encode(), digest_size=10).digest()).decode().lower()


def _public_id(item: Item) -> str | None:
    """Return the id of which people see the beginning; of a fact, the whole; none for a record, whose id is its
    number."""
    if item.kind in ("record", "fact"):
        return item.public_id or None
    if item.kind == "experience":
        return item.ref
    return full_public_id(item.kind, item.ref)


def public_id(kind: ItemKind, ref: str) -> str:
    """Return the id that people see for an item that is not a record or an experience."""
    return full_public_id(kind, ref)[:SHORT_ID]


def full_public_id(kind: ItemKind, ref: str) -> str:
    """Return the id of which people see the beginning."""
    return kind[0] + blake2b(f"{kind}:{ref}".encode(), digest_size=12).hexdigest()[1:]


def _name(speaker: str) -> str:
    name = speaker.strip()
    return "" if name.lower() in NAMELESS or mentions_secret(name) else name


def _role(item: Item) -> int:
    """Return the flag for who speaks. Facts and notes count as a person's words, unless from a tool or the web."""
    if item.kind != "record":
        return 0 if item.trust in ("tool", "web") else PERSON
    if item.trust == "agent":
        return 0 if _name(item.speaker) else ASSISTANT
    return PERSON if item.trust == "user" else 0


def _place(before: FoundItem | None) -> tuple[int, int]:
    """Return where in the order of time the page after this item begins."""
    return (to_micros(before.at), before.id) if before else (NO_LIMIT, NO_LIMIT)


def found_item(row: Row) -> FoundItem:
    """Return an item from its row, as the statements here select it."""
    id_, kind, ref, text, at, trust, speaker, agent_id, session_id, record_id, container = row[:11]
    since, until, end_known, hidden_at, feedback_score, pinned, by_record, public_id = row[11:19]
    type_, data, approved_by = row[19:]
    times = from_micros(since), *map(from_optional_micros, (until, end_known, hidden_at))
    return FoundItem(
        *(id_, kind, ref, text, from_micros(at), trust, speaker, agent_id, session_id, record_id, container),
        *(*times, feedback_score, bool(pinned), by_record, public_id, type_ or "", data or "", approved_by),
    )
