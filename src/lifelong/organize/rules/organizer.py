"""The offline organizer: no key, no download, the same result each time."""

from __future__ import annotations

from lifelong.organize.draft import Draft
from lifelong.organize.organizer import RunResult, Transcript


class RulesOrganizer:
    """Finds durable statements by rule and files them. `instead_of` says why it is used instead of the model that
    was configured."""

    name = "rules"

    def __init__(self, density: float, *, instead_of: str = "") -> None:
        self._density = density
        self._instead_of = instead_of

    def blocked_reason(self) -> str:
        return ""

    def status_notes(self) -> list[str]:
        return [f"The rules organize instead of the model: {self._instead_of}"] if self._instead_of else []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        from lifelong.organize.rules.filing import Filing  # its tables take a while, and few processes organize
        from lifelong.organize.rules.statements import find_statements

        filing = Filing(draft)
        filing.file(find_statements(transcript, density=self._density))
        pages = filing.write()
        refused = f" {filing.refused} were refused: the source is a tool or a web page." if filing.refused else ""
        if not pages:
            return RunResult(f"NOTHING TO KEEP.{refused}")
        return RunResult(
            f"DONE: {filing.added} fact(s) added, {filing.merged} cited again, {filing.ended} ended, "
            f"in {pages} document(s).{refused}"
        )
