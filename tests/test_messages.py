"""What `add` takes: the messages people have, of every provider, as records (SPEC C11)."""

from __future__ import annotations

import ast
import base64
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import Message as AnthropicMessage
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletion, ChatCompletionMessage
from openai.types.responses import Response
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelMessagesTypeAdapter,
    ModelRequest,
    ModelResponse,
    NativeToolCallPart,
    NativeToolReturnPart,
    RetryFeedbackPart,
    RetryInfo,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from lifelong.collect import message_parts, messages
from lifelong.collect.messages import to_records
from lifelong.errors import InputError
from lifelong.types import (
    AssistantMessage,
    Json,
    Note,
    Record,
    SystemMessage,
    ToolCall,
    ToolResult,
    UserMessage,
)

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
PIXELS = base64.b64encode(b"\x89PNG" * 40).decode()


# Text and records


def test_text_is_the_users_word() -> None:
    assert to_records("I moved to Lisbon.") == [UserMessage("I moved to Lisbon.")]
    assert to_records("hi", at=NOON, speaker="Ann") == [UserMessage("hi", "Ann", at=NOON)]


def test_records_stay_as_they_are() -> None:
    records: list[Record] = [
        UserMessage("a", "Bo", at=NOON),
        AssistantMessage("b"),
        ToolCall("f", {"x": 1}, "c1"),
        ToolResult("ok", call_id="c1", provenance="web"),
        SystemMessage("s", summary=True),
        Note("n"),
    ]
    assert to_records(records) == records
    assert to_records(records[0]) == records[:1]


def test_time_and_speaker_fill_only_what_is_empty() -> None:
    earlier = NOON - timedelta(days=1)
    records = [UserMessage("a", "Bo", at=earlier), UserMessage("b"), AssistantMessage("c"), Note("d", "Cy")]
    assert to_records(records, at=NOON, speaker="Ann") == [
        UserMessage("a", "Bo", at=earlier),
        UserMessage("b", "Ann", at=NOON),
        AssistantMessage("c", at=NOON),
        Note("d", "Cy", at=NOON),
    ]


@pytest.mark.parametrize("nothing", [[], (), "", "  \n", {"role": "assistant", "content": None}, iter(())])
def test_nothing_gives_no_record(nothing: object) -> None:
    assert to_records(nothing) == []


def test_shapes_may_be_mixed_in_any_iterable() -> None:
    def messages() -> Iterator[object]:
        yield "one"
        yield {"role": "assistant", "content": "two"}
        yield ("human", "three")
        yield Note("four")
        yield {"type": "ai", "data": {"content": "five"}}

    assert to_records(messages()) == [
        UserMessage("one"),
        AssistantMessage("two"),
        UserMessage("three"),
        Note("four"),
        AssistantMessage("five"),
    ]


# OpenAI Chat Completions


def test_openai_chat_keeps_roles_calls_and_results() -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "developer", "content": [{"type": "text", "text": "Use metric units."}]},
        {"role": "user", "content": "Weather in Oslo?", "name": "Ann"},
        {"role": "assistant", "content": "Let me look.", "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": '{"temp": 3}'},
        {"role": "assistant", "content": "3 °C.", "name": "Weatherbot"},
    ]
    assert to_records(messages) == [
        SystemMessage("Be brief."),
        SystemMessage("Use metric units."),
        UserMessage("Weather in Oslo?", "Ann"),
        AssistantMessage("Let me look."),
        ToolCall("weather", {"city": "Oslo"}, "c1"),
        ToolResult('{"temp": 3}', "weather", "c1"),
        AssistantMessage("3 °C.", "Weatherbot"),
    ]


def test_openai_chat_old_functions_and_custom_tools() -> None:
    custom = {"id": "c2", "type": "custom", "custom": {"name": "sql", "input": "SELECT 1"}}
    messages: list[object] = [
        {"role": "assistant", "content": None, "function_call": {"name": "add", "arguments": '{"a": 1}'}},
        {"role": "function", "name": "add", "content": "2"},
        {"role": "assistant", "tool_calls": [custom]},
    ]
    assert to_records(messages) == [
        ToolCall("add", {"a": 1}),
        ToolResult("2", "add"),
        ToolCall("sql", {"arguments": "SELECT 1"}, "c2"),
    ]


def test_parts_are_joined_and_files_become_placeholders_without_data() -> None:
    content = [
        {"type": "text", "text": "See these:"},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXELS}"}},
        {"type": "image_url", "image_url": {"url": "https://example.org/a/cat.png?signature=secret"}},
        {"type": "input_audio", "input_audio": {"data": PIXELS, "format": "wav"}},
        {"type": "file", "file": {"filename": "plan.pdf", "file_data": PIXELS}},
        {"type": "text", "text": "Thanks"},
    ]
    expected = "See these:\n\n[image]\n\n[image: cat.png]\n\n[audio]\n\n[file: plan.pdf]\n\nThanks"
    assert to_records({"role": "user", "content": content}) == [UserMessage(expected)]
    [result] = to_records({"role": "tool", "tool_call_id": "c", "content": content})
    assert result == ToolResult(expected, call_id="c")


def test_a_refusal_and_spoken_words_are_said() -> None:
    spoken = {"id": "a", "data": PIXELS, "transcript": "Hello!", "expires_at": 1}
    assert to_records(
        [
            {"role": "assistant", "content": None, "refusal": "I cannot."},
            {"role": "assistant", "content": [{"type": "refusal", "refusal": "No."}]},
            {"role": "assistant", "content": None, "audio": spoken},
            {"role": "assistant", "audio": {"id": "a"}},
        ]
    ) == [AssistantMessage(text) for text in ("I cannot.", "No.", "Hello!", "[audio]")]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"a": {"b": [1, null]}}', {"a": {"b": [1, None]}}),
        ("", {}),
        ("{broken", {"arguments": "{broken"}),
        ("[1, 2]", {"arguments": "[1, 2]"}),
        ('{"x": NaN}', {"arguments": '{"x": NaN}'}),
        ("[" * 100_000, {"arguments": "[" * 100_000}),
        ("9" * 5_000, {"arguments": "9" * 5_000}),
        ({"a": None}, {"a": None}),
        (None, {}),
    ],
)
def test_arguments_that_are_not_an_object_are_kept_as_text(arguments: object, expected: dict[str, Json]) -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}
    assert to_records({"role": "assistant", "tool_calls": [call]}) == [ToolCall("f", expected, "c")]


def test_openai_sdk_objects() -> None:
    message = {
        "role": "assistant",
        "content": "Looking.",
        "tool_calls": [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}],
    }
    records = [AssistantMessage("Looking."), ToolCall("find", {"q": "x"}, "c1")]
    assert to_records(ChatCompletionMessage.model_validate(message)) == records
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    given = {"id": "x", "object": "chat.completion", "created": 1772366400, "model": "m", "choices": choices}
    timed: list[Record] = [
        AssistantMessage("Looking.", at=NOON),
        ToolCall("find", {"q": "x"}, "c1", at=NOON),
    ]
    assert to_records(ChatCompletion.model_validate(given)) == timed
    assert to_records(given) == timed


# OpenAI Responses

RESPONSE_ITEMS: list[dict[str, object]] = [
    {
        "type": "reasoning",
        "id": "r1",
        "summary": [{"type": "summary_text", "text": "hm"}],
        "encrypted_content": "x",
    },
    {
        "type": "web_search_call",
        "id": "ws1",
        "status": "completed",
        "action": {"type": "search", "query": "ferry", "sources": [{"type": "url", "url": "https://a.example/f"}]},
    },
    {
        "type": "file_search_call",
        "id": "fs1",
        "status": "completed",
        "queries": ["ferry"],
        "results": [{"file_id": "f1", "filename": "times.md", "score": 0.9, "text": "Leaves at 9."}],
    },
    {
        "type": "code_interpreter_call",
        "id": "ci1",
        "status": "completed",
        "container_id": "k",
        "code": "print(1)",
        "outputs": [{"type": "logs", "logs": "1"}, {"type": "image", "url": "https://x.example/plot.png"}],
    },
    {
        "type": "computer_call",
        "id": "cc1",
        "call_id": "call_cc",
        "status": "completed",
        "pending_safety_checks": [],
        "action": {"type": "click", "button": "left", "x": 1, "y": 2},
    },
    {"type": "image_generation_call", "id": "ig1", "status": "completed", "result": PIXELS},
    {
        "type": "mcp_call",
        "id": "m1",
        "name": "roll",
        "server_label": "dice",
        "arguments": '{"sides": 6}',
        "output": "4",
    },
    {"type": "mcp_list_tools", "id": "l1", "server_label": "dice", "tools": []},
    {"type": "function_call", "id": "fc1", "call_id": "call_1", "name": "book", "arguments": '{"at": "9:00"}'},
    {"type": "custom_tool_call", "id": "ct1", "call_id": "call_2", "name": "sql", "input": "SELECT 1"},
    {
        "type": "message",
        "id": "msg1",
        "role": "assistant",
        "status": "completed",
        "content": [
            {"type": "output_text", "text": "Booked.", "annotations": []},
            {"type": "refusal", "refusal": "Not the return."},
        ],
    },
]

RESPONSE_RECORDS: list[Record] = [
    ToolCall("web_search", {"type": "search", "query": "ferry"}, "ws1"),
    ToolResult("https://a.example/f", "web_search", "ws1", provenance="web"),
    ToolCall("file_search", {"queries": ["ferry"]}, "fs1"),
    ToolResult("times.md\nLeaves at 9.", "file_search", "fs1"),
    ToolCall("code_interpreter", {"code": "print(1)"}, "ci1"),
    ToolResult("1\n\n[image: plot.png]", "code_interpreter", "ci1"),
    ToolCall("computer", {"type": "click", "button": "left", "x": 1, "y": 2}, "call_cc"),
    ToolCall("image_generation", {}, "ig1"),
    ToolResult("[image]", "image_generation", "ig1"),
    ToolCall("roll", {"sides": 6}, "m1"),
    ToolResult("4", "roll", "m1"),
    ToolCall("book", {"at": "9:00"}, "call_1"),
    ToolCall("sql", {"arguments": "SELECT 1"}, "call_2"),
    AssistantMessage("Booked.\n\nNot the return."),
]


def test_openai_responses_items() -> None:
    assert to_records(RESPONSE_ITEMS) == RESPONSE_RECORDS


def test_openai_response_object_and_its_output() -> None:
    given = {
        "id": "resp1",
        "object": "response",
        "created_at": 1772366400.0,
        "model": "m",
        "output": RESPONSE_ITEMS,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
    }
    response = Response.model_validate(given)
    assert to_records(response.output) == RESPONSE_RECORDS
    assert to_records(response) == to_records(RESPONSE_ITEMS, at=NOON)
    assert to_records(given) == to_records(RESPONSE_ITEMS, at=NOON)


def test_openai_responses_inputs_and_outputs_of_calls() -> None:
    screenshot = {"type": "computer_screenshot", "image_url": f"data:image/png;base64,{PIXELS}"}
    shell = [{"stdout": "a.txt", "stderr": "warning", "outcome": {"type": "exit", "exit_code": 0}}]
    items: list[object] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Book it"}]},
        {"role": "user", "content": [{"type": "input_image", "image_url": "https://e.example/m.jpg"}]},
        {"type": "function_call", "call_id": "c1", "name": "book", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": '{"ok": true}'},
        {"type": "function_call_output", "call_id": "c9", "output": [{"type": "input_text", "text": "late"}]},
        {"type": "computer_call_output", "call_id": "c2", "output": screenshot},
        {"type": "shell_call_output", "call_id": "c3", "output": shell},
        {"type": "apply_patch_call_output", "call_id": "c4", "status": "failed", "output": "no such file"},
        {"type": "mcp_call", "id": "m", "name": "roll", "arguments": "{}", "error": "no dice"},
        {"type": "item_reference", "id": "x"},
    ]
    assert to_records(items) == [
        UserMessage("Book it"),
        UserMessage("[image: m.jpg]"),
        ToolCall("book", {}, "c1"),
        ToolResult('{"ok": true}', "book", "c1"),
        ToolResult("late", "", "c9"),
        ToolResult("[image]", "", "c2"),
        ToolResult("a.txt\nwarning", "", "c3"),
        ToolResult("no such file", "", "c4", failed=True),
        ToolCall("roll", {}, "m"),
        ToolResult("no dice", "roll", "m", failed=True),
    ]


# Anthropic


def test_anthropic_blocks_keep_their_order() -> None:
    messages = [
        {"role": "user", "content": "Ferry times?"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "redacted_thinking", "data": PIXELS},
                {"type": "text", "text": "I look."},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "t1", "name": "ferry", "input": {"day": "Monday"}},
                {"type": "tool_use", "id": "t2", "name": "price", "input": {}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "9:00"}]},
                {"type": "tool_result", "tool_use_id": "t2", "content": "no price", "is_error": True},
                {"type": "tool_result", "tool_use_id": "t3"},
                {"type": "text", "text": "And back?"},
            ],
        },
    ]
    assert to_records(messages) == [
        UserMessage("Ferry times?"),
        AssistantMessage("I look.\n\nOne moment."),
        ToolCall("ferry", {"day": "Monday"}, "t1"),
        ToolCall("price", {}, "t2"),
        ToolResult("9:00", "ferry", "t1"),
        ToolResult("no price", "price", "t2", failed=True),
        ToolResult("", "", "t3"),
        UserMessage("And back?"),
    ]


def test_anthropic_images_and_documents() -> None:
    pdf = {"type": "base64", "media_type": "application/pdf", "data": PIXELS}
    content = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXELS}},
        {"type": "image", "source": {"type": "url", "url": "https://e.example/dog.jpg"}},
        {"type": "document", "title": "Lease", "source": pdf},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "The rent is 900."}},
        {
            "type": "document",
            "title": "Notes",
            "source": {"type": "content", "content": [{"type": "text", "text": "x"}]},
        },
    ]
    assert to_records({"role": "user", "content": content}) == [
        UserMessage(
            "[image]\n\n[image: dog.jpg]\n\n[document: Lease]\n\n[document]\n\nThe rent is 900.\n\n"
            "[document: Notes]\n\nx"
        )
    ]


def anthropic_message(content: list[dict[str, object]]) -> AnthropicMessage:
    given = {"id": "msg", "type": "message", "role": "assistant", "model": "m", "content": content}
    usage = {"input_tokens": 1, "output_tokens": 1}
    return AnthropicMessage.model_validate({**given, "stop_reason": "end_turn", "usage": usage})


def test_anthropic_message_with_the_web() -> None:
    cited = {"type": "web_search_result_location", "cited_text": "9", "encrypted_index": "x", "title": "Ferries"}
    page = {
        "type": "web_fetch_result",
        "url": "https://f.example/t",
        "content": {
            "type": "document",
            "title": "Times",
            "source": {"type": "text", "media_type": "text/plain", "data": "9:00 and 17:00"},
        },
    }
    found = {
        "type": "web_search_result",
        "url": "https://f.example",
        "title": "Ferries",
        "encrypted_content": PIXELS,
    }
    message = anthropic_message(
        [
            {"type": "text", "text": "I search."},
            {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {"query": "ferry"}},
            {"type": "web_search_tool_result", "tool_use_id": "s1", "content": [found]},
            {"type": "web_fetch_tool_result", "tool_use_id": "s2", "content": page},
            {
                "type": "web_search_tool_result",
                "tool_use_id": "s3",
                "content": {"type": "web_search_tool_result_error", "error_code": "max_uses_exceeded"},
            },
            {"type": "text", "text": "It leaves at "},
            {"type": "text", "text": "9:00", "citations": [{**cited, "url": "https://f.example"}]},
            {"type": "text", "text": " from the pier."},
        ]
    )
    *records, error, answer = to_records(message)
    assert records == [
        AssistantMessage("I search."),
        ToolCall("web_search", {"query": "ferry"}, "s1"),
        ToolResult("Ferries\nhttps://f.example", "web_search", "s1", provenance="web"),
        ToolResult(
            "https://f.example/t\n[document: Times]\n\n9:00 and 17:00", "web_fetch", "s2", provenance="web"
        ),
    ]
    assert isinstance(error, ToolResult)
    assert error.failed
    assert error.provenance == "web"
    assert json.loads(error.text)["error_code"] == "max_uses_exceeded"
    assert answer == AssistantMessage("It leaves at 9:00 from the pier.")


def test_anthropic_code_execution_fails_by_its_return_code() -> None:
    output = {
        "type": "bash_code_execution_result",
        "stdout": "",
        "stderr": "boom",
        "return_code": 2,
        "content": [],
    }
    message = anthropic_message(
        [
            {"type": "server_tool_use", "id": "s1", "name": "bash_code_execution", "input": {"command": "x"}},
            {"type": "bash_code_execution_tool_result", "tool_use_id": "s1", "content": output},
        ]
    )
    assert to_records(message) == [
        ToolCall("bash_code_execution", {"command": "x"}, "s1"),
        ToolResult("boom", "bash_code_execution", "s1", failed=True),
    ]


def test_a_summary_of_a_compacted_context_is_marked() -> None:
    content = [{"type": "compaction", "content": "They plan a trip."}, {"type": "text", "text": "Go on."}]
    assert to_records({"role": "assistant", "content": content}) == [
        SystemMessage("They plan a trip.", summary=True),
        AssistantMessage("Go on."),
    ]
    assert to_records({"type": "compaction", "id": "x", "encrypted_content": PIXELS}) == []


# LangChain: these mirror the attributes of langchain_core.messages, which is not installed here


class LangChainMessage:
    """A message with the attributes that every langchain_core message has."""

    type = ""

    def __init__(self, content: str | list[Any], **more: object) -> None:
        self.content = content
        self.additional_kwargs: dict[str, object] = {}
        self.response_metadata: dict[str, object] = {}
        self.name: object = None
        self.id: object = "run-1"
        self.__dict__.update(more)


class HumanMessage(LangChainMessage):
    type = "human"


class AIMessage(LangChainMessage):
    type = "ai"


class AIMessageChunk(LangChainMessage):
    type = "AIMessageChunk"


class LangChainSystemMessage(LangChainMessage):
    type = "system"


class ToolMessage(LangChainMessage):
    type = "tool"


class FunctionMessage(LangChainMessage):
    type = "function"


LANGCHAIN_CALL = {"name": "ferry", "args": {"day": "Monday"}, "id": "c1", "type": "tool_call"}


def test_langchain_objects() -> None:
    invalid = {"name": "price", "args": "{oops", "id": "c2", "error": "not JSON", "type": "invalid_tool_call"}
    messages = [
        LangChainSystemMessage("Be brief."),
        HumanMessage("Ferry?", name="Ann"),
        AIMessage("I look.", tool_calls=[LANGCHAIN_CALL], invalid_tool_calls=[invalid]),
        ToolMessage("9:00", tool_call_id="c1", status="success"),
        ToolMessage("no", tool_call_id="c2", status="error", name="price"),
        FunctionMessage("2", name="add"),
        AIMessageChunk("At nine.", tool_calls=[], invalid_tool_calls=[]),
        HumanMessage(
            ["Here", {"type": "image", "source_type": "base64", "data": PIXELS, "mime_type": "image/png"}]
        ),
    ]
    assert to_records(messages) == [
        SystemMessage("Be brief."),
        UserMessage("Ferry?", "Ann"),
        AssistantMessage("I look."),
        ToolCall("ferry", {"day": "Monday"}, "c1"),
        ToolCall("price", {"arguments": "{oops"}, "c2"),
        ToolResult("9:00", "ferry", "c1"),
        ToolResult("no", "price", "c2", failed=True),
        ToolResult("2", "add"),
        AssistantMessage("At nine."),
        UserMessage("Here\n\n[image]"),
    ]


def test_langchain_calls_that_also_stand_in_the_content_count_once() -> None:
    content = [
        {"type": "text", "text": "I look."},
        {"type": "tool_use", "id": "c1", "name": "ferry", "input": {"day": "Monday"}},
    ]
    assert to_records(AIMessage(content, tool_calls=[LANGCHAIN_CALL])) == [
        AssistantMessage("I look."),
        ToolCall("ferry", {"day": "Monday"}, "c1"),
    ]


def test_langchain_stored_forms() -> None:
    fields = {"content": "I look.", "type": "ai", "name": None, "tool_calls": [LANGCHAIN_CALL]}
    expected = [AssistantMessage("I look."), ToolCall("ferry", {"day": "Monday"}, "c1")]
    envelope = {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", "AIMessage"]}
    assert to_records({"type": "ai", "data": fields}) == expected
    assert to_records(fields) == expected
    assert to_records({**envelope, "kwargs": fields}) == expected
    assert to_records({"type": "chat", "role": "user", "content": "x"}) == [UserMessage("x")]


def test_langchain_pairs() -> None:
    assert to_records(("human", "hi")) == [UserMessage("hi")]
    assert to_records([("system", "s"), ["ai", "a"]]) == [SystemMessage("s"), AssistantMessage("a")]
    assert to_records(("one", "two")) == [UserMessage("one"), UserMessage("two")]


# Pydantic AI


def test_pydantic_ai_messages() -> None:
    png = BinaryContent(data=b"\x89PNG", media_type="image/png")
    later = NOON + timedelta(minutes=1)
    messages: list[ModelMessage] = [
        ModelRequest(
            parts=[
                SystemPromptPart("Be brief.", timestamp=NOON),
                UserPromptPart(["Look:", png, ImageUrl("https://e.example/cat.png")], timestamp=NOON),
            ]
        ),
        ModelResponse(
            parts=[
                ThinkingPart("hm"),
                TextPart("I look."),
                TextPart("One moment."),
                ToolCallPart("ferry", '{"day": "Monday"}', "c1"),
                ToolCallPart("price", {"class": 2}, "c2"),
                NativeToolCallPart("web_search", {"query": "ferry"}, "c3"),
                NativeToolReturnPart("web_search", [{"title": "Ferries"}], "c3", timestamp=later),
            ],
            timestamp=later,
        ),
        ModelRequest(
            parts=[
                ToolReturnPart("ferry", {"times": ["9:00"], "map": png}, "c1", timestamp=later),
                ToolReturnPart("plot", [png], "c4", timestamp=later),
                ToolReturnPart("price", "No such class.", "c2", timestamp=later, outcome="retried"),
                RetryFeedbackPart("Answer in JSON.", retry=RetryInfo(cause="model_retry"), timestamp=later),
            ]
        ),
    ]
    expected = [
        SystemMessage("Be brief.", at=NOON),
        UserMessage("Look:\n\n[image]\n\n[image: cat.png]", at=NOON),
        AssistantMessage("I look.\n\nOne moment.", at=later),
        ToolCall("ferry", {"day": "Monday"}, "c1", at=later),
        ToolCall("price", {"class": 2}, "c2", at=later),
        ToolCall("web_search", {"query": "ferry"}, "c3", at=later),
        ToolResult('[{"title": "Ferries"}]', "web_search", "c3", provenance="web", at=later),
        ToolResult('{"times": ["9:00"], "map": "[image]"}', "ferry", "c1", at=later),
        ToolResult("[image]", "plot", "c4", at=later),
        ToolResult("No such class.", "price", "c2", failed=True, at=later),
        SystemMessage("Answer in JSON.", at=later),
    ]
    assert to_records(messages) == expected
    assert to_records(ModelMessagesTypeAdapter.dump_python(messages, mode="json")) == expected


def test_pydantic_ai_retry_prompts_of_older_versions() -> None:
    parts = [
        {"part_kind": "retry-prompt", "content": "No such class.", "tool_name": "price", "tool_call_id": "c2"},
        {"part_kind": "retry-prompt", "content": [{"loc": ["a"], "msg": "missing"}], "tool_name": None},
    ]
    assert to_records({"kind": "request", "parts": parts}) == [
        ToolResult("No such class.", "price", "c2", failed=True),
        SystemMessage('[{"loc": ["a"], "msg": "missing"}]'),
    ]


def test_pydantic_ai_tools_that_return_any_value() -> None:
    @dataclass
    class Trip:
        day: str
        stops: list[str] = field(default_factory=list)

    def result(value: object) -> str:
        [record] = to_records(ModelRequest(parts=[ToolReturnPart("f", value, "c")]))
        assert isinstance(record, ToolResult)
        return record.text

    assert result(Trip("Monday", ["Oslo"])) == '{"day": "Monday", "stops": ["Oslo"]}'
    assert result({"raw": b"\x00\x01", "at": NOON}) == '{"raw": "[2 bytes]", "at": "2026-03-01 12:00:00+00:00"}'
    assert result([{"type": "file", "name": "a.py", "size": 3}]) == '[{"type": "file", "name": "a.py", "size": 3}]'
    assert result([1, [2, "ü"]]) == '[1, [2, "ü"]]'
    assert result(None) == ""
    endless: list[object] = []
    endless.append(endless)
    with pytest.raises(InputError, match=r"^Message 1 has a tool result that JSON cannot hold"):
        result(endless)


# Times


@pytest.mark.parametrize("name", ["created_at", "created", "timestamp", "at", "time"])
@pytest.mark.parametrize(
    "value",
    [
        1772366400,
        1772366400.0,
        1772366400000,
        "2026-03-01T12:00:00Z",
        "2026-03-01T13:00:00+01:00",
        datetime(2026, 3, 1, 13, tzinfo=timezone(timedelta(hours=1))),
    ],
)
def test_times_are_kept(name: str, value: object) -> None:
    [record] = to_records({"role": "user", "content": "x", name: value}, at=NOON + timedelta(days=9))
    assert record.at == NOON


def test_an_unset_time_is_filled() -> None:
    assert to_records({"role": "user", "content": "x", "created_at": None}, at=NOON) == [UserMessage("x", at=NOON)]


@pytest.mark.parametrize("value", ["yesterday", "", True, [], 1e30, float("nan"), 10**400, -(10**15)])
def test_a_wrong_time_is_an_error(value: object) -> None:
    with pytest.raises(InputError, match=r'^Message 1 has a "timestamp" that is not a time: .* since 1970'):
        to_records({"role": "user", "content": "x", "timestamp": value})


@pytest.mark.parametrize("value", ["2026-03-01T12:00:00", "2026-03-01", datetime(2026, 3, 1)])  # noqa: DTZ001
def test_a_time_without_a_zone_is_an_error(value: object) -> None:
    with pytest.raises(InputError, match=r'^Message 1 has a "created" without a time zone'):
        to_records({"role": "user", "content": "x", "created": value})


# Unknown shapes


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ({"rol": "user", "content": "x"}, 'has no "role". Did you mean {"role": "user", "content": "…"}?'),
        (
            {"rolle": "assistant", "content": "x"},
            'has no "role". Did you mean {"role": "assistant", "content": "…"}?',
        ),
        ({"text": "x"}, 'has no "role". Did you mean {"role": "user", "content": "…"}?'),
        ({}, 'has no "role". Did you mean {"role": "user", "content": "…"}?'),
        ({"type": "message", "content": "x"}, 'has no "role". Did you mean {"role": "user", "content": "…"}?'),
        ({"role": "usr", "content": "x"}, "has the unknown role 'usr'. Did you mean \"user\"?"),
        ({"role": "Assistant", "content": "x"}, "has the unknown role 'Assistant'. Did you mean \"assistant\"?"),
        ({"role": 7, "content": "x"}, "has the unknown role 7. Use one of: user, human, assistant"),
        (("usr", "x"), "has the unknown role 'usr'. Did you mean \"user\"?"),
        ({"role": "user", "contents": "x"}, 'has no "content". Did you mean {"role": "user", "content": "…"}?'),
        ({"role": "user", "content": 7}, 'has a "content" that cannot be 7. Give text or a list of parts.'),
        ({"role": "user", "content": 10**5000}, 'has a "content" that cannot be a very long int. Give text'),
        ({"role": "user", "content": b"x"}, "has a \"content\" that cannot be b'x'. Give text"),
        (
            {"type": "functioncall", "name": "f"},
            'has the unknown type \'functioncall\'. Did you mean {"type": "function_call", "call_id": "…"',
        ),
        (
            {"type": "text", "text": "x"},
            'is only a part. Did you mean {"role": "user", "content": [{"type": "text"',
        ),
        (
            {"role": "user", "content": [{"type": "txt", "text": "x"}]},
            'has a part of the unknown type \'txt\'. Did you mean {"type": "text", "text": "…"}?',
        ),
        (
            {"role": "user", "content": [{"type": "tooluse", "id": "x"}]},
            'has a part of the unknown type \'tooluse\'. Did you mean {"type": "tool_use"',
        ),
        ({"role": "user", "content": ["a", 7]}, 'has a part that cannot be 7. Did you mean {"type": "text"'),
        (
            {"role": "user", "content": [{"type": "text", "txt": "x"}]},
            "has a text part without text. Did you mean",
        ),
        (
            {"role": "assistant", "tool_calls": [{"id": "c"}]},
            "has a tool call without a name: {'id': 'c'}. Did you",
        ),
        ({"role": "assistant", "tool_calls": ["f"]}, "has a tool call without a name: 'f'. Did you mean"),
        (
            {"role": "assistant", "tool_calls": {"id": "c"}},
            "has a \"tool_calls\" that is not a list: {'id': 'c'}.",
        ),
        (
            {"choices": [{"delta": {"content": "x"}}]},
            'has no "message" in its "choices". Give a whole ChatCompletion',
        ),
        ({"choices": []}, 'has no "message" in its "choices". Give a whole ChatCompletion'),
        (["a", "b", "c"], "is a list. Give one flat list of messages."),
        (None, 'cannot be None. Give text, a message such as {"role": "user", "content": "…"}'),
        (b"x", "cannot be b'x'. Give text, a message such as"),
        (object, "cannot be <class 'object'>. Give text"),
    ],
)
def test_unknown_shapes_show_the_nearest_known_one(message: object, expected: str) -> None:
    with pytest.raises(InputError) as caught:
        to_records(["fine", message])
    assert str(caught.value).startswith(f"Message 2 {expected}")


@pytest.mark.parametrize("what", [None, 7, 7.5, True, b"x", bytearray(b"x"), object(), str])
def test_what_is_no_message_says_what_is_taken(what: object) -> None:
    with pytest.raises(
        InputError, match=r"^A message cannot be .*Give text, a message such as .* or a list of these"
    ):
        to_records(what)


def test_one_message_that_fails_is_named_also_when_it_comes_alone() -> None:
    with pytest.raises(InputError, match=r'^Message 1 has no "role"'):
        to_records({"rol": "user", "content": "x"})


def json_values(depth: int) -> st.SearchStrategy[object]:
    """Draw what could come from outside: known names and types in unknown places."""
    names = (
        "role type content text parts choices message object output data tool_calls name id arguments source url"
    )
    words = "user assistant tool text image function_call tool_result web_search_call message human response x"
    leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.sampled_from(words.split()) | st.text()
    if depth == 0:
        return leaves
    inner = json_values(depth - 1)
    return (
        leaves | st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(names.split()), inner, max_size=5)
    )


@given(json_values(4))
def test_whatever_comes_gives_records_or_an_input_error(what: object) -> None:
    try:
        records = to_records(what)
    except InputError:
        return
    assert all(isinstance(record, Record) for record in records)


# Objects


def test_any_dataclass_or_model_with_these_fields_is_read() -> None:
    @dataclass
    class Mine:
        role: str
        content: str
        timestamp: datetime

    class Dumps:
        def model_dump(self) -> dict[str, object]:
            return {"role": "assistant", "content": "x"}

    assert to_records([Mine("user", "x", NOON), Dumps()]) == [UserMessage("x", at=NOON), AssistantMessage("x")]


def test_no_sdk_and_no_pydantic_is_imported() -> None:
    for module in (messages, message_parts):
        tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
        imported = {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        imported |= {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
        roots = {name.partition(".")[0] for name in imported}
        assert roots <= {*sys.stdlib_module_names, "lifelong"}
