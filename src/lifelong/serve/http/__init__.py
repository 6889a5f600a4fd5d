"""The HTTP API, and the guard in front of it."""
