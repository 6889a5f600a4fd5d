"""Anthropic's memory tool on the documents of a memory: what Claude sees as files under `/memories`.

    tools = [LifelongMemoryTool(memory)]
    client.beta.messages.tool_runner(model=…, max_tokens=…, messages=…, tools=tools)

A document `~/memory/people/mara` is the file `/memories/people/mara.md`; one that has others below it is also the
folder `/memories/people`. What Claude writes is the agent's word: what instructs, or says what somebody prefers or
who they are, waits for a person's review. Every version is kept; a deleted document can be brought back.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from functools import wraps
from typing import Concatenate, NoReturn, ParamSpec

from lifelong.errors import LifelongError
from lifelong.memory import Memory
from lifelong.organize.binding import binding_place
from lifelong.organize.document_rows import MEMORY_ROOT
from lifelong.organize.review import Review, waits
from lifelong.types import Document

try:
    from anthropic.lib.tools import BetaAbstractMemoryTool, BetaAsyncAbstractMemoryTool, ToolError
    from anthropic.types.beta import (
        BetaCacheControlEphemeralParam,
        BetaMemoryTool20250818CreateCommand,
        BetaMemoryTool20250818DeleteCommand,
        BetaMemoryTool20250818InsertCommand,
        BetaMemoryTool20250818RenameCommand,
        BetaMemoryTool20250818StrReplaceCommand,
        BetaMemoryTool20250818ViewCommand,
    )
except ImportError as error:
    raise ImportError("This adapter needs Anthropic's client: pip install 'lifelong[anthropic]'") from error

P = ParamSpec("P")

ROOT = "/memories"
SUFFIX = ".md"  # of a file whose document has no suffix in its slug
DEFAULT_AUTHOR = "claude"
LISTED_LEVELS = 2
LINES_AROUND = 2  # a change, that are shown with it


def _for_model(method: Callable[Concatenate[_Files, P], str]) -> Callable[Concatenate[_Files, P], str]:
    """Raise what memory refuses as an error that the model reads."""

    @wraps(method)
    def call(self: _Files, /, *args: P.args, **kwargs: P.kwargs) -> str:
        try:
            return method(self, *args, **kwargs)
        except LifelongError as error:
            raise ToolError(f"Error: {error}") from error

    return call


class _Files:
    """The documents below `~/memory` as files. `author` signs what is written."""

    def __init__(self, memory: Memory, author: str) -> None:
        self._documents = memory.documents
        self._reviews = memory.reviews
        self._writer = memory.reviews.documents_of(author)
        self._owner = memory.user

    @_for_model
    def view(self, path: object, view_range: object = None) -> str:
        place = _place(path)
        document = self._find(place)
        if place == MEMORY_ROOT or (document and not _is_file_name(path) and self._children(document)):
            return self._listing(_shown(place, is_folder=True), place)
        if not document or not self._is_file(document):
            raise self._missing(path)
        return f"Here's the content of {path} with line numbers:\n{_numbered(_lines(document.body), view_range)}"

    @_for_model
    def create(self, path: object, text: object) -> str:
        place, body = _place(path), _text(text, "file_text")
        document = self._find(place)
        if place == MEMORY_ROOT or (document and self._is_file(document)):
            raise ToolError(f"Error: File {path} already exists. Change it with str_replace or insert.")
        if document:  # a folder, which has no text of its own yet
            return self._write(document, body) or f"File created successfully at: {path}"
        parent, _, slug = place.rpartition("/")
        self._make_folders(parent)
        made = self._writer.write(slug=slug, title=_title(slug), description="", body=body, parent_path=parent)
        return waits(made) if isinstance(made, Review) else f"File created successfully at: {path}"

    @_for_model
    def str_replace(self, path: object, old: object, new: object) -> str:
        document = self._file(path)
        old, new = _text(old, "old_str"), _text(new, "new_str", "")
        starts = [*_occurrences(document.body, old)]
        if not starts:
            raise ToolError(
                f"Error: No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        numbers = [document.body.count("\n", 0, start) + 1 for start in starts]
        if len(numbers) > 1:
            raise ToolError(
                f"Error: No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{', '.join(map(str, numbers))}. Please ensure it is unique."
            )
        body = document.body.replace(old, new, 1)
        if held := self._write(document, body):
            return held
        first = max(1, numbers[0] - LINES_AROUND)
        around = _numbered(_lines(body), [first, numbers[0] + new.count("\n") + LINES_AROUND])
        return f"The memory file has been edited. Here is the snippet showing the change:\n{around}"

    @_for_model
    def insert(self, path: object, line: object, text: object) -> str:
        document = self._file(path)
        lines = _lines(document.body)
        if not isinstance(line, int) or not 0 <= line <= len(lines):
            raise ToolError(
                f"Error: Invalid `insert_line` parameter: {line}. It should be within the range [0, {len(lines)}]."
            )
        lines[line:line] = _lines(_text(text, "insert_text"))
        return self._write(document, "\n".join(lines)) or f"The file {path} has been edited."

    @_for_model
    def delete(self, path: object) -> str:
        place = _place(path)
        document = self._find(place)
        if place == MEMORY_ROOT:
            raise ToolError(f"Error: Cannot delete the {ROOT} directory itself.")
        if not document:
            raise self._missing(path)
        if _is_file_name(path) and self._children(document):
            # the folder of the same document stays
            return self._write(document, "") or f"Successfully deleted {path}"
        self._writer.delete(document.id, document.version)
        return f"Successfully deleted {path}"

    @_for_model
    def rename(self, old_path: object, new_path: object) -> str:
        old, new = _place(old_path), _place(new_path)
        document = self._find(old)
        if MEMORY_ROOT in (old, new):
            raise ToolError(f"Error: Cannot rename the {ROOT} directory itself.")
        if not document:
            raise self._missing(old_path)
        if self._find(new):
            raise ToolError(f"Error: The destination {new_path} already exists.")
        if _is_file_name(old_path) and self._children(document):
            raise ToolError(f"Error: There are files below {_shown(old, is_folder=True)}. Rename that instead.")
        if binding_place(new, self._owner) and not binding_place(old, self._owner):
            raise ToolError(
                f"Error: {new_path} holds preferences and rules, which wait for a person's review. Write what "
                "belongs there with create, str_replace or insert."
            )
        parent, _, slug = new.rpartition("/")
        if f"{parent}/".startswith(f"{old}/"):
            raise ToolError(f"Error: {new_path} is below {old_path}. Choose another destination.")
        self._make_folders(parent)
        title = _title(slug) if document.title == _title(document.slug) else document.title
        made = self._writer.write(
            document_id=document.id,
            expected_version=document.version,
            slug=slug,
            title=title,
            body=document.body,
            parent_path=parent,
        )
        return waits(made) if isinstance(made, Review) else f"Successfully renamed {old_path} to {new_path}"

    # Documents

    def _find(self, place: str) -> Document | None:
        return self._documents.find(place)

    def _children(self, document: Document) -> list[Document]:
        return self._documents.children(document.id)

    def _is_file(self, document: Document) -> bool:
        return bool(document.body) or not self._children(document)

    def _file(self, path: object) -> Document:
        place = _place(path)
        document = self._find(place)
        if place == MEMORY_ROOT or (document and not self._is_file(document)):
            raise ToolError(f"Error: The path {path} is a directory, not a file.")
        if not document:
            raise self._missing(path)
        return document

    def _write(self, document: Document, body: str) -> str:
        """Write the next version. Return what to tell the model if it waits for review; else nothing."""
        made = self._writer.write(
            document_id=document.id,
            expected_version=document.version,
            slug=document.slug,
            title=document.title,
            body=body,
        )
        return waits(made) if isinstance(made, Review) else ""

    def _missing(self, path: object) -> ToolError:
        """Return the error for a path where there is nothing, or nothing but what waits for review."""
        place = _place(path)
        if held := [one for one in self._reviews.list() if one.kind == "document" and one.where == place]:
            return ToolError(f"Error: The path {path} is not there. {waits(held[0])} The person decides on it.")
        return ToolError(f"Error: The path {path} does not exist. View {ROOT} to see what there is.")

    def _make_folders(self, place: str) -> None:
        if place == MEMORY_ROOT or self._find(place):
            return
        parent, _, slug = place.rpartition("/")
        self._make_folders(parent)
        made = self._writer.write(slug=slug, title=_title(slug), description="", body="", parent_path=parent)
        if isinstance(made, Review):
            raise ToolError(f"Error: The directory {_shown(place, is_folder=True)} is missing. {waits(made)}")

    def _listing(self, shown: str, place: str) -> str:
        header = f"Here're the files and directories up to {LISTED_LEVELS} levels deep in {shown}:"
        return "\n".join([header, f"0B\t{shown}", *self._listed(place, LISTED_LEVELS)])

    def _listed(self, place: str, levels: int) -> Iterator[str]:
        for document in self._documents.children(place):
            if self._is_file(document):
                yield f"{_size(document.body)}\t{_shown(document.path)}"
            if self._children(document):
                yield f"0B\t{_shown(document.path, is_folder=True)}/"
                if levels > 1:
                    yield from self._listed(document.path, levels - 1)


def _place(path: object) -> str:
    """Return the path of the document that a file or a folder is."""
    if not isinstance(path, str):
        raise ToolError('Error: The command needs "path" as text.')
    steps = path.rstrip("/").split("/")
    if steps[:2] != ["", ROOT[1:]] or any(step.strip() in ("", ".", "..", "~") for step in steps[2:]):
        raise ToolError(f"Error: The path must be {ROOT} or below it, got: {path}")
    return "/".join([MEMORY_ROOT, *(step.removesuffix(SUFFIX) or step for step in steps[2:])])


def _shown(place: str, *, is_folder: bool = False) -> str:
    """Return the path of a document as a file, or as a folder."""
    suffix = "" if is_folder or "." in place.rpartition("/")[2] else SUFFIX
    return f"{ROOT}{place.removeprefix(MEMORY_ROOT)}{suffix}"


def _is_file_name(path: object) -> bool:
    return str(path).endswith(SUFFIX)


def _title(slug: str) -> str:
    words = slug.replace("-", " ").replace("_", " ")
    return words[:1].upper() + words[1:]


def _text(value: object, name: str, missing: str | None = None) -> str:
    if value is None and missing is not None:
        return missing
    if not isinstance(value, str):
        raise ToolError(f'Error: The command needs "{name}" as text.')
    return value


def _lines(text: str) -> list[str]:
    lines = text.split("\n")
    return lines if lines[-1] else lines[:-1]


def _numbered(lines: list[str], view_range: object) -> str:
    first, last = 1, len(lines)
    if isinstance(view_range, list) and view_range:
        if len(view_range) != 2 or not all(isinstance(one, int) for one in view_range):
            raise ToolError("Error: `view_range` must be two line numbers, such as [1, 20] or [5, -1].")
        first, last = max(1, view_range[0]), len(lines) if view_range[1] == -1 else view_range[1]
    return "\n".join(f"{number:>6}\t{lines[number - 1]}" for number in range(first, min(last, len(lines)) + 1))


def _occurrences(text: str, part: str) -> Iterator[int]:
    start = text.find(part) if part else -1
    while start >= 0:
        yield start
        start = text.find(part, start + 1)


def _size(text: str) -> str:
    size = len(text.encode())
    return f"{size}B" if size < 1024 else f"{size / 1024:.1f}K"


def _refuse_clearing() -> NoReturn:
    raise ToolError(
        "Error: A tool cannot clear a whole memory. A person removes things for good with `lifelong forget`."
    )


class LifelongMemoryTool(BetaAbstractMemoryTool):
    """Anthropic's memory tool over the documents below `~/memory`. `author` signs what Claude writes."""

    def __init__(
        self,
        memory: Memory,
        *,
        author: str = DEFAULT_AUTHOR,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._files = _Files(memory, author)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or what is in a directory."""
        return self._files.view(_of(command, "path"), _of(command, "view_range"))

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file, with the directories that it needs."""
        return self._files.create(_of(command, "path"), _of(command, "file_text"))

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return self._files.str_replace(_of(command, "path"), _of(command, "old_str"), _of(command, "new_str"))

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line; 0: before the first."""
        return self._files.insert(_of(command, "path"), _of(command, "insert_line"), _of(command, "insert_text"))

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with all below it. The versions stay."""
        return self._files.delete(_of(command, "path"))

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename or move a file or a directory."""
        return self._files.rename(_of(command, "old_path"), _of(command, "new_path"))

    def clear_all_memory(self) -> NoReturn:
        """Refuse: nothing that a model says removes everything."""
        _refuse_clearing()


class AsyncLifelongMemoryTool(BetaAsyncAbstractMemoryTool):
    """`LifelongMemoryTool` for `AsyncAnthropic`."""

    def __init__(
        self,
        memory: Memory,
        *,
        author: str = DEFAULT_AUTHOR,
        cache_control: BetaCacheControlEphemeralParam | None = None,
    ) -> None:
        super().__init__(cache_control=cache_control)
        self._tool = LifelongMemoryTool(memory, author=author)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """Return the lines of a file, or what is in a directory."""
        return await asyncio.to_thread(self._tool.view, command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Make a file, with the directories that it needs."""
        return await asyncio.to_thread(self._tool.create, command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text that occurs once."""
        return await asyncio.to_thread(self._tool.str_replace, command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert text after a line; 0: before the first."""
        return await asyncio.to_thread(self._tool.insert, command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Delete a file, or a directory with all below it. The versions stay."""
        return await asyncio.to_thread(self._tool.delete, command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Rename or move a file or a directory."""
        return await asyncio.to_thread(self._tool.rename, command)

    async def clear_all_memory(self) -> NoReturn:
        """Refuse: nothing that a model says removes everything."""
        _refuse_clearing()


def _of(command: object, name: str) -> object:
    """Return a field of a command; none where the model left it out."""
    return getattr(command, name, None)
