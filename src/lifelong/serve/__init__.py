"""Serve: the command line, the HTTP API, the page, the MCP server, the worker, and the hook for coding agents."""
