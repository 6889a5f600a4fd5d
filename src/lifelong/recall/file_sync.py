"""Files that a person may edit at any time, kept findable: read again whenever they have changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from lifelong.errors import (
    LifelongError,
    StorageBusy,
    StorageCorrupt,
    StorageError,
    StorageFull,
    StorageUnavailable,
)
from lifelong.recall.feedback import FeedbackRows
from lifelong.recall.items import Items
from lifelong.recall.supersession import settle_lines
from lifelong.recall.vector_rows import VectorRows
from lifelong.storage.base import Database, Transaction
from lifelong.types import Clock, Item, ItemKind

log = logging.getLogger("lifelong.recall")

Stamp = tuple[int, int]


class Said(NamedTuple):
    """What a page says under one ref, and when it was changed so that it does."""

    item: Item
    since: int


class Page(NamedTuple):
    """A page as it was read: when it was changed last, and what it said. None: it was never read."""

    stamp: Stamp
    said: dict[str, Said] | None
    is_read: bool = True


class FileSync:
    """The pages of one kind of one owner: `pages` names them, `items` tells what one of them says. Where two pages
    say something under one ref, what was changed last counts, but where one has no text, none does. `alone`: no
    other home keeps such pages of this owner, so what is not in ours is gone; else only what was in ours before.
    What cannot be read or filed is said in the log, is tried again, and keeps nothing else from being found."""

    def __init__(
        self,
        database: Database,
        owner: str,
        clock: Clock,
        kind: ItemKind,
        pages: Callable[[], Sequence[Path]],
        items: Callable[[Path], Iterable[Item]],
        *,
        alone: bool,
    ) -> None:
        self._database = database
        self._owner = owner
        self._clock = clock
        self._kind = kind
        self._pages = pages
        self._items = items
        self._alone = alone
        self._read: dict[Path, Page] = {}
        self._texts: dict[str, str] = {}  # of what was filed, by its ref
        self._failing: set[Path] = set()
        self._synced: tuple[int, dict[Path, Stamp]] | None = None

    def sync(self) -> int:
        """Bring the items up to what the files say. How many came, changed or left."""
        found = {page: stamp for page in self._pages() if (stamp := _stamp(page))}
        version = self._database.read(lambda tx: VectorRows(tx).state(self._owner).version)
        if self._synced == (version, found):
            return 0
        self._read = {page: self._page(page, stamp) for page, stamp in found.items()}
        filed = self._database.read(lambda tx: Items(tx, self._owner).refs(self._kind))
        says = _newest(self._read)
        filing = {page: self._file_page(page, items, filed) for page, items in says.items()}
        is_filed = None not in filing.values()
        gone: set[str] = set()
        if is_filed and all(page.said is not None for page in self._read.values()):
            gone = filed if self._alone else filed & (self._texts.keys() | _hidden(self._read))
            gone = gone.difference(*says.values())
            self._leave(gone)
        is_whole = is_filed and all(page.is_read for page in self._read.values())
        self._synced = (version, found) if is_whole else None
        return sum(changed or 0 for changed in filing.values()) + len(gone)

    def _page(self, page: Path, stamp: Stamp) -> Page:
        known = self._read.get(page)
        if known and known.stamp == stamp and known.is_read:
            return known
        before = (known and known.said) or {}
        try:
            said = {item.ref: Said(item, stamp[0]) for item in self._items(page)}
        except (OSError, LifelongError, ValueError) as error:
            if not known or known.is_read:
                log.warning("%s cannot be read, and is found as it was: %s", page.name, error)
            return Page(stamp, known.said if known else None, is_read=False)
        same = {
            ref: before[ref] for ref in said.keys() & before.keys() if before[ref].item.text == said[ref].item.text
        }
        return Page(stamp, said | same)

    def _file_page(self, page: Path, says: dict[str, Item], filed: set[str]) -> int | None:
        """How many items came or changed; none where the database takes none of the page."""
        new = {ref: it for ref, it in says.items() if ref not in filed or self._texts.get(ref) != it.text}
        try:
            changed = self._database.write(lambda tx: self._file(tx, new, filed)) if new else 0
        except (StorageUnavailable, StorageBusy, StorageFull, StorageCorrupt):
            raise
        except (StorageError, ValueError) as error:
            if page not in self._failing:
                log.warning("%s is found as it was, for it cannot be filed: %s", page.name, error)
            self._failing.add(page)
            return None
        self._failing.discard(page)
        self._texts |= {ref: item.text for ref, item in new.items()}
        return changed

    def _file(self, tx: Transaction, new: dict[str, Item], filed: set[str]) -> int:
        items, now = Items(tx, self._owner), self._clock()
        changed = items.replace(new.values(), now) | (new.keys() - filed)
        items.put([item for ref, item in new.items() if ref in changed], now, anew=not filed)  # in their order
        FeedbackRows(tx, self._owner).apply({f"{self._kind}:{ref}" for ref in changed})
        if self._kind == "journal":
            settle_lines(tx, self._owner, changed, now)
        return len(changed)

    def _leave(self, gone: set[str]) -> None:
        if gone:
            self._database.write(lambda tx: Items(tx, self._owner).leave(self._kind, gone, self._clock()))
        for ref in gone:
            self._texts.pop(ref, None)


def _newest(pages: dict[Path, Page]) -> dict[Path, dict[str, Item]]:
    """What counts of each page: of two that say something under one ref, the one that was changed last."""
    newest: dict[str, tuple[Path, Said]] = {}
    hidden = _hidden(pages)
    for path, page in pages.items():
        for ref, said in (page.said or {}).items():
            if ref not in hidden and (ref not in newest or said.since > newest[ref][1].since):
                newest[ref] = path, said
    counts: dict[Path, dict[str, Item]] = {path: {} for path in pages}
    for ref, (path, said) in newest.items():
        counts[path][ref] = said.item
    return counts


def _hidden(pages: dict[Path, Page]) -> set[str]:
    return {ref for page in pages.values() for ref, said in (page.said or {}).items() if not said.item.text}


def _stamp(page: Path) -> Stamp | None:
    """None: there is no such page. One that cannot be looked at is there."""
    try:
        found = page.stat()
    except FileNotFoundError:
        return None
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size
