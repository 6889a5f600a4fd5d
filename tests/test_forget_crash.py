"""S6: a process that is killed while it forgets leaves nothing half done: the next one that opens the home
finishes it, the words are nowhere, and nothing else is lost.

Run as a program this file is the process that is killed:

    python -m tests.test_forget_crash HOME STORAGE NUMBER
"""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from lifelong import Memory, Store
from lifelong.testing import FakeClock
from tests.test_forget import EVERYTHING_ON, assert_gone, facts_of, markers, texts_of

BEGIN = datetime(2026, 1, 5, 9, 0, tzinfo=UTC)


def words(number: int) -> tuple[str, str, str]:
    person, place = markers(number)
    return person, place, f"Wz{person[2:-4]}gade"


def open_home(home: Path, storage: dict[str, Any]) -> Store:
    clock = FakeClock(BEGIN + timedelta(days=400))
    return Store.open(home, clock=clock, storage=storage, continuity=EVERYTHING_ON)


def tell(memory: Memory, number: int) -> None:
    """Have a part of a history: what was said, a line, an experience, a document, all with the part's words."""
    person, place, street = words(number)
    memory.add(f"My neighbour {person} works at {place} as a nurse.")
    memory.add({"role": "assistant", "content": f"I noted that {person} is at {place}."})
    memory.add(f"{person} moved to {street} last week, and the boxes are still in the hall.")
    memory.end_session()
    memory.organize()
    memory.experiences.extract()
    memory.documents.write(
        slug=f"page-{number}", title=f"Page {number}", description="", body=f"By hand: {person} likes tea."
    )


def fill(memory: Memory, parts: int) -> None:
    for number in range(parts):
        tell(memory, number)
        if number % 10 == 9:
            memory.journal.compact(force=True)
    memory.organize()


def forget(memory: Memory, number: int) -> bool:
    return memory.forget(about=words(number)[0]).complete


def main(home: Path, storage: dict[str, Any], number: int) -> None:
    with open_home(home, storage) as store:
        memory = store.user("mara")
        memory.search("Who moved last week?")
        print("ready", flush=True)
        sys.stdin.readline()
        forget(memory, number)
        print("done", flush=True)


def killed(home: Path, storage: dict[str, Any], number: int, after: float) -> bool:
    """Forget a part in a process, and kill it so many seconds later. Return whether it was done before."""
    command = [sys.executable, "-m", "tests.test_forget_crash", str(home), json.dumps(storage), str(number)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=Path(__file__).parent.parent
    ) as victim:
        assert victim.stdin
        assert victim.stdout
        try:
            assert victim.stdout.readline() == "ready\n"
            victim.stdin.write("\n")
            victim.stdin.flush()
            time.sleep(after)
        finally:
            victim.kill()
        return "done" in victim.stdout.read()


def check_rest(memory: Memory, before: dict[int, str], facts: set[str], gone: set[int], forgotten: str) -> None:
    """All that does not hold the words is as it was."""
    assert {id_: text for id_, text in before.items() if id_ not in gone} == texts_of(memory)
    left = {*facts_of(memory)}
    assert {text for text in facts if forgotten not in text} == left


@pytest.mark.parametrize("kills", [2, pytest.param(50, marks=pytest.mark.soak)])
def test_what_a_killed_process_forgot_is_forgotten(tmp_path: Path, storage: dict[str, Any], kills: int) -> None:
    """S6: SIGKILL at random points, one part of the history after the other."""
    kills = min(kills, 10) if storage.get("url") else kills
    home, chance = tmp_path / "home", random.Random(kills)
    with open_home(home, storage) as store:
        fill(store.user("mara"), kills + 3)
        started = time.perf_counter()
        assert forget(store.user("mara"), kills)
        takes = time.perf_counter() - started
    interrupted = 0
    for number in range(kills):
        with open_home(home, storage) as store:
            memory = store.user("mara")
            before, facts = texts_of(memory), {*facts_of(memory)}
        done = killed(home, storage, number, chance.uniform(0, 1.3) * takes)
        person, *_ = marked = words(number)
        holding = {id_ for id_, text in before.items() if any(word in text for word in marked)}
        with open_home(home, storage) as store:
            memory = store.user("mara")
            if not store.user("mara").admin.forgotten() or {*texts_of(memory)} == {*before}:
                assert not done
                assert {*facts_of(memory)} == facts, "killed before anything was stored: nothing went"
                assert forget(memory, number)
            else:
                interrupted += not done
            assert not memory._parts.shared.resume_erasures(), "opening the home finished it"
            assert_gone(memory, *marked)
            check_rest(memory, before, facts, holding, person)
            memory.organize()
            assert_gone(memory, *marked)
            assert memory.admin.health().status == "green", memory.admin.health()
            assert not memory.admin.verify()
            kept = words(kills + 1)[1]
            assert kept in memory.search(kept)[0].text
    assert interrupted or kills < 10, "some were killed in the middle"


if __name__ == "__main__":
    main(Path(sys.argv[1]), json.loads(sys.argv[2]), int(sys.argv[3]))
