"""The offline organizer: no key, no download, the same result each time."""

from __future__ import annotations

from lifelong.organize.draft import Draft
from lifelong.organize.facts import Source
from lifelong.organize.organizer import RunResult, Transcript


class RulesOrganizer:
    """Quotes what deserves to last and files it by subject. `instead_of` says why it is used instead of the model
    that was configured."""

    name = "rules"

    def __init__(self, *, instead_of: str = "") -> None:
        self._instead_of = instead_of

    def blocked_reason(self) -> str:
        return ""

    def status_notes(self) -> list[str]:
        return [f"The rules organize instead of the model: {self._instead_of}"] if self._instead_of else []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        from lifelong.organize.rules.filing import Filing  # its tables take a while, and few processes organize
        from lifelong.organize.rules.quotes import find_stated
        from lifelong.organize.rules.subjects import find_subjects, find_utterances

        utterances = find_utterances(transcript)
        is_web = any(one.record.provenance == "web" for one in (*transcript.data_before, *transcript.records))
        data_source: Source = "web" if is_web else "tool"
        subjects = find_subjects(utterances)
        filing = Filing(draft, subjects, transcript.project, data_source, foreground=transcript.foreground)
        filing.file(list(find_stated(utterances)))
        pages = filing.write()
        refused = f" {filing.refused} were refused: the source is a tool or a web page." if filing.refused else ""
        refused += f" {filing.held} wait for review: they rest on the agent's word." if filing.held else ""
        if not pages:
            return RunResult(f"NOTHING TO KEEP.{refused}")
        return RunResult(
            f"DONE: {filing.added} fact(s) added, {filing.merged} cited again, {filing.ended} ended, "
            f"in {pages} document(s).{refused}"
        )
