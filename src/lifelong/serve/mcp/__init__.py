"""The memory for clients of the Model Context Protocol: one server, over stdio and over streamable HTTP."""

from lifelong.serve.mcp.server import Endpoint, http_app, make_server, run_stdio

__all__ = ["Endpoint", "http_app", "make_server", "run_stdio"]
