"""A process that adds experiences, each of which drives out another. Made to be killed.

    python tests/evictor.py HOME STORAGE_JSON MOST NAME

Each experience that was added is a line `ok <id>`.
"""

from __future__ import annotations

import itertools
import json
import sys

from lifelong import Memory


def main(home: str, storage: str, most: int, name: str) -> None:
    settings = {"experience_store_enabled": True, "experience_max_count": most}
    with Memory.open(home, storage=json.loads(storage), continuity=settings) as memory:
        for number in itertools.count():
            id_ = memory.experiences.add(f"In run {name} the deploy number {number} took {number * 7} seconds.")
            sys.stdout.write(f"ok {id_}\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
