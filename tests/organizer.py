"""A process that organizes until it is ended. Made to be killed.

    python tests/organizer.py HOME STORAGE_JSON

Its organizer copies the number of every record into two documents, so that a record that came twice, never or out
of order is seen, and so is a changeset that landed by halves.
"""

from __future__ import annotations

import json
import random
import sys
import time

from lifelong import LifelongError, Memory
from lifelong.organize.draft import Draft
from lifelong.organize.organizer import RunResult, Transcript
from lifelong.testing import log_records

QUICKLY = {"tick_seconds": 0.02, "lease_seconds": 0.5, "retry_seconds": 0.05, "max_attempts": 1000}


class CopyingOrganizer:
    """Takes its time, now and then longer than a lease lasts without a heartbeat."""

    name = "copying"

    def __init__(self, longest: float = 0.02) -> None:
        self._longest = longest

    def blocked_reason(self) -> str:
        return ""

    def status_notes(self) -> list[str]:
        return []

    def organize(self, transcript: Transcript, draft: Draft) -> RunResult:
        log_records(transcript, draft, f"left-{transcript.agent_id}")
        time.sleep(random.uniform(0, self._longest))
        log_records(transcript, draft, f"right-{transcript.agent_id}")
        return RunResult("DONE")


def main(home: str, storage: str) -> None:
    with Memory.open(home, storage=json.loads(storage), organizer=CopyingOrganizer(), worker=QUICKLY) as memory:
        memory.start()
        print("ready", flush=True)
        while True:
            try:
                memory.organize()
            except LifelongError as error:
                print(f"error {type(error).__name__} {error}", flush=True)
            time.sleep(0.01)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
