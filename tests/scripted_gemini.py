"""What a scripted Gemini on loopback answers."""

from __future__ import annotations

import json
from typing import Any

from tests.model_servers import Reply


def gemini(*parts: dict[str, Any], stream: bool = False) -> Reply:
    """A reply of these parts; as a stream, in an event for each."""

    def answer(some: list[dict[str, Any]]) -> dict[str, Any]:
        return {"candidates": [{"content": {"role": "model", "parts": some}, "finishReason": "STOP"}]}

    if not stream:
        return Reply(body=json.dumps(answer([*parts])).encode())
    body = "".join(f"data: {json.dumps(answer([one]))}\r\n\r\n" for one in parts)
    return Reply(body=body.encode(), headers={"content-type": "text/event-stream"})


def said(asked: dict[str, Any]) -> str:
    """All that a request says, as one text."""
    return json.dumps(asked, ensure_ascii=False)
