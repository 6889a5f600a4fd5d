"""F5: `/docs` describes every operation and value of the API, from its own OpenAPI document."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from lifelong.memory import Store
from lifelong.serve.http.app import api, create_app


@pytest.mark.parametrize("token", ["", "the-token-of-the-server"])
def test_the_page_has_every_operation_and_value(tmp_path: Path, token: str) -> None:
    """And is behind the guard."""
    document = api().openapi()
    with (
        Store.open(tmp_path) as store,
        TestClient(create_app(store, token=token), base_url="http://localhost", follow_redirects=False) as client,
    ):
        if token:
            assert client.get("/docs").status_code == 401
            assert client.get("/docs", headers={"accept": "text/html"}).headers["location"].startswith("/login")
        page = client.get("/docs", headers={"authorization": f"Bearer {token}"}).text
    operations = [(path, one) for path, methods in document["paths"].items() for one in methods.values()]
    for path, operation in operations:
        part = page.partition(f'id="{operation["operationId"]}"')[2].partition("</details>")[0]
        assert path in part
        assert f"{operation['operationId']}, {operation['x-scope']}" in part
    anchors = set(re.findall(r'id="(\w+)"', page))
    assert {*document["components"]["schemas"]} <= anchors
    assert set(re.findall(r'href="#(\w+)"', page)) <= anchors
    assert not re.findall(r"(?:src|href)=\"(?:https?:)?//", page), "nothing comes from elsewhere"
    assert "<script>" not in page
    assert "`" not in page
    assert "the query parameter <code>user</code>" in page
