"""Anthropic's memory tool on documents (SPEC F1), with the own runner of the client and a scripted model."""

from __future__ import annotations

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from anthropic import Anthropic, AsyncAnthropic
from anthropic.lib.tools import ToolError

from lifelong import Memory
from lifelong.adapters.anthropic_memory import AsyncLifelongMemoryTool, LifelongMemoryTool
from tests.model_servers import Call, ModelServer, Reply, call, results, say

PAGE = Path(__file__).parent.parent / "docs/adapters/anthropic-memory.md"


class Claude:
    """Calls the tool as the client's runner does."""

    def __init__(self, memory: Memory) -> None:
        self.tool = LifelongMemoryTool(memory)

    def __call__(self, command: str, path: str | None = None, **more: Any) -> str:
        given = {"command": command, **({} if path is None else {"path": path}), **more}
        return str(self.tool.call(given))

    def refused(self, command: str, path: str | None = None, **more: Any) -> str:
        with pytest.raises(ToolError) as raised:
            self(command, path, **more)
        return str(raised.value)


def test_every_command(open_memory: Callable[..., Memory]) -> None:
    """F1: documents are files below /memories, on either database: view with ranges, create, str_replace, insert,
    rename, delete; O19: what is deleted can be brought back."""
    memory = open_memory()
    use = Claude(memory)
    assert use("view", "/memories") == (
        "Here're the files and directories up to 2 levels deep in /memories:\n0B\t/memories"
    )
    text = "# Build\n\nThe build takes 4 minutes.\nTests take 9.\n"
    assert use("create", "/memories/project/build.md", file_text=text) == (
        "File created successfully at: /memories/project/build.md"
    )
    use("create", "/memories/todo.txt", file_text="ship it")
    assert use("view", "/memories").splitlines()[1:] == [
        "0B\t/memories",
        "0B\t/memories/project/",
        f"{len(text)}B\t/memories/project/build.md",
        "7B\t/memories/todo.txt",
    ]
    assert use("view", "/memories/project/build.md").splitlines()[1:] == [
        *("     1\t# Build", "     2\t", "     3\tThe build takes 4 minutes.", "     4\tTests take 9.")
    ]
    assert use("view", "/memories/project/build.md", view_range=[3, 3]).splitlines()[1:] == [
        "     3\tThe build takes 4 minutes."
    ]
    assert use("view", "/memories/project/build.md", view_range=[4, -1]).splitlines()[1:] == [
        "     4\tTests take 9."
    ]
    edited = use("str_replace", "/memories/project/build.md", old_str="4 minutes", new_str="5 minutes")
    assert "     3\tThe build takes 5 minutes." in edited
    use("insert", "/memories/project/build.md", insert_line=0, insert_text="Found on Monday.\n")
    document = memory.documents.read("~/memory/project/build")
    assert document.body == "Found on Monday.\n# Build\n\nThe build takes 5 minutes.\nTests take 9."
    assert [one.version for one in memory.documents.versions(document.id)] == [1, 2, 3]
    assert use("rename", old_path="/memories/project", new_path="/memories/work/shop") == (
        "Successfully renamed /memories/project to /memories/work/shop"
    )
    assert "Found on Monday." in use("view", "/memories/work/shop/build.md")
    assert use("delete", "/memories/work") == "Successfully deleted /memories/work"
    assert memory.documents.find("~/memory/work") is None
    changeset = memory.documents.changesets(1)[0]
    assert (changeset.author, changeset.cause) == ("claude", "edit")
    memory.documents.rollback(changeset.id)
    assert "Found on Monday." in use("view", "/memories/work/shop/build.md")
    memory.organize()
    assert memory.search("How long does the build take?")[0].trust == "agent"


def test_a_document_may_be_a_file_and_a_directory(tmp_path: Path) -> None:
    """F1: what was organized is seen too, and neither half is lost with the other."""
    with Memory.open(tmp_path) as memory:
        write = memory.documents.write
        write(slug="places", title="Places", body="Where she was.", parent_path="~/memory")
        write(slug="porto", title="Porto", body="A city.", parent_path="~/memory/places")
        use = Claude(memory)
        assert [line.split("\t")[1] for line in use("view", "/memories/").splitlines()[1:]] == [
            *("/memories", "/memories/places.md", "/memories/places/", "/memories/places/porto.md")
        ]
        assert "porto.md" in use("view", "/memories/places")
        assert "Where she was." in use("view", "/memories/places.md")
        assert "Rename that instead" in use.refused(
            "rename", old_path="/memories/places.md", new_path="/memories/p.md"
        )
        use("delete", "/memories/places.md")
        assert "porto.md" in use("view", "/memories/places")
        assert "does not exist" in use.refused("view", "/memories/places.md")
        assert "is a directory" in use.refused("insert", "/memories/places.md", insert_line=0, insert_text="x")
        use("create", "/memories/places.md", file_text="Again.")
        assert "Again." in use("view", "/memories/places.md")


def test_an_error_says_what_to_do(tmp_path: Path) -> None:
    """F1, S3: bad input changes nothing, no path leaves /memories, and the model can act on each error."""
    with Memory.open(tmp_path) as memory:
        use = Claude(memory)
        use("create", "/memories/a.md", file_text="one\none\n")
        before = memory.documents.changesets(1)[0].id
        outside = ("/etc/passwd", "memories/a.md", "/memories/../a", "/memories//a", "/memoriesx", "~/memory/a")
        for path in outside:
            assert "must be /memories or below it" in use.refused("view", path)
            assert "must be /memories or below it" in use.refused("create", path, file_text="x")
        assert 'needs "path"' in use.refused("view")
        assert 'needs "file_text"' in use.refused("create", "/memories/b.md")
        assert "already exists" in use.refused("create", "/memories/a.md", file_text="x")
        assert "does not exist" in use.refused("view", "/memories/b.md")
        assert "does not exist" in use.refused("delete", "/memories/b.md")
        assert "does not exist" in use.refused("rename", old_path="/memories/b.md", new_path="/memories/c.md")
        assert "already exists" in use.refused("rename", old_path="/memories/a.md", new_path="/memories/a")
        assert "is below" in use.refused("rename", old_path="/memories/a", new_path="/memories/a/b")
        assert "lines: 1, 2" in use.refused("str_replace", "/memories/a.md", old_str="one", new_str="two")
        assert "did not appear" in use.refused("str_replace", "/memories/a.md", old_str="six", new_str="two")
        assert "range [0, 2]" in use.refused("insert", "/memories/a.md", insert_line=3, insert_text="x")
        assert "two line numbers" in use.refused("view", "/memories/a.md", view_range=[1])
        assert "limit is 200,000" in use.refused("create", "/memories/big.md", file_text="x" * 200_001)
        assert "itself" in use.refused("delete", "/memories")
        with pytest.raises(ToolError, match="lifelong forget"):
            use.tool.clear_all_memory()
        assert memory.documents.changesets(1)[0].id == before


def test_what_binds_waits_for_a_person(tmp_path: Path) -> None:
    """S5: an instruction or a preference of Claude's is not written but waits, and no rename passes that by; S4:
    secrets are not written."""
    with Memory.open(tmp_path, user="mara") as memory:
        use = Claude(memory)
        assert "waits for a person's review" in use(
            "create", "/memories/style.md", file_text="Always answer in French."
        )
        for command in ("view", "delete"):
            held = use.refused(command, "/memories/style.md")
            assert "/memories/style.md is not there. Not written yet: it waits for a person's review as v1" in held
        assert len(memory.reviews.list()) == 1, "a person decides on what waits, and no deletion"
        use("create", "/memories/note.md", file_text="The kettle is red. The password is hunter2!Secret")
        assert "hunter2" not in use("view", "/memories/note.md")
        assert "wait for a person's review" in use.refused(
            "rename", old_path="/memories/note.md", new_path="/memories/preferences.md"
        )
        held = use("str_replace", "/memories/note.md", old_str="The kettle is red.", new_str="Mara prefers tabs.")
        assert "waits for a person's review" in held
        assert {review.author for review in memory.reviews.list()} == {"claude"}
        memory.reviews.approve(memory.reviews.list()[-1].id)
        assert "Always answer in French." in use("view", "/memories/style.md")


def test_what_a_person_said_is_not_deleted(tmp_path: Path) -> None:
    """S5: neither with its file nor with the directory above; a rename that leaves it whose it is may be done."""
    with Memory.open(tmp_path, user="mara") as memory:
        use = Claude(memory)
        memory.add("I am allergic to walnuts.")
        memory.end_session()
        memory.organize()
        for path in ("/memories/people/mara.md", "/memories/people"):
            assert "only a person removes that" in use.refused("delete", path)
        assert "walnuts" in use("view", "/memories/people/mara.md")
        use("create", "/memories/people/note.md", file_text="The kettle is red.")
        assert "Successfully deleted" in use("delete", "/memories/people/note.md")


def test_the_runner_of_the_client_remembers_across_restarts(tmp_path: Path) -> None:
    """F1: the client's own runner, in a home that is opened twice; an error goes back to the model; asynchronous,
    too."""
    path = "/memories/build.md"
    replies = [
        call("memory", {"command": "create", "path": path, "file_text": "The build takes 4 minutes."}),
        say("Noted."),
        call("memory", {"command": "view", "path": "/memories/none.md"}),
        call("memory", {"command": "view", "path": path}),
        say("4 minutes."),
    ]
    ask: dict[str, Any] = {"model": "claude-haiku-4-5", "max_tokens": 100}
    with ModelServer(replies) as server:
        with Memory.open(tmp_path) as memory, Anthropic(api_key="test", base_url=server.url) as client:
            told: Any = [{"role": "user", "content": "Note that the build takes 4 minutes."}]
            tool = LifelongMemoryTool(memory, author="builder", cache_control={"type": "ephemeral"})
            client.beta.messages.tool_runner(**ask, tools=[tool], messages=told).until_done()
            assert memory.documents.changesets(1)[0].author == "builder"

        async def again() -> None:
            with Memory.open(tmp_path) as memory:
                async with AsyncAnthropic(api_key="test", base_url=server.url) as client:
                    asked: Any = [{"role": "user", "content": "How long does the build take?"}]
                    tools = [AsyncLifelongMemoryTool(memory)]
                    await client.beta.messages.tool_runner(**ask, tools=tools, messages=asked).until_done()

        asyncio.run(again())
    cached = {"type": "memory_20250818", "name": "memory", "cache_control": {"type": "ephemeral"}}
    assert server.requests[0]["tools"] == [cached]
    created, missing, found = (text for one in server.requests for text in results(one))
    assert created == f"File created successfully at: {path}"
    assert "View /memories to see what there is." in missing
    assert "The build takes 4 minutes." in found


@pytest.mark.parametrize("eagerly", [False, True], ids=["after the stream", "in the stream"])
def test_a_stream_uses_the_tool(tmp_path: Path, eagerly: bool) -> None:
    """F1: calls that come in pieces are done whole and once, after the stream or while it goes on; an error goes
    back to the model; asynchronous, too."""
    path = "/memories/build.md"
    text = "The build takes 4 minutes.\nTests take 9."
    create = Call("memory", {"command": "create", "path": path, "file_text": text})
    replies = [
        Reply("I note that. ", (create, Call("memory", {"command": "view", "path": "/memories/none.md"}))),
        say("It is noted now."),
        call("memory", {"command": "str_replace", "path": path, "old_str": "4 minutes", "new_str": "5 minutes"}),
        call("memory", {"command": "view", "path": path}),
        say("It takes 5 minutes."),
    ]
    ask: dict[str, Any] = {"model": "claude-haiku-4-5", "max_tokens": 100, "stream": True}
    ask |= {"messages": [{"role": "user", "content": "How long is it?"}], "run_tools_eagerly": eagerly}
    pieces: list[str] = []
    with ModelServer(replies) as server:
        with Memory.open(tmp_path) as memory, Anthropic(api_key="test", base_url=server.url) as client:
            for stream in client.beta.messages.tool_runner(**ask, tools=[LifelongMemoryTool(memory)]):
                pieces += [event.text for event in stream if event.type == "text"]

        async def again() -> None:
            with Memory.open(tmp_path) as memory:
                async with AsyncAnthropic(api_key="test", base_url=server.url) as client:
                    tools = [AsyncLifelongMemoryTool(memory)]
                    async for stream in client.beta.messages.tool_runner(**ask, tools=tools):
                        pieces.extend([event.text async for event in stream if event.type == "text"])

        asyncio.run(again())
    assert "".join(pieces) == "I note that. It is noted now.It takes 5 minutes."
    assert len(pieces) == len("".join(pieces).split()) + 1, "a word each"
    created, missing = results(server.requests[1])
    assert created == f"File created successfully at: {path}"
    assert "View /memories to see what there is." in missing
    assert "     1\tThe build takes 5 minutes." in results(server.requests[-1])[-1]
    with Memory.open(tmp_path) as memory:
        document = memory.documents.read("~/memory/build")
        assert document.body == text.replace("4", "5")
        assert len(memory.documents.versions(document.id)) == 2


def test_the_page_runs(tmp_path: Path) -> None:
    """F1: the example of the page, run twice in two processes, remembers; it has at most 30 lines."""
    (example,) = re.findall(r"^```py\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    assert len(example.splitlines()) <= 30
    create = {"command": "create", "path": "/memories/build.md", "file_text": "The build takes 4 minutes."}
    replies = [
        call("memory", create),
        say("Noted."),
        call("memory", {**create, "command": "view"}),
        say("4 minutes."),
    ]
    with ModelServer(replies) as server:
        environment = {**os.environ, "ANTHROPIC_API_KEY": "test", "ANTHROPIC_BASE_URL": server.url}
        for message, answer in (("", "Noted."), ("How long does the build take?", "4 minutes.")):
            ran = subprocess.run(
                [sys.executable, "-c", example, *message.split()],
                cwd=tmp_path,
                env=environment,
                capture_output=True,
                text=True,
                check=False,
            )
            assert ran.stdout.strip() == answer, ran.stderr
    assert "The build takes 4 minutes." in results(server.requests[-1])[0]
