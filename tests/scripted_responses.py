"""A scripted model on loopback that speaks OpenAI's Responses, whole or as a stream."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.model_servers import ModelServer, Reply


class ResponsesServer(ModelServer):
    """`ModelServer` for `/v1/responses`. Each item that it sends has an id, and each text of two words or more
    comes after a reasoning item, as from a reasoning model."""

    def __enter__(self) -> Self:
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.model = self
        self._running = threading.Thread(target=self._server.serve_forever, args=(0.02,), daemon=True)
        self._running.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stopping.set()
        self._server.shutdown()
        self._running.join()
        self._server.server_close()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.server_address[1]}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    model: ModelServer


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        reply = self.server.model.answer(asked, {})
        response = _response(asked, reply, len(self.server.model.requests))
        if asked.get("stream") and reply.status == 200:
            body = b"".join(_events(response))
            kind = "text/event-stream"
        else:
            body, kind = reply.body or json.dumps(response).encode(), "application/json"
        self.send_response(reply.status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Keep quiet."""


def _response(asked: dict[str, Any], reply: Reply, number: int) -> dict[str, Any]:
    output: list[dict[str, Any]] = []
    if " " in reply.text:
        thought = {"type": "reasoning", "id": f"rs_{number}", "summary": [], "encrypted_content": "gAAAA" * 9}
        output.append(thought)
    if reply.text:
        text = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        message = {"type": "message", "id": f"msg_{number}", "status": "completed", "role": "assistant"}
        output.append({**message, "content": [text]})
    output += [
        {
            "type": "function_call",
            "id": f"fc_{number}_{place}",
            "call_id": f"call_{number}_{place}",
            "name": made.tool,
            "arguments": json.dumps(made.arguments),
            "status": "completed",
        }
        for place, made in enumerate(reply.calls)
    ]
    return {
        "id": f"resp_{number}",
        "object": "response",
        "created_at": 1_700_000_000,
        "status": "completed",
        "model": asked["model"],
        "output": output,
        "parallel_tool_calls": True,
        "tool_choice": "auto",
        "tools": [],
        "usage": {
            "input_tokens": 10,
            "input_tokens_details": {"cached_tokens": 0, "cache_write_tokens": 0},
            "output_tokens": 5,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 15,
        },
    }


def _events(response: dict[str, Any]) -> Iterator[bytes]:
    started = {**response, "status": "in_progress", "output": []}
    events: list[dict[str, Any]] = [{"type": "response.created", "response": started}]
    for place, item in enumerate(response["output"]):
        events.append({"type": "response.output_item.added", "output_index": place, "item": item})
        if item["type"] == "message":
            text = {"type": "response.output_text.delta", "item_id": item["id"], "output_index": place}
            events.append({**text, "content_index": 0, "delta": item["content"][0]["text"], "logprobs": []})
        events.append({"type": "response.output_item.done", "output_index": place, "item": item})
    events.append({"type": "response.completed", "response": response})
    for number, event in enumerate(events):
        yield f"event: {event['type']}\ndata: {json.dumps({**event, 'sequence_number': number})}\n\n".encode()
