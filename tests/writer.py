"""A process that appends, and says on its standard output what was acknowledged. Made to be killed.

    python tests/writer.py HOME STORAGE_JSON NAME COUNT

Each acknowledged record is a line `ok <id> <agent> <text>`. An error that the writer met is a line
`error <class> <message>`, after which it tries the same again, a record with the same key.
"""

from __future__ import annotations

import itertools
import json
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar

from lifelong import LifelongError, Memory, User, UserMessage

T = TypeVar("T")


def main(home: str, storage: str, name: str, count: int) -> None:
    with Memory.open(home, storage=json.loads(storage)) as memory:
        agents = [memory.agent(User("cli", name, f"channel-{number}")) for number in range(3)]
        say("ready")
        for number in itertools.islice(itertools.count(), count or None):
            agent = agents[number % 3]
            text = f"{name} says {number}"
            record_id = insist(partial(memory.append, agent, UserMessage(text), key=text))
            say(f"ok {record_id} {agent.id} {text}")
            if number % 40 == 39:
                insist(partial(memory.sessions.reset, agent, "a new day"))
            if number % 50 == 49:
                insist(partial(memory.end_session, agent))


def insist(call: Callable[[], T]) -> T:
    while True:
        try:
            return call()
        except LifelongError as error:
            say(f"error {type(error).__name__} {error}")
            time.sleep(0.05)


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]))
