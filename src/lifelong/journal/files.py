"""The journal's files: MEMORY.md, a page a day, LONGMEMORY.md, the archive. How they are written so that nothing
acknowledged is lost, by several processes at once and through a crash at any instant.

An append takes a short lock, ends a half line that a crash left, and syncs. A rewrite goes to a temporary file
that takes the page's name when it is whole; the page as it was stays beside it, in `tmp/`. Nothing is made before
the first write.
"""

from __future__ import annotations

import os
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

from lifelong.errors import JournalError
from lifelong.types import new_id

MEMORY = "MEMORY.md"
IDENTITY = ".journal-id"
HEADER = "# Memory\n\n"
_POLL = 0.002  # seconds between two looks at a lock that another process holds
_NEW_FILE = os.O_APPEND | os.O_CREAT | os.O_RDWR


class JournalFiles:
    """The files of one user's journal, in the user's folder."""

    def __init__(self, root: Path, long_memory_path: str = "LONGMEMORY.md", archive_path: str = "") -> None:
        self.root = root
        self.memory = root / MEMORY
        self.long_memory = root / long_memory_path
        self.archive_folder = root / (archive_path or "archive")
        self._tmp = root / "tmp"
        self._gate = threading.Lock()  # threads wait here and do not poll

    def day(self, day: date) -> Path:
        return self.root / "memory" / f"{day.isoformat()}.md"

    def days(self) -> list[Path]:
        """The pages of the days that have one, oldest first."""
        return sorted((self.root / "memory").glob("[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9].md"))

    def read(self, page: Path) -> bytes:
        """What stands in it; nothing where there is no page."""
        try:
            return page.read_bytes()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _failed("read", page, error) from error

    def end(self, page: Path, size: int) -> bytes:
        """The last bytes of a page, so many at most."""
        try:
            with page.open("rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise _failed("read", page, error) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Nobody else writes meanwhile. To be held for a moment only."""
        with self._gate, alone(self._tmp / "journal.lock", wait=True):
            yield

    def summarizing(self, *, wait: bool) -> AbstractContextManager[bool]:
        """Whether nobody else writes turn summaries meanwhile: always, if one may `wait`. Appends go on."""
        return alone(self._tmp / "summaries.lock", wait=wait)

    @contextmanager
    def compacting(self, owner: str, now: datetime) -> Iterator[bool]:
        """Whether this is the one compaction that may run; held until the block ends, and freed by a crash.
        The file stays behind; what it says is only for people, and no reason to fail."""
        place = self._tmp / "memory-compaction.lock"
        with alone(place, wait=False) as free:
            if free:
                with suppress(OSError):
                    place.write_text(f"{owner} since {now.isoformat()}\n", encoding="utf-8")
            yield free

    def identity(self) -> str:
        """What tells this folder from the one that another home has for the same user: made once, and kept."""
        page = self.root / IDENTITY
        if not self.read(page).strip():
            with self.writing():
                if not self.read(page).strip():
                    self.append(page, f"{new_id()}\n".encode())
        return self.read(page).decode("utf-8", "replace").strip()

    def append(self, page: Path, text: bytes, header: str = "") -> int:
        """Add to the end of a page; durable on return. How long the page was. Call it while `writing`."""
        try:
            make_folder(page.parent)
            is_new = not page.exists()
            file = os.open(page, _NEW_FILE, 0o600)
            try:
                size = os.fstat(file).st_size
                start = b"" if not size or os.pread(file, 1, size - 1) == b"\n" else b"\n"
                try:
                    _write(file, header.encode() + text if not size else start + text)
                    if is_new:
                        settle(page.parent)
                except OSError:
                    self.cut((page, size))
                    raise
            finally:
                os.close(file)
        except OSError as error:
            raise _failed("written", page, error) from error
        return size

    def cut(self, *appends: tuple[Path, int]) -> None:
        """Take appends back, the last one first: each page, and how long it was. Call it while `writing`."""
        with suppress(OSError):
            for page, size in reversed(appends):
                os.truncate(page, size)

    def replace(self, page: Path, data: bytes) -> None:
        """Put other content in the place of a page, whole or not at all. Where it is a link, that of the page that
        it leads to, as with an append. Call it while `writing`."""
        before, page = self.before(page), page.resolve()
        draft = page.with_name(f".{page.name}.new")
        swapped = False
        try:
            make_folder(page.parent)
            make_folder(self._tmp)
            file = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            try:
                _write(file, data)
            finally:
                os.close(file)
            existed = page.exists()
            if existed:
                shutil.copymode(page, draft)
                before.unlink(missing_ok=True)
                _link(page, before)
                settle(self._tmp)
            draft.replace(page)
            swapped = existed
            settle(page.parent)
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            if swapped:
                with suppress(OSError):
                    _link(before, draft)
                    draft.replace(page)
            raise _failed("written", page, error) from error

    def before(self, page: Path) -> Path:
        """Where a page stands as it was before it was replaced last."""
        return self._tmp / f"{page.name}.before"

    def archive(self, name: str, data: bytes) -> None:
        """Keep what leaves the journal; durable on return. Call it while `writing`."""
        if data:
            self.append(self.archive_folder / name, data)


@contextmanager
def alone(place: Path, *, wait: bool) -> Iterator[bool]:
    """Whether nobody else, in any process, holds the lock at this place: always, if one may `wait`. It is held
    until the block ends, and freed by a crash."""
    from filelock import FileLock, Timeout  # takes a while, and reading needs no lock

    lock = FileLock(place, timeout=-1 if wait else 0, mode=0o600, poll_interval=_POLL)
    try:
        make_folder(place.parent)
        lock.acquire()
    except Timeout:
        pass  # somebody else has it
    except OSError as error:
        raise _failed("locked", place, error) from error
    try:
        yield lock.is_locked
    finally:
        lock.release()


def make_folder(path: Path) -> None:
    """Make a folder, and those above it, for their owner alone."""
    if not path.is_dir():
        make_folder(path.parent)
        path.mkdir(mode=0o700, exist_ok=True)
        settle(path.parent)


def settle(path: Path) -> None:
    """What a file holds, or was made in a folder, outlives a power cut."""
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _write(file: int, data: bytes) -> None:
    """All of it, durable on return."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(file, rest) :]
    os.fsync(file)


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _failed(verb: str, page: Path, error: OSError) -> JournalError:
    return JournalError(
        f"{page} could not be {verb}: {error.strerror}. Nothing was changed; mend it and try again."
    )
