"""The HTTP API, and what stands in front of it."""
