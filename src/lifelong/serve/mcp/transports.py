"""What carries the server: the standard streams of a process, or an HTTP endpoint within another app."""

from __future__ import annotations

import json
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import types
from mcp.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from mcp.shared.message import SessionMessage
from pydantic import ValidationError
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from lifelong.collect.descriptors import Descriptor
from lifelong.memory import DEFAULT_USER, Store
from lifelong.serve.mcp.definition import server


def run_stdio(home: str | Path, user: str = DEFAULT_USER, agent: Descriptor | None = None) -> None:
    """Serve one client over standard input and output, until it goes. The memory is opened once. It also organizes
    what is collected, since nobody else may; several such processes share the work."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)  # a thread that waits for input could not be interrupted
    with Store.open(home) as store:
        store.user(user).start()
        anyio.run(_serve, server(store, user, agent))


async def _serve(served: Server[dict[str, Any]]) -> None:
    """The SDK passes over a line that it cannot read, and the client would wait for ever: we tell it so."""
    async with stdio_server() as (reads, writes), anyio.create_task_group() as group:
        readable, heard = anyio.create_memory_object_stream[SessionMessage | Exception](0)

        async def sift() -> None:
            async with readable:
                async for item in reads:
                    if isinstance(item, ValidationError):
                        await writes.send(SessionMessage(_unreadable(item)))
                    else:
                        await readable.send(item)

        group.start_soon(sift)
        await served.run(heard, writes, served.create_initialization_options())


def _unreadable(error: ValidationError) -> types.JSONRPCError:
    given = error.errors()[-1]["input"]  # the line; or, where it is JSON, what it says
    try:
        number = (json.loads(given) if isinstance(given, str) else given)["id"]
    except (ValueError, RecursionError, TypeError, LookupError):
        number = None
    told = types.ErrorData(code=types.PARSE_ERROR, message=f"The line is no JSON-RPC: {error.errors()[0]['msg']}.")
    return types.JSONRPCError(jsonrpc="2.0", id=number if isinstance(number, int | str) else None, error=told)


def http_app(store: Store) -> Endpoint:
    """The server as an ASGI app, to be put at a path of another one. It is used within `run`:

        endpoint = http_app(store)
        app.router.routes.append(Route("/mcp", endpoint))  # a Mount would redirect /mcp to /mcp/
        async with endpoint.run(): ...                     # around the app's life, in its lifespan

    It checks neither Host nor Origin nor a token: what stands before it does.
    """
    return Endpoint(server(store))


class Endpoint:
    """Streamable HTTP. No request depends on one before it, so that a restart ends nobody's session."""

    def __init__(self, served: Server[dict[str, Any]]) -> None:
        self._server = served
        self._sessions: StreamableHTTPSessionManager | None = None

    @asynccontextmanager
    async def run(self) -> AsyncIterator[None]:
        """Answer requests until the block ends. It may be run again."""
        # The SDK knows only the hosts it was told at the start; ours are checked before.
        validate_before = TransportSecuritySettings(enable_dns_rebinding_protection=False)
        sessions = StreamableHTTPSessionManager(
            self._server, json_response=True, stateless=True, security_settings=validate_before
        )
        async with sessions.run():
            self._sessions = sessions
            try:
                yield
            finally:
                self._sessions = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if not self._sessions:
            raise RuntimeError("The MCP endpoint does not run. Enter Endpoint.run() in the app's lifespan.")
        if scope["method"] == "POST":
            await self._sessions.handle_request(scope, receive, send)
        else:  # a stream of news, which there are none of, would only hold up the server's end
            await Response("Only POST is answered here.\n", 405, {"Allow": "POST"})(scope, receive, send)
