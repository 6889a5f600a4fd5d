"""F5: several servers as processes of their own on one PostgreSQL, each with a home of its own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import until
from tests.http_api import API

TOKEN = "the-token-of-both-servers"


class Process:
    """`lifelong serve` as one types it, with its settings in the environment."""

    def __init__(self, home: Path, storage: dict[str, Any], *options: str) -> None:
        home.mkdir()
        variables = {f"LIFELONG_STORAGE_{name.upper()}": str(value) for name, value in storage.items()}
        command = [sys.executable, "-m", "lifelong", "serve", "--home", str(home), "--port", "0", *options]
        self.process = subprocess.Popen(
            command, stdout=subprocess.PIPE, text=True, env={**os.environ, **variables, "LIFELONG_TOKEN": TOKEN}
        )
        assert self.process.stdout
        self.port = int(self.process.stdout.readline().partition("127.0.0.1:")[2].partition("/")[0])

    def ask(self, method: str, path: str, body: object = None, token: str = TOKEN) -> tuple[int, Any]:
        with closing(HTTPConnection("127.0.0.1", self.port, timeout=60)) as connection:
            headers = {"content-type": "application/json", "authorization": f"Bearer {token}"}
            connection.request(method, API + path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            return answer.status, json.loads(answer.read() or "null")

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate()


@pytest.fixture
def pair(tmp_path: Path, postgres_storage: dict[str, Any]) -> Iterator[tuple[Process, Process]]:
    one = Process(tmp_path / "one", postgres_storage)
    other = Process(tmp_path / "other", postgres_storage, "--no-worker")
    yield one, other
    one.end()
    other.end()


def test_two_servers_on_one_postgres(pair: tuple[Process, Process]) -> None:
    """F5, S8: what is added on one is found through the other at once; a token that one makes works on the other,
    and what one revokes the other refuses at once; both write one log."""
    one, other = pair
    status, made = one.ask("POST", "/tokens", {"user": "mara", "scope": "write"})
    assert status == 201
    status, added = other.ask("POST", "/add", {"text": "I moved to Lisbon in May."}, made["secret"])
    assert status == 201
    _, hits = one.ask("POST", "/search", {"query": "Lisbon"}, made["secret"])
    assert [hit["id"] for hit in hits] == added["ids"]
    assert one.ask("POST", "/end_session", {}, made["secret"])[0] == 204
    receipt = f"/receipt/{added['ids'][0]}"
    until(lambda: other.ask("GET", receipt, token=made["secret"])[1]["stage"] == "searchable")
    assert one.ask("DELETE", f"/tokens/{made['id']}")[0] == 200
    assert [server.ask("GET", "/list", token=made["secret"])[0] for server in pair] == [401, 401]

    def logged() -> list[tuple[str, str]]:
        _, log = other.ask("GET", "/admin/write_log")
        return [(entry["token"], entry["operation"]) for entry in log[::-1]]

    expected = [
        ("server", "create_token"),
        (made["id"], "add"),
        (made["id"], "end_session"),
        ("server", "revoke_token"),
    ]
    until(lambda: logged() == expected)
