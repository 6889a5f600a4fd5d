"""`python -m bench append` runs one part, `python -m bench all` every one."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from io import TextIOWrapper
from pathlib import Path

from bench import (
    append,
    cli,
    everyday,
    fire,
    forget,
    hook,
    importing,
    journal,
    llm,
    lookups,
    organize,
    peers,
    quality,
    recall,
    scale,
    secrets,
    serve,
    trust,
    uniqueness,
    users,
    vectors,
)

PARTS: Mapping[str, Callable[[], dict[str, float]]] = {
    "append": append.run,
    "organize": organize.run,
    "journal": journal.run,
    "vectors": vectors.run,
    "quality": quality.run,
    "recall": recall.run,
    "forget": forget.run,
    "import": importing.run,
    "uniqueness": uniqueness.run,
    "cli": cli.run,
    "hook": hook.run,
    "serve": serve.run,
    "users": users.run,
    "scale": scale.run,
    "peers": peers.run,
    "everyday": everyday.run,
    "lookups": lookups.run,
    "llm": llm.run,
    "secrets": secrets.run,
    "trust": trust.run,
    "fire": fire.run,
}

RESULTS = Path(__file__).parent / "results"


def main(arguments: Sequence[str]) -> int:
    wanted = arguments[0] if len(arguments) == 1 else "?"
    if wanted != "all" and wanted not in PARTS:
        print(f"Name one part of the benchmark: {', '.join(PARTS)}, or all.", file=sys.stderr)
        return 2
    _leave_settings_behind()
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(line_buffering=True)  # a log of what takes long is read meanwhile
    for name in PARTS if wanted == "all" else (wanted,):
        _write(name, PARTS[name]())
    return 0


def _leave_settings_behind() -> None:
    """What is measured are the defaults, whatever the environment says."""
    for name in list(os.environ):
        if name.startswith("LIFELONG_") and name != "LIFELONG_BENCH_DATA":
            del os.environ[name]


def _write(part: str, figures: Mapping[str, float]) -> None:
    RESULTS.mkdir(exist_ok=True)
    target = RESULTS / f"{part}.json"
    target.write_text(json.dumps({key: round(value, 4) for key, value in figures.items()}, indent=2) + "\n")
    print(f"Written to {target}")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
