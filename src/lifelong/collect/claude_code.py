"""What the transcripts of coding agents say: what a person wrote, without what the host added, and the keys that
a hook's event and an import of the same transcript share.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b

from lifelong.types import AssistantMessage, UserMessage

MAX_TEXT_CHARS = 100_000  # that a hook stores of a prompt, a reply or what a tool gave

INTERRUPTED = "[Request interrupted"
_HOST_TAG = re.compile(
    r"<((?:command|local-command|bash)-[a-z-]+|ide_[a-z_]+|system-reminder|task-notification|teammate-message"
    r"|hook_context)[\s>]"
)
"""The tags of what the host adds to a person's message, or sends instead of one."""


def channel_of(session: str, folder: str) -> str:
    """Return what a host's session is called as an agent: each is one of its own, and ends with its folder."""
    return f"{session}:{folder}" if session else folder


def turn_key(*identity: str) -> str:
    """Return the idempotency key of a text where the host has an id for its turn: of the session, the turn, the
    type of the record, and the text."""
    return f"hook-{blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest()}"


class TextKeys:
    """Make the idempotency keys of the prompts and replies of a session. A key is made of the session, and of the
    position of a text among the equal texts of the whole transcript: a prompt comes to a hook before the host has
    written it to the transcript, so the id of the transcript's entry cannot be its key."""

    def __init__(self, session: str) -> None:
        self._session = session
        self._earlier: dict[tuple[str, str], int] = {}

    def key(self, kind: type[UserMessage | AssistantMessage], text: str) -> str:
        """Return the key of a text in the turn that is under way."""
        identity = json.dumps([self._session, kind.type, text, self._earlier.get((kind.type, text), 0)])
        return f"hook-{blake2b(identity.encode(), digest_size=16).hexdigest()}"

    def end_turn(self, prompt: str, reply: str) -> None:
        """Note that a turn was answered or interrupted."""
        for key in ((UserMessage.type, prompt), (AssistantMessage.type, reply)):
            self._earlier[key] = self._earlier.get(key, 0) + 1


def text_of_message(content: object) -> str:
    """Return the text of a message; nothing if it is a tool's."""
    if isinstance(content, list):
        blocks = [block for block in content if isinstance(block, dict)]
        if any(block.get("type") == "tool_result" for block in blocks):
            return ""
        content = "\n\n".join(str(block.get("text", "")) for block in blocks if block.get("type") == "text")
    return clean_text(content)


def without_host_text(text: str, tags: re.Pattern[str] = _HOST_TAG) -> str:
    """Return what a person wrote of a message, without what the host added between such tags."""
    kept, start, absent = "", 0, set()
    for opened in tags.finditer(text):
        closing = f"</{opened[1]}>"
        if opened.start() < start or closing in absent:
            continue
        if (end := text.find(closing, opened.end())) < 0:
            absent.add(closing)  # search once: a text may open thousands of tags that nothing closes
        else:
            kept += text[start : opened.start()]
            start = end + len(closing)
    return (kept + text[start:]).strip()


def clean_text(value: object) -> str:
    """Return text that every database accepts, cut to MAX_TEXT_CHARS."""
    if not isinstance(value, str):
        return ""
    text = value.replace("\0", "").encode("utf-8", "replace").decode().strip()
    return text if len(text) <= MAX_TEXT_CHARS else f"{text[:MAX_TEXT_CHARS]} [… cut]"
