"""The journal's files: MEMORY.md, a file a day, LONGMEMORY.md, the archive.

They are written so that nothing acknowledged is lost, by several processes at once and through a crash at any
instant. An append takes a short lock, ends a half line that a crash left, and syncs. A rewrite goes to a temporary
file that is renamed when it is whole; the previous version stays in `tmp/`. Nothing is created before the first
write.
"""

from __future__ import annotations

import errno
import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import date, datetime
from pathlib import Path

from lifelong.disk import (
    LINKED_AWAY,
    NOT_A_FILE,
    files_below,
    make_folder,
    names_in,
    open_own,
    read_own,
    sync,
    write_all,
)
from lifelong.errors import JournalError
from lifelong.types import new_id

MEMORY_FILE = "MEMORY.md"
IDENTITY_FILE = ".journal-id"
MEMORY_HEADER = "# Memory\n\n"
BLOCK_END = "<!-- end -->"  # of a summary in LONGMEMORY.md
_DAY_FILE = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\.md")
_LOCK_POLL_SECONDS = 0.002  # between two attempts to take a lock that another process holds
_NEW_FILE = os.O_APPEND | os.O_CREAT | os.O_RDWR


class JournalFiles:
    """Read and write the files of one user's journal, in the user's folder."""

    def __init__(self, root: Path, long_memory_path: str = "LONGMEMORY.md", archive_path: str = "") -> None:
        self.root = root
        self.memory = root / MEMORY_FILE
        self.long_memory = root / long_memory_path
        self.archive_folder = root / (archive_path or "archive")
        self._tmp = root / "tmp"
        self._write_lock = threading.Lock()  # threads wait here and need not poll the file lock

    def day(self, day: date) -> Path:
        """Return where the file of a day is, or would be."""
        return self.root / "memory" / f"{day.isoformat()}.md"

    def days(self) -> list[Path]:
        """Return the day files that exist, oldest first."""
        folder = self.root / "memory"
        try:
            return [folder / name for name in names_in(folder) if _DAY_FILE.fullmatch(name)]
        except OSError as error:
            raise failed("read", folder, error) from error

    def read(self, path: Path) -> bytes:
        """Return the content of a file; empty where there is no file."""
        try:
            return read_own(path, self.root)
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise failed("read", path, error) from error

    def end(self, path: Path, size: int) -> bytes:
        """Return the last bytes of a file, at most `size`."""
        try:
            with os.fdopen(open_own(path, self.root), "rb") as file:
                file.seek(max(0, os.fstat(file.fileno()).st_size - size))
                return file.read()
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise failed("read", path, error) from error

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep every other writer out until the block ends. Hold it for a moment only."""
        with self._write_lock, file_lock(self._tmp / "journal.lock", wait=True):
            yield

    def summarizing(self, *, wait: bool) -> AbstractContextManager[bool]:
        """Take the lock for writing turn summaries, which does not hold up appends. Gives whether it was free;
        always true with `wait`."""
        return file_lock(self._tmp / "summaries.lock", wait=wait)

    @contextmanager
    def compacting(self, owner: str, now: datetime) -> Iterator[bool]:
        """Take the lock for the one compaction that may run. Gives whether it was free; a crash frees it, too.
        The file stays behind; its text is for people only, so that failing to write it does not matter."""
        path = self._tmp / "memory-compaction.lock"
        with file_lock(path, wait=False) as free:
            if free:
                with suppress(OSError):
                    path.write_text(f"{owner} since {now.isoformat()}\n", encoding="utf-8")
            yield free

    def identity(self) -> str:
        """Return an id of this folder, made on first use: another home has another one for the same user."""
        path = self.root / IDENTITY_FILE
        if not self.read(path).strip():
            with self.writing():
                if not self.read(path).strip():
                    self.append(path, f"{new_id()}\n".encode())
        return self.read(path).decode("utf-8", "replace").strip()

    def append(self, path: Path, text: bytes, header: str = "") -> int:
        """Add to the end of a file, durable on return. Return the size it had before. Call it while `writing`."""
        try:
            make_folder(path.parent)
            is_new = not path.exists()
            file = open_own(path, self.root, _NEW_FILE)
            try:
                size = os.fstat(file).st_size
                start = b"" if not size or os.pread(file, 1, size - 1) == b"\n" else b"\n"
                try:
                    write_all(file, header.encode() + text if not size else start + text)
                    if is_new:
                        sync(path.parent)
                except OSError:
                    self.cut((path, size))
                    raise
            finally:
                os.close(file)
        except OSError as error:
            raise failed("written", path, error) from error
        return size

    def cut(self, *appends: tuple[Path, int]) -> None:
        """Undo appends, the last one first: each file, and the size it had. Call it while `writing`."""
        with suppress(OSError):
            for path, size in reversed(appends):
                os.truncate(path, size)

    def replace(self, path: Path, data: bytes, was: bytes | None = None) -> bool:
        """Replace the content of a file, whole or not at all. A link to another file of the folder is followed, as
        in an append. Where the file is not what it `was` when the new content was made, a person edited it
        meanwhile: theirs stays, and false is returned. Only what they save in the instant of the rename itself, by
        a rename of their own, cannot be told. Call it while `writing`."""
        previous, path = self.previous_version(path), path.resolve()
        draft = path.with_name(f".{path.name}.new")
        swapped = False
        try:
            make_folder(path.parent)
            if path.exists():
                os.close(open_own(path, self.root))
            make_folder(self._tmp)
            file = os.open(draft, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600)
            try:
                write_all(file, data)
            finally:
                os.close(file)
            before = _identity(path)
            if existed := before is not None:
                shutil.copymode(path, draft)
                previous.unlink(missing_ok=True)
                _link(path, previous)
                sync(self._tmp)
            if was is not None and _identity(path) != before:  # an editor put another file in its place
                draft.unlink()
                return False
            draft.replace(path)
            swapped = existed
            sync(path.parent)
            if swapped and was is not None and self.read(previous) != was:
                _link(previous, draft)  # the very file, which may still be open in an editor
                draft.replace(path)
                sync(path.parent)
                return False
        except OSError as error:
            with suppress(OSError):
                draft.unlink(missing_ok=True)
            if swapped:
                with suppress(OSError):
                    _link(previous, draft)
                    draft.replace(path)
            raise failed("written", path, error) from error
        return True

    def previous_version(self, path: Path) -> Path:
        """Return where the version of a file is kept that was replaced last."""
        return self._tmp / f"{path.name}.before"

    def archive(self, name: str, data: bytes) -> None:
        """Append what leaves the journal to a file of the archive, durable on return. Call it while `writing`."""
        if data:
            self.append(self.archive_folder / name, data)


def list_names(folder: Path) -> list[str]:
    """Return the names in a folder; none where there is no folder."""
    try:
        return names_in(folder)
    except OSError as error:
        raise failed("read", folder, error) from error


def list_files(folder: Path) -> list[Path]:
    """Return the files in a folder and in those below it; none where there is no folder."""
    try:
        return files_below(folder)
    except OSError as error:
        raise failed("read", Path(error.filename or folder), error) from error


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Take a lock between processes. Gives whether it was free; always true with `wait`. It is held until the
    block ends; a crash frees it."""
    from filelock import FileLock, Timeout  # imported on the first write only

    lock = FileLock(path, timeout=-1 if wait else 0, mode=0o600, poll_interval=_LOCK_POLL_SECONDS)
    try:
        make_folder(path.parent)
        lock.acquire()
    except Timeout:
        pass  # it is held elsewhere
    except OSError as error:
        raise failed("locked", path, error) from error
    try:
        yield lock.is_locked
    finally:
        lock.release()


def _link(source: Path, target: Path) -> None:
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one that takes its place; nothing where there is none."""
    with suppress(FileNotFoundError):
        found = path.stat()
        return found.st_dev, found.st_ino
    return None


def failed(verb: str, path: Path, error: OSError) -> JournalError:
    """Return the error for a file of the user that could not be read, changed or locked."""
    changed = "" if verb == "read" else " Nothing was changed."
    step = "Check the file's permissions and try again."
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        step = "Free some space and try again."
    elif error.strerror in (LINKED_AWAY, NOT_A_FILE):  # which say what to do
        step = ""
    return JournalError(f"{path} could not be {verb}: {error.strerror or error}.{changed} {step}".rstrip())
