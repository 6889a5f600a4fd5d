"""Answer errors as `application/problem+json` (RFC 9457). The only place where errors get a status."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import Request
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.exceptions import HTTPException
from starlette.responses import Response

from lifelong import errors
from lifelong.serve.error_hints import with_hint
from lifelong.serve.hidden_paths import error_text
from lifelong.serve.operation import operation_of

log = logging.getLogger("lifelong.serve")

MEDIA_TYPE = "application/problem+json"

STATUSES: Mapping[type[Exception], int] = {
    errors.InputError: 422,
    errors.ConfigError: 409,  # the request is right; what it asks for is switched off
    LookupError: 404,
    errors.StaleWrite: 409,
    errors.ReviewDecided: 409,
    errors.NotAPerson: 403,
    errors.AccessDenied: 403,
    errors.DocumentInUse: 409,
    errors.AgentDead: 409,
    errors.StorageConflict: 409,
    errors.ModelError: 502,
    errors.DailyCapExceeded: 503,
    errors.MemoryClosed: 503,
    errors.StorageBusy: 503,
    errors.StorageUnavailable: 503,
    errors.OutcomeUnknown: 503,
    errors.StorageFull: 507,
}
"""The nearest base class of an error decides. One that is not listed is a 500, which says nothing more."""

INTERNAL_ERROR = "Something went wrong in the server. Its log says what."
MAX_FAULTS = 20
MAX_FAULT_CHARS = 200


class Fault(BaseModel):
    """One thing that is wrong with a request: where, and what."""

    where: str = Field(examples=["body.text"])
    what: str = Field(examples=["Field required"])


class Problem(BaseModel):
    """Why a request failed. `detail` says what happened and what to do next."""

    type: str = Field(examples=["urn:lifelong:stale-write"])
    title: str = Field(examples=["Stale write"])
    status: int = Field(examples=[409])
    detail: str = Field(examples=["The document changed since it was read. Read it again."])
    faults: list[Fault] = Field(default=[], description="What is wrong with the request, where it did not fit.")


class Refused(Exception):
    """Raised where the guard refuses a request."""

    def __init__(self, status: int, detail: str, **headers: str) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers


def answer(error: Exception, words: Callable[[errors.LifelongError], str] | None = None) -> Response:
    """Return the answer to an error. `words` says an error of lifelong in other words than its own."""
    match error:
        case Refused():
            return _answer(error.status, error.detail, headers=error.headers)
        case HTTPException(status_code=404):
            return _answer(404, "There is nothing at this address. See /docs for what there is.")
        case HTTPException():
            detail = f"{error.detail}. See /docs for what this address takes."
            return _answer(error.status_code, detail, headers=error.headers or {})
        case RequestValidationError():
            faults = [_fault(one) for one in error.errors()[:MAX_FAULTS]]
            wrong = "; ".join(f"{fault.where}: {fault.what}" for fault in faults[:3])
            if error.body and isinstance(error.body, bytes):
                wrong = "a body is only read with content-type: application/json"
            return _answer(422, f"The request does not fit: {wrong}. Nothing was changed.", "Input error", faults)
        case errors.LifelongError() if (status := status_of(error)) != 500:
            title = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(error).__name__).capitalize()
            return _answer(status, words(error) if words else with_hint(error, "http"), title)
    log_error(error)
    return _answer(500, INTERNAL_ERROR)


def _fault(found: Mapping[str, Any]) -> Fault:
    """Return what FastAPI or pydantic found wrong, in plain words."""
    where, what = ".".join(map(str, found["loc"])), found["msg"]
    match found["type"]:
        case "extra_forbidden":
            what = "Unknown field"
        case "value_error":
            what = what.removeprefix("Value error, ")
        case "json_invalid":
            where, what = "body", f"Not JSON, at character {found['loc'][-1] + 1}: {found['ctx']['error']}"
    return Fault(where=where[:MAX_FAULT_CHARS], what=what[:MAX_FAULT_CHARS])


def status_of(error: errors.LifelongError) -> int:
    return next((STATUSES[kind] for kind in type(error).__mro__ if kind in STATUSES), 500)


def log_error(error: Exception) -> None:
    """Log what a 500 does not say."""
    log.error("a request failed: %s", error, exc_info=error)


async def handle(request: Request, error: Exception) -> Response:
    """Answer an error of the API."""
    store, grant = request.app.state.store, operation_of(request.scope).grant
    return answer(error, lambda found: error_text(found, "http", store, grant))


def _answer(
    status: int,
    detail: str,
    title: str = "",
    faults: list[Fault] | None = None,
    headers: Mapping[str, str] | None = None,
) -> Response:
    title = title or HTTPStatus(status).phrase
    name = re.sub(r"[^a-z]+", "-", title.lower())
    problem = Problem(type=f"urn:lifelong:{name}", title=title, status=status, detail=detail, faults=faults or [])
    return Response(problem.model_dump_json(), status, headers, MEDIA_TYPE)


STATUSES_ANYWHERE = (400, 401, 403, 404, 405, 408, 409, 413, 422, 429, 500, 502, 503, 507)

ANYWHERE: dict[int | str, dict[str, Any]] = {
    status: {"description": HTTPStatus(status).phrase} for status in STATUSES_ANYWHERE
}
"""What any operation may answer instead of a success."""


def describe(document: dict[str, Any]) -> None:
    """Describe problems in an OpenAPI document, once for all operations, and the token that may be required."""
    schemas = models_json_schema(
        [(Problem, "serialization")], ref_template="#/components/schemas/{model}", by_alias=True
    )[1]["$defs"]
    parts = document["components"]
    parts["schemas"] |= schemas
    content = {MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/Problem"}}}
    parts["responses"] = {f"problem{status}": {**words, "content": content} for status, words in ANYWHERE.items()}
    parts["securitySchemes"] = {"token": {"type": "http", "scheme": "bearer"}}
    document["security"] = [{"token": []}, {}]
    for operation in (one for path in document["paths"].values() for one in path.values()):
        for status in STATUSES_ANYWHERE:
            operation["responses"][str(status)] = {"$ref": f"#/components/responses/problem{status}"}
