"""The OpenAPI document is exact: whatever fits it and whatever does not gets an answer that it describes."""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis.errors import Unsatisfiable
from pydantic import ValidationError
from starlette.testclient import TestClient

from lifelong.memory import Store
from lifelong.serve.http import models
from lifelong.serve.http.app import create_app
from tests.http_api import Api

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    import schemathesis
    from schemathesis import GenerationMode
    from schemathesis.checks import not_a_server_error
    from schemathesis.python import asgi
    from schemathesis.specs.openapi import checks

EXAMPLES = 6
ADMIN = "the-token-of-the-server"  # the requests make tokens, and without one of its own the home would be closed
DESCRIBED = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
CHECKS = {
    GenerationMode.POSITIVE: DESCRIBED,
    GenerationMode.NEGATIVE: [*DESCRIBED, checks.negative_data_rejection],
}


@pytest.fixture(scope="module")
def app(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    on = {"journal_enabled": True, "experience_store_enabled": True}
    with Store.open(tmp_path_factory.mktemp("home"), continuity=on) as store:
        yield create_app(store, token=ADMIN, hosts=["testserver"])


def bearer(token: str) -> dict[str, str]:
    return {"authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def known(app: Any) -> dict[str, str]:
    """Names of what is there, so that not every request is about nothing."""
    with TestClient(app, headers=bearer(ADMIN)) as client:
        api = Api(client)
        agent = api.agent()
        api.say(agent, "My name is Mara, and I live in Lisbon.")
        document = api("make_document", {"slug": "a", "title": "A", "body": "One."})["id"]
        session = api("list_agent_sessions", agent_id=agent)[0]["id"]
    return {
        "agent_id": agent,
        "session_id": session,
        "document_id": document,
        "worker": "builder",
        "key": "a",
        "record": "r1",
    }


@pytest.mark.parametrize(
    ("mode", "scope"),
    [(GenerationMode.POSITIVE, "admin"), (GenerationMode.NEGATIVE, "admin"), (GenerationMode.POSITIVE, "read")],
)
def test_every_answer_is_described(app: Any, known: dict[str, str], mode: GenerationMode, scope: str) -> None:
    """No 500, no status, media type or body that the document does not know; what does not fit is refused.
    With the server's token, and with one of a user."""
    statuses: Counter[str] = Counter()
    store: Store = app.state.store
    headers = bearer(ADMIN if scope == "admin" else store.tokens.create("default", "read").secret)
    with asgi.get_client(app) as client:
        client.headers.update(headers)
        found: Any
        schema = schemathesis.openapi.from_asgi("/openapi.json", app, headers=headers)
        for found in schema.get_all_operations():
            operation = found.ok()
            if operation.definition.raw["operationId"] == "watch_events":  # it does not end
                continue

            @settings(
                max_examples=EXAMPLES,
                derandomize=True,
                deadline=None,
                database=None,
                suppress_health_check=list(HealthCheck),
            )
            @given(case=operation.as_strategy(generation_mode=mode))
            def ask(case: Any) -> None:
                if mode.is_positive:
                    case.path_parameters |= {name: known[name] for name in case.path_parameters if name in known}
                    case.query.pop("user", None)
                answer = case.call_and_validate(session=client, checks=CHECKS[mode])
                statuses[f"{answer.status_code // 100}xx"] += 1

            with suppress(Unsatisfiable):  # what takes nothing cannot be given anything wrong
                ask()
    assert statuses["4xx" if mode.is_negative else "2xx"] > 80
    assert scope == "admin" or statuses["4xx"] > 80, "what changes something is refused"


@pytest.mark.parametrize("path", ["/api/v1/search", "/api/v1/context"])
@pytest.mark.parametrize("wrong", [True, "7", 7.5])
def test_a_number_is_a_number(app: Any, path: str, wrong: Any) -> None:
    """Neither true nor a text is taken for how many."""
    name = "top_k" if path.endswith("search") else "tokens"
    body: dict[str, Any] = {"query": "Lisbon", name: wrong} if name == "top_k" else {name: wrong}
    with asgi.get_client(app) as client:
        assert client.post(path, json=body, headers=bearer(ADMIN)).status_code == 422
        assert client.post(path, json={**body, name: 7}, headers=bearer(ADMIN)).status_code == 200


def test_every_number_of_a_body_is_a_number(app: Any) -> None:
    """Also where a body may leave it out: true is not the recall 1."""
    asked = json.dumps(
        [operation.get("requestBody") for path in app.openapi()["paths"].values() for operation in path.values()]
    )
    names = dict.fromkeys(re.findall(r"#/components/schemas/(\w+)", asked))
    bodies: list[type[models.Body]] = [body for name in names if (body := getattr(models, name, None))]
    numbers = [
        (body, name)
        for body in bodies
        for name, shape in body.model_json_schema().get("properties", {}).items()
        if "integer" in {one.get("type") for one in (shape, *shape.get("anyOf", ()))}
    ]
    assert len(numbers) > 5
    for body, name in numbers:
        with pytest.raises(ValidationError) as caught:
            body.model_validate({name: True})
        assert (name,) in {one["loc"][:1] for one in caught.value.errors()}, (body, name)
