"""Pick one, who turns text into vectors: `static` (bundled), `onnx` (a local file), `openai` (an endpoint)."""
