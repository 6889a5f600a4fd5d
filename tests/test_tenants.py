"""C0, R16: a home serves any number of users with one pool of connections, threads and caches."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="descriptors are counted in /proc, which Linux has"
)

SERVE = """
import json, os, resource, sys, threading
from lifelong import Store
from lifelong.vectors import local

home, users, limit = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
local.SEGMENT_ROWS, local.MAX_OPEN_SEGMENTS = 2, 8  # so that each user has files that are mapped
resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
on = {"journal_enabled": True, "experience_store_enabled": True, "memory_compaction_enabled": True}
seen = []

def look():
    seen.append((len(os.listdir("/proc/self/fd")), threading.active_count()))

with Store.open(home, continuity=on, storage={"synchronous": "normal"}) as store:
    for number in range(users):
        memory = store.user(f"user-{number}")
        memory.add([
            {"role": "user", "content": f"I live in Town{number} with my cat. I prefer tea."},
            {"role": "assistant", "content": "Noted."},
            {"role": "user", "content": "We decided to paint the house blue, because it is bright."},
        ])
        memory.end_session()
        memory.journal.remember(f"The house of user {number} is blue now.", "learned")
        memory.experiences.add(f"User {number} painted the house blue, because it is bright.")
        look()
    store.user().organize()
    for number in range(users):
        memory = store.user(f"user-{number}")
        assert f"Town{number}" in memory.search("Where do I live? Town")[0].text
        assert f"Town{number}" in memory.context("Where do I live?")
        look()
    store.start()
    store.user("user-0").add("I moved to Porto.")
    store.user("user-0").organize()
    look()
    assert store.user("user-0").admin.health().status == "green"
print(json.dumps({"most": [max(each) for each in zip(*seen)], "few": seen[4], "many": seen[users - 1]}))
"""

WORK = """
import resource, sys
resource.setrlimit(resource.RLIMIT_NOFILE, (int(sys.argv[3]),) * 2)
from lifelong.serve.cli.app import main
sys.argv = ["lifelong", "worker", "--once", "--json", "--home", sys.argv[1]]
main()
"""


def run(script: str, home: Path, users: int, limit: int) -> dict[str, list[int]]:
    command = [sys.executable, "-c", script, str(home), str(users), str(limit)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    found: dict[str, list[int]] = json.loads(done.stdout)
    return found


def test_many_users_take_no_more_descriptors_and_threads_than_a_few(tmp_path: Path) -> None:
    """C0, R16: add, search, context and organize for each, with journal and experiences; under a limit that a
    descriptor or two for each user would exceed."""
    found = run(SERVE, tmp_path, 30, 32)
    assert found["many"][0] <= found["few"][0] + 2
    assert found["most"][1] <= 10, "threads"
    run(WORK, tmp_path, 30, 32)


@pytest.mark.soak
def test_a_thousand_users_under_a_common_limit(tmp_path: Path) -> None:
    """C0, R16: a server with `ulimit -n 128`, and then a worker."""
    found = run(SERVE, tmp_path, 1_000, 128)
    assert found["many"][0] <= found["few"][0] + 2
    assert found["most"][1] <= 10, "threads"
    run(WORK, tmp_path, 1_000, 128)
