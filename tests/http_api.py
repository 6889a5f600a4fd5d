"""Calls the HTTP API by the names of its operations, as its own OpenAPI document gives them."""

from __future__ import annotations

from typing import Any

from starlette.testclient import TestClient

API = "/api/v1"
MARA = {"kind": "user", "connector": "cli", "user_id": "mara", "channel_id": "main"}


class Api:
    def __init__(self, client: TestClient) -> None:
        self.client = client
        self.served: Any = client.app
        self.document: dict[str, Any] = client.get("/openapi.json").json()
        self.operations = {
            operation["operationId"]: (method, path)
            for path, methods in self.document["paths"].items()
            for method, operation in methods.items()
        }

    def __call__(self, operation: str, body: Any = None, *, status: int = 0, **given: Any) -> Any:
        """The answer: its JSON, or its text. `status`: the one that is expected; else, a success."""
        method, path = self.operations[operation]
        query = {name: value for name, value in given.items() if f"{{{name}}}" not in path}
        answer = self.client.request(method.upper(), path.format(**given), params=query, json=body)
        assert answer.status_code == status or (not status and answer.is_success), answer.text
        if status >= 400:
            assert answer.headers["content-type"] == "application/problem+json"
            assert answer.json()["status"] == status
        is_json = "json" in answer.headers.get("content-type", "") and answer.content
        return answer.json() if is_json else answer.text

    def agent(self, user: str = "default") -> str:
        made: str = self("get_or_make_agent", MARA, user=user)["id"]
        return made

    def say(self, agent: str, text: str, **given: Any) -> int:
        stored: str = self("add", {"text": text, "agent": agent}, **given)["ids"][0]
        return int(stored.removeprefix("r"))
