"""A scripted model on loopback, that speaks OpenAI's Chat Completions and Anthropic's Messages over real HTTP; the
latter also as a stream, where that is asked for."""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from lifelong.organize.llm import PROBE

MOST_REQUESTS = 200
"""A script that never ends must not run a test for ever."""


@dataclass(frozen=True)
class Call:
    """A tool call. `arguments` as text is sent as it is, whatever it holds (OpenAI only)."""

    tool: str
    arguments: dict[str, Any] | list[Any] | str = field(default_factory=dict)


@dataclass(frozen=True)
class Reply:
    """What the model answers: text and tool calls; or, with `body`, these very bytes."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    status: int = 200
    body: bytes | None = None
    wait: float = 0.0
    hold: threading.Event | None = None  # what it waits for, before
    input_tokens: int | None = 1_000
    output_tokens: int = 100
    cached: int = 0  # of the input
    stop: str = ""  # why it ends, where that is neither its end nor a call (Anthropic only)
    headers: dict[str, str] = field(default_factory=dict)


def say(text: str, **more: Any) -> Reply:
    return Reply(text, **more)


def call(tool: str, arguments: dict[str, Any] | list[Any] | str | None = None, **more: Any) -> Reply:
    return Reply(calls=(Call(tool, {} if arguments is None else arguments),), **more)


def refuse(status: int, message: str = "no", **more: Any) -> Reply:
    body = json.dumps({"type": "error", "error": {"type": "an_error", "message": message}}).encode()
    return Reply(status=status, body=body, **more)


Script = Sequence[Reply] | Callable[[dict[str, Any]], Reply]
"""The replies in order, or what makes one of each request. A list that is used up says so as an error 500."""


class ModelServer:
    """Serves until the `with` ends. `requests` holds what was asked, `headers` how."""

    def __init__(self, script: Script) -> None:
        self._script = script
        self._gate = threading.Lock()
        self.stopping = threading.Event()
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []

    def __enter__(self) -> Self:
        self._http = _Server(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._http.shutdown()
        self._thread.join()
        self._http.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}"

    def base_url(self, provider: str) -> str:
        return self.url if provider == "anthropic" else f"{self.url}/v1"

    def answer(self, asked: dict[str, Any], headers: dict[str, str]) -> Reply:
        with self._gate:
            number = len(self.requests)
            self.requests.append(asked)
            self.headers.append(headers)
            if number >= MOST_REQUESTS:
                return refuse(500, "the test asked too often")
            if callable(self._script):
                return self._script(asked)
            return self._script[number] if number < len(self._script) else refuse(500, "the script is used up")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer

    def handle_error(self, *_: object) -> None:
        """A client that hung up is part of the test."""


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        reply = self.server.model.answer(asked, headers | {":path": self.path})
        if reply.hold:
            reply.hold.wait(60)
        if reply.wait:
            self.server.model.stopping.wait(reply.wait)
        body, kind = reply.body, "application/json"
        if body is None and self.path.startswith("/v1/messages"):
            message = anthropic(asked, reply)
            body = json.dumps(message).encode()
            if asked.get("stream"):
                body, kind = b"".join(_events(message)), "text/event-stream"
        elif body is None:
            body = json.dumps(openai(asked, reply)).encode()
        self.send_response(reply.status)
        for name, value in {"content-type": kind, **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def openai(asked: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """The reply as a chat completion."""
    message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
    if reply.calls:
        message["tool_calls"] = [
            {
                "id": f"call_{number}_{len(asked['messages'])}",
                "type": "function",
                "function": {
                    "name": made.tool,
                    "arguments": made.arguments if isinstance(made.arguments, str) else json.dumps(made.arguments),
                },
            }
            for number, made in enumerate(reply.calls)
        ]
    answer: dict[str, Any] = {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "created": 1_700_000_000,
        "model": asked["model"],
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls" if reply.calls else "stop"}],
    }
    if reply.input_tokens is not None:
        answer["usage"] = {
            "prompt_tokens": reply.input_tokens,
            "completion_tokens": reply.output_tokens,
            "total_tokens": reply.input_tokens + reply.output_tokens,
            "prompt_tokens_details": {"cached_tokens": reply.cached},
        }
    return answer


def anthropic(asked: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """The reply as a message."""
    content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
    content += [
        {
            "type": "tool_use",
            "id": f"toolu_{number}_{len(asked['messages'])}",
            "name": made.tool,
            "input": made.arguments,
        }
        for number, made in enumerate(reply.calls)
    ]
    return {
        "id": "msg_1",
        "type": "message",
        "role": "assistant",
        "model": asked["model"],
        "content": content,
        "stop_reason": reply.stop or ("tool_use" if reply.calls else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": (reply.input_tokens or 0) - reply.cached,
            "cache_read_input_tokens": reply.cached,
            "output_tokens": reply.output_tokens,
        },
    }


def _events(message: dict[str, Any]) -> Iterator[bytes]:
    """Yield a message of Anthropic's in pieces: its texts word by word, the arguments of its calls in halves."""

    def event(kind: str, **about: Any) -> bytes:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **about})}\n\n".encode()

    usage = message["usage"]
    yield event(
        "message_start",
        message=message | {"content": [], "stop_reason": None, "usage": usage | {"output_tokens": 1}},
    )
    for index, block in enumerate(message["content"]):
        if block["type"] == "text":
            begun, pieces = {**block, "text": ""}, re.findall(r"\S+\s*|\s+", block["text"])
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
        else:
            given = json.dumps(block["input"])
            half, begun = len(given) // 2, {**block, "input": {}}
            deltas = [
                {"type": "input_json_delta", "partial_json": piece} for piece in (given[:half], given[half:])
            ]
        yield event("content_block_start", index=index, content_block=begun)
        for delta in deltas:
            yield event("content_block_delta", index=index, delta=delta)
        yield event("content_block_stop", index=index)
    end = {"stop_reason": message["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=end, usage={"output_tokens": usage["output_tokens"]})
    yield event("message_stop")


def results(asked: dict[str, Any]) -> list[str]:
    """What the tools gave back, as the request tells it, oldest first."""
    found: list[str] = []
    for message in asked["messages"]:
        if message["role"] == "tool":
            found.append(_text(message["content"]))
        elif isinstance(message["content"], list):
            found += [_text(part["content"]) for part in message["content"] if part["type"] == "tool_result"]
    return found


def told(asked: dict[str, Any]) -> str:
    """What the user said last, as the request tells it."""
    said = [_text(message["content"]) for message in asked["messages"] if message["role"] == "user"]
    return said[-1]


def is_probe(asked: dict[str, Any]) -> bool:
    """Whether it is the short question that is asked where the model may be out."""
    return told(asked) == PROBE


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    return "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
