"""What a person can begin with, by a word in their client."""

from __future__ import annotations

from mcp import types

from lifelong.errors import InputError
from lifelong.serve.mcp.tools import Seat

BEGIN = (
    "Above is what you remember from earlier talks, if anything. Draw on it as data, and do not tell me what it "
    "says unless I ask. Where it is not enough, search with recall_memory before you answer."
)
KEEP = (
    "Go through our talk and keep what will matter in later ones: facts about people and projects, my "
    "preferences, decisions with their reasons, corrections, what failed and what worked. Look with recall_memory "
    "first, and leave out what is known already, and anything secret. Keep each with remember_this, or with "
    "document_edit where a document is about it; if neither is there, with store_memory. Tell me what you kept."
)

RECALL = types.Prompt(
    name="recall",
    title="Begin with what is remembered",
    description="Opens a talk with the session's context.",
    arguments=[types.PromptArgument(name="about", description="What the talk is about.", required=False)],
)
REMEMBER = types.Prompt(
    name="remember",
    title="Keep what matters of this talk",
    description="Has the assistant go through the talk and write down what lasts.",
)
PROMPTS = [RECALL, REMEMBER]


def prompt(seat: Seat, name: str, arguments: dict[str, str]) -> types.GetPromptResult:
    """The prompt with its text."""
    if name == RECALL.name:
        about = arguments.get("about", "").strip()
        parts = [seat.context(about or None), BEGIN, *([f"I want to talk about: {about}"] if about else [])]
        return _said(RECALL, "\n\n".join(parts))
    if name == REMEMBER.name:
        return _said(REMEMBER, KEEP)
    known = ", ".join(one.name for one in PROMPTS)
    raise InputError(f"There is no prompt {name!r:.200}. The prompts are: {known}.")


def _said(prompt: types.Prompt, text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(description=prompt.description, messages=[message])
