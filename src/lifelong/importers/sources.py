"""Where an import comes from: a file, a folder or a zip archive, and how it is cut into pieces.

No file is read whole: the entries of a JSON array are found by their brackets, in one pass over the bytes, and
each is parsed on its own. So an export of any size needs the memory of its largest conversation, and an entry
that is broken costs no other.
"""

from __future__ import annotations

import json
import os
import re
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, suppress
from datetime import UTC, datetime
from functools import cached_property
from io import BytesIO
from itertools import islice
from pathlib import Path, PurePosixPath
from shutil import copyfileobj, disk_usage
from tempfile import TemporaryFile, gettempdir
from types import TracebackType
from typing import BinaryIO, NamedTuple, Self, cast
from zipfile import BadZipFile, ZipFile, ZipInfo

from lifelong.disk import is_own_file
from lifelong.errors import InputError

MAX_ENTRY_BYTES = 64 * 2**20  # of a conversation, a line or a file that is read whole
READ_BYTES = 2**20
MAX_UNPACKED_BYTES = 32 * 2**30  # of a file in a zip archive
MAX_UNPACKED_TIMES = 300  # its packed size, where it is large: texts shrink to a tenth, only bombs to a thousandth
SAMPLE_FILES, SAMPLE_ENTRIES = 5, 20  # that are looked at to recognize a format
SUFFIXES = (".json", ".jsonl", ".md", ".markdown")
TOO_LONG = f"longer than {MAX_ENTRY_BYTES // 2**20} MB"
NOT_UTF8 = "not UTF-8: convert it first"
NOT_JSON = "not valid JSON"

_TO_BRACKET = re.compile(rb'[^"\[\]{}]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"\[\]{}]*+)*+([\[\]{}])', re.DOTALL)
_NAME = re.compile(rb'"([^"\\]*)"\s*:\s*\[\Z')


class Place(NamedTuple):
    """Where a piece stands: which file of the source, and its bytes there; the whole file if `size` is -1."""

    file: int
    start: int = 0
    size: int = -1


class Piece(NamedTuple):
    """A part of a source: where it stands, the file's name and time, and its content as the importer cut it."""

    place: Place
    name: str
    modified: datetime | None
    content: object


class SourceFile(NamedTuple):
    """A file of a source: its path there with "/", when it was changed last, and what opens it."""

    name: str
    modified: datetime | None
    open: Callable[[], BinaryIO]


class Broken(NamedTuple):
    """A part of a file that cannot be read, and why."""

    reason: str


class Source:
    """A file, a folder or a zip archive that is open for reading."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._stack = ExitStack()
        self._extracted: dict[str, BinaryIO] = {}
        self._zip: ZipFile | None = None
        if not path.exists():
            raise InputError(f"There is no file or folder {path}. Check the path.")
        if path.is_file() and path.suffix.lower() == ".zip":
            try:
                self._zip = self._stack.enter_context(ZipFile(path))
            except BadZipFile as error:
                raise InputError(f"{path} is not a whole zip archive: {error}. Download it again.") from error

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    @cached_property
    def files(self) -> list[SourceFile]:
        """The files that an importer may read, by name; those in hidden folders are left out."""
        if self._zip:
            archive = self._zip
            members = {one.filename: one for one in archive.infolist() if not one.is_dir()}
            return [
                SourceFile(name, _zip_time(members[name]), lambda info=members[name]: self._extract(archive, info))  # type: ignore[misc]
                for name in sorted(members)
                if _is_read(PurePosixPath(name))
            ]
        if self.path.is_file():
            return [self._file(self.path, self.path.name)]
        places = sorted(_walk(self.path))
        return [self._file(place, place.relative_to(self.path).as_posix()) for place in places]

    @cached_property
    def samples(self) -> list[tuple[str, dict[str, object]]]:
        """The first JSON objects of the first files, each with the name of its file."""
        found: list[tuple[str, dict[str, object]]] = []
        for suffix in (".json", ".jsonl"):
            files = [number for number, one in enumerate(self.files) if one.name.lower().endswith(suffix)]
            for number in sorted(files, key=lambda n: "conversations" not in self.files[n].name)[:SAMPLE_FILES]:
                cut = self.lines(number) if suffix == ".jsonl" else self.entries(number, ())
                pieces = (one for one in islice(cut, SAMPLE_ENTRIES) if isinstance(one, Piece))
                found += [(one.name, one.content) for one in pieces if isinstance(one.content, dict)]
        return found

    def numbers(self, pattern: str) -> list[int]:
        """Return which of the files have a name like this. A file that was named itself counts whatever its name
        is."""
        if self.path.is_file() and not self._zip:
            return [0]
        wanted = re.compile(rf"(?:.*/)?(?:{pattern})", re.IGNORECASE)
        return [number for number, one in enumerate(self.files) if wanted.fullmatch(one.name)]

    def whole(self, number: int) -> Piece:
        """Return a file as one piece. Its content is the file itself."""
        file = self.files[number]
        return Piece(Place(number), file.name, file.modified, file)

    def entries(self, number: int, names: Collection[str]) -> Iterator[Piece | Broken]:
        """Yield the objects of a JSON array, each parsed: of the array that the file is, or, in an object, of the
        first one with one of these names; with no names, of any."""
        file = self.files[number]
        with file.open() as stream:
            for start, data in find_entries(stream, names):
                if isinstance(data, str):
                    yield Broken(data)
                    continue
                yield self._piece(Place(number, start, len(data)), data, "an entry")

    def lines(self, number: int) -> Iterator[Piece | Broken]:
        """Yield the objects of a file of JSON Lines, each parsed. Empty lines are left out."""
        file = self.files[number]
        for start, line in read_lines(file):
            if isinstance(line, str):
                yield Broken(line)
            elif line.strip():
                yield self._piece(Place(number, start, len(line)), line, "a line")

    def _piece(self, place: Place, data: bytes, what: str) -> Piece | Broken:
        file, content = self.files[place.file], parse(data)
        if isinstance(content, Broken):
            return Broken(f"{what} that is {content.reason}")
        return Piece(place, file.name, file.modified, content)

    def read(self, place: Place) -> bytes:
        """Return the bytes at a place."""
        with self.files[place.file].open() as stream:
            stream.seek(place.start)
            return stream.read(place.size)

    def _file(self, path: Path, name: str) -> SourceFile:
        modified = datetime.fromtimestamp(path.stat().st_mtime, UTC)
        return SourceFile(name, modified, lambda: path.open("rb"))

    def _extract(self, archive: ZipFile, info: ZipInfo) -> BinaryIO:
        """Open a member of the archive. A large one is extracted once, to a file without a name: it is read twice,
        and in another order."""
        try:
            if info.file_size <= READ_BYTES:
                return BytesIO(archive.read(info))
            if info.filename not in self._extracted:
                self._check_size(info)
                copy = cast("BinaryIO", self._stack.enter_context(TemporaryFile()))  # noqa: SIM115
                with archive.open(info) as member:
                    copyfileobj(member, copy, READ_BYTES)
                self._extracted[info.filename] = copy
        except (BadZipFile, RuntimeError, NotImplementedError, zlib.error, EOFError) as error:
            raise InputError(
                f"{info.filename} in {self.path} cannot be read: {error}. Extract it, and name the folder."
            ) from error
        copy = self._extracted[info.filename]
        copy.seek(0)
        return _Kept(copy)

    def _check_size(self, info: ZipInfo) -> None:
        """Raise `InputError` for a file of the archive that is too large to unpack. More than it says of itself is
        never read of it."""
        size, room = info.file_size, disk_usage(gettempdir()).free
        about = f"{info.filename} in {self.path} has {size / 2**30:,.1f} GiB unpacked"
        is_bomb = size > MAX_ENTRY_BYTES and size > MAX_UNPACKED_TIMES * info.compress_size
        if is_bomb or size > MAX_UNPACKED_BYTES:
            raise InputError(
                f"{about}, {size // max(info.compress_size, 1):,} times its packed size, which no export has. If "
                "you trust it, extract it, and name the folder."
            )
        if size > room:
            raise InputError(
                f"{about}, and {gettempdir()} has room for {room / 2**30:,.1f}. Extract it elsewhere, and name "
                "the folder; or set TMPDIR."
            )


class _Kept(BytesIO):
    """An extracted file that stays open when its reader closes it."""

    def __init__(self, stream: BinaryIO) -> None:
        super().__init__()
        self._stream = stream

    def read(self, size: int | None = -1) -> bytes:
        return self._stream.read(-1 if size is None else size)

    def readline(self, size: int | None = -1) -> bytes:
        return self._stream.readline(-1 if size is None else size)

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._stream.seek(offset, whence)


def _walk(root: Path) -> Iterator[Path]:
    """Yield the files below a folder that may be read, without those in homes and exports of lifelong, and without
    what links lead to outside of it."""
    for folder, folders, names in os.walk(root):
        if {"lifelong.toml", "lifelong.db"} & set(names) or {"manifest.json", "records.jsonl"} <= set(names):
            folders.clear()
            continue
        folders[:] = [one for one in folders if not one.startswith(".")]
        for place in (Path(folder, one) for one in names if _is_read(Path(one))):
            with suppress(OSError):
                if is_own_file(place, root):
                    yield place


def _is_read(name: PurePosixPath | Path) -> bool:
    hidden = any(part.startswith(".") or part == "__MACOSX" for part in name.parts)
    return name.suffix.lower() in SUFFIXES and not hidden


def _zip_time(info: ZipInfo) -> datetime | None:
    try:
        return datetime(*info.date_time, tzinfo=UTC)
    except ValueError:
        return None


# Cutting


def parse(data: bytes) -> object | Broken:
    """Return a JSON value, or why it is none."""
    try:
        value: object = json.loads(data.removeprefix(b"\xef\xbb\xbf").decode())
    except UnicodeDecodeError:
        return Broken(NOT_UTF8)
    except RecursionError:
        return Broken("nested too deeply")
    except ValueError:
        return Broken(NOT_JSON)
    return value


def read_lines(file: SourceFile) -> Iterator[tuple[int, bytes | str]]:
    """Yield where each line of a file begins, and the line, or why it is left out."""
    start = 0
    with file.open() as stream:
        while line := stream.readline(MAX_ENTRY_BYTES):
            size = len(line)
            if size == MAX_ENTRY_BYTES and not line.endswith(b"\n"):
                while line and not line.endswith(b"\n"):
                    line = stream.readline(MAX_ENTRY_BYTES)
                    size += len(line)
                yield start, f"a line {TOO_LONG}"
            else:
                yield start, line
            start += size


def find_entries(stream: BinaryIO, names: Collection[str]) -> Iterator[tuple[int, bytes | str]]:
    """Yield where each object or array in a JSON array begins, and its bytes; at last why the rest is left out, if
    it is. The array is the whole value, or that of one of these names (none: of any) in an object.

    Brackets are counted, strings are passed over, and nothing is looked at twice, but for what stands at the end
    of what was read: the next read is as long as that, so that the work grows with the size of the file."""
    window, base, at = b"", 0, 0  # what was read; where in the file it begins; how far it was looked at
    depth, entry_depth, begin = 0, 0, -1  # how deep it is; how deep entries are (0: not known); where one begins
    while True:
        found = _TO_BRACKET.match(window, at)
        if found is None:
            keep = at if begin < 0 else begin
            window, base, at, begin = window[keep:], base + keep, at - keep, min(0, begin)
            is_long = len(window) >= MAX_ENTRY_BYTES
            more = b"" if is_long else stream.read(max(READ_BYTES, len(window)))
            if not more:
                if is_long:
                    yield base, f"the rest of a file, from an entry {TOO_LONG}"
                elif depth or window.strip():
                    yield base, "the end of a file that is cut off" if depth else f"a file that is {NOT_JSON}"
                return
            window += more
            continue
        start, at = at, found.end()
        if found[1] in b"[{":
            depth += 1
            is_array = not entry_depth and found[1] == b"["
            if is_array and (depth == 1 or (depth == 2 and _has_name(window, start, at, names))):
                entry_depth = depth + 1
            elif depth == entry_depth:
                begin = at - 1
            continue
        depth -= 1
        if begin >= 0 and depth == entry_depth - 1:
            yield base + begin, window[begin:at]
            begin = -1
        elif depth < max(entry_depth - 1, 1):
            return


def _has_name(window: bytes, start: int, end: int, names: Collection[str]) -> bool:
    name = _NAME.search(window, start, end)
    return name is not None and (not names or name[1].decode("utf-8", "replace") in names)
