"""The HTTP API (FastAPI): a routes file a noun, one guard before all of it, one place for errors."""
