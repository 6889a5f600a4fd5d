"""Pick one, who turns text into vectors: `static` (bundled), `fastembed` (a transformer), `openai` (a server)."""
