"""A scripted model on loopback for clients of OpenAI's Chat Completions that may ask for a stream."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from tests.model_servers import ModelServer, Reply, openai, say

KNOWS, KNOWS_NOT = "Take pasta: nuts are out.", "I don't know."


def scripted(answer: Callable[[dict[str, Any]], Reply]) -> ModelServer:
    """A server that answers with what `answer` makes of a request, as a stream where that is asked for."""

    def reply(asked: dict[str, Any]) -> Reply:
        given = answer(asked)
        if not asked.get("stream") or given.body is not None:
            return given
        body = "".join(f"data: {json.dumps(one)}\n\n" for one in _chunks(openai(asked, given)))
        return replace(
            given, body=f"{body}data: [DONE]\n\n".encode(), headers={"content-type": "text/event-stream"}
        )

    return ModelServer(reply)


def about_nuts(asked: dict[str, Any]) -> Reply:
    """Answer a question about dinner, for which one must know of an allergy."""
    return say(KNOWS if "allergic to nuts" in texts(asked) else KNOWS_NOT)


def texts(asked: dict[str, Any]) -> str:
    """All that a request says, as one text."""
    return json.dumps(asked["messages"], ensure_ascii=False)


def _chunks(whole: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield a completion in pieces: each word of its text, its calls, and why it ends."""
    (choice,) = whole["choices"]
    message = choice["message"]
    calls = [{"index": at, **one} for at, one in enumerate(message.get("tool_calls", ()))]
    deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
    deltas += [{"content": f"{word} "} for word in (message["content"] or "").split()]
    deltas += [{"tool_calls": calls}] if calls else []
    for delta in deltas:
        yield whole | {"object": "chat.completion.chunk", "choices": [{"index": 0, "delta": delta}], "usage": None}
    last = {"index": 0, "delta": {}, "finish_reason": choice["finish_reason"]}
    yield whole | {"object": "chat.completion.chunk", "choices": [last]}
