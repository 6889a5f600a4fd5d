"""The memory for clients of the Model Context Protocol: one server, over stdio and over streamable HTTP."""

from lifelong.serve.mcp.definition import server
from lifelong.serve.mcp.transports import Endpoint, http_app, run_stdio

__all__ = ["Endpoint", "http_app", "run_stdio", "server"]
