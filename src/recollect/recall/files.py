"""Files that a person may edit at any time, kept findable: read again whenever they have changed."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from recollect.errors import RecollectError
from recollect.recall.items import Items
from recollect.recall.opinions import Opinions
from recollect.recall.shelves import Shelves
from recollect.storage.base import Database, Transaction
from recollect.types import Clock, Item, ItemKind

log = logging.getLogger("recollect.recall")

Stamp = tuple[int, int]


class Page(NamedTuple):
    """A page as it was read: when it was changed last, and what it said."""

    stamp: Stamp
    items: dict[str, Item]


class Files:
    """The pages of one kind of one owner: `pages` names them, `items` tells what one of them says. Where two pages
    say the same, the first counts. `alone`: no other home keeps such pages of this owner, so what is not in ours
    is gone; else only what was in ours before."""

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
        self._synced: tuple[int, dict[Path, Stamp]] | None = None

    def sync(self) -> int:
        """Bring the items up to what the files say. How many came or left."""
        found = {page: stamp for page in self._pages() if (stamp := _stamp(page))}
        era = self._database.read(lambda tx: Shelves(tx).state(self._owner).era)
        if self._synced == (era, found):
            return 0
        before = {ref for page in self._read.values() for ref in page.items}
        self._read = {page: self._page(page, stamp) for page, stamp in found.items()}
        says: dict[str, Item] = {}
        for page in self._read.values():
            says = page.items | says
        changed = self._database.write(lambda tx: self._file(tx, says, before, self._clock()))
        self._synced = (era, found)
        return changed

    def _page(self, page: Path, stamp: Stamp) -> Page:
        known = self._read.get(page)
        if known and known.stamp == stamp:
            return known
        try:
            return Page(stamp, {item.ref: item for item in self._items(page)})
        except (OSError, RecollectError) as error:
            log.warning("%s cannot be read, and is found as it was: %s", page.name, error)
            return Page(stamp, known.items if known else {})

    def _file(self, tx: Transaction, says: dict[str, Item], before: set[str], now: datetime) -> int:
        items = Items(tx, self._owner)
        filed = items.refs(self._kind)
        new, gone = says.keys() - filed, (filed if self._alone else filed & before) - says.keys()
        items.put([item for ref, item in says.items() if ref in new], now)
        Opinions(tx, self._owner).apply({f"{self._kind}:{ref}" for ref in new})
        items.leave(self._kind, gone, now)
        return len(new) + len(gone)


def _stamp(page: Path) -> Stamp | None:
    try:
        found = page.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size
