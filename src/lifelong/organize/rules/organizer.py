"""The offline organizer: no key, no download, the same outcome each time."""

from __future__ import annotations

from lifelong.organize.draft import Draft
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.organize.rules.filing import Filing
from lifelong.organize.rules.statements import find_statements


class RulesOrganizer:
    """Finds durable statements by rule and files them. `instead_of` says why it does the work of a model
    that was asked for."""

    name = "rules"

    def __init__(self, density: float, *, instead_of: str = "") -> None:
        self._density = density
        self._instead_of = instead_of

    def blocked_reason(self) -> str:
        return ""

    def status_note(self) -> str:
        return f"The rules organize instead of the model: {self._instead_of}" if self._instead_of else ""

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        filing = Filing(draft)
        filing.file(find_statements(transcript, density=self._density))
        pages = filing.write()
        refused = f" {filing.refused} were refused: data is nobody's word." if filing.refused else ""
        if not pages:
            return RunResult(f"NOTHING TO KEEP.{refused}")
        return RunResult(
            f"DONE: {filing.added} claim(s) added, {filing.merged} cited again, {filing.ended} ended, "
            f"in {pages} document(s).{refused}"
        )
