"""The command line called in this process, which costs no second a call."""

from __future__ import annotations

import io
import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lifelong.serve.cli import main


class Answer(NamedTuple):
    """What a command printed, and how it ended."""

    code: object
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


class Line:
    """`line("recall", "tea")` is what a person writes after `lifelong`."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._capsys = capsys
        self._monkeypatch = monkeypatch

    def __call__(self, *words: str | Path | int, piped: str | bytes = "") -> Answer:
        data = piped if isinstance(piped, bytes) else piped.encode()
        self._monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data), encoding="utf-8"))
        with pytest.raises(SystemExit) as ended:
            main([str(word) for word in words])
        printed = self._capsys.readouterr()
        return Answer(ended.value.code, printed.out, printed.err)

    def done(self, *words: str | Path | int, piped: str | bytes = "") -> Answer:
        """The same, of what must go well."""
        answer = self(*words, piped=piped)
        assert answer.code == 0, answer
        assert answer.err == ""
        return answer
