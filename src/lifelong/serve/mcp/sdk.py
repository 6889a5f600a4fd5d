"""What differs between the major versions 1 and 2 of the MCP SDK. The types of both read the protocol's own names
(`inputSchema`), so what is sent is built with `model_validate`; the rest of the difference is here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager
from functools import partial
from importlib.metadata import version
from io import TextIOWrapper
from typing import Any, TypeAlias

import anyio
import mcp
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.shared.message import SessionMessage

Handler: TypeAlias = Callable[[Any, Any], Awaitable[Any]]

IS_FIRST = version("mcp").startswith("1.")
FIRST: Any = types  # names that only version 1 has

REQUESTS = {
    "list_tools": "ListToolsRequest",
    "call_tool": "CallToolRequest",
    "list_resources": "ListResourcesRequest",
    "list_resource_templates": "ListResourceTemplatesRequest",
    "read_resource": "ReadResourceRequest",
    "list_prompts": "ListPromptsRequest",
    "get_prompt": "GetPromptRequest",
    "set_logging_level": "SetLevelRequest",
}
"""What version 1 calls the requests that are answered, by what version 2 calls their handlers."""


def build_server(handlers: Mapping[str, Handler], *, title: str, instructions: str) -> Server[Any]:
    """Return a server; `handlers` has a function of the request's context and parameters for each of REQUESTS."""
    make: Any = partial(Server, "lifelong", version=version("lifelong"), instructions=instructions)
    if not IS_FIRST:
        with warnings.catch_warnings():  # that newer clients set no level; older ones do
            warnings.simplefilter("ignore")
            server: Any = make(title=title, **{f"on_{name}": handler for name, handler in handlers.items()})
        return server  # type: ignore[no-any-return]
    server = make()

    def adapted(handler: Handler) -> Callable[[Any], Awaitable[Any]]:
        async def handle(request: Any) -> Any:
            return FIRST.ServerResult(await handler(server.request_context, request.params))

        return handle

    for name, handler in handlers.items():
        server.request_handlers[getattr(FIRST, REQUESTS[name])] = adapted(handler)
    return server  # type: ignore[no-any-return]


def standard_streams() -> AbstractAsyncContextManager[Any]:
    """Return the streams of messages over standard input and output. Version 1 closes what it is given, so it gets
    copies."""
    if not IS_FIRST:
        return stdio_server()
    stdin, stdout = (
        anyio.wrap_file(TextIOWrapper(os.fdopen(os.dup(number), mode), encoding="utf-8", errors="replace"))
        for number, mode in ((0, "rb"), (1, "wb"))
    )
    return stdio_server(stdin, stdout)


def request_error(message: str) -> Exception:
    """Return the error that refuses a request."""
    if IS_FIRST:
        names: Any = mcp
        refusal: Exception = names.McpError(types.ErrorData(code=types.INVALID_PARAMS, message=message))
        return refusal
    return mcp.MCPError(types.INVALID_PARAMS, message)


def client_name(session: Any) -> str:
    """Return what a client called itself when it began; empty where it did not, or that was another request."""
    known = session.client_params
    if known is None:
        return ""
    return str((known.clientInfo if IS_FIRST else known.client_info).name)


def error_line(number: int | str | None, message: str) -> SessionMessage:
    """Return the answer to a line that cannot be read."""
    data = types.ErrorData(code=types.PARSE_ERROR, message=message)
    if IS_FIRST:  # which has no answer without a number, and leaves it out
        answer = types.JSONRPCError.model_construct(jsonrpc="2.0", id=number, error=data)
        return SessionMessage(FIRST.JSONRPCMessage.model_construct(answer))
    return SessionMessage(types.JSONRPCError(jsonrpc="2.0", id=number, error=data))
