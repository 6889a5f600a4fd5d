"""An endpoint that speaks OpenAI's `/v1/embeddings`: OpenAI, Ollama, and most servers of one's own. Over the
standard library's HTTP, so that it needs no package. The texts leave this machine."""

from __future__ import annotations

import http.client
import json
import re
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from lifelong.errors import ConfigError, ModelError
from lifelong.models.embedders.base import Identity, Lazy, Windowed, fingerprint

if TYPE_CHECKING:
    from numpy.typing import NDArray

ADDRESS = re.compile(r"(https?://[\w.\-]+|https?://\[[\da-fA-F:]+\])(:\d+)?(/[!-~]*)?", re.ASCII)
MAX_TEXT_BYTES = 65_536  # of a text
MAX_ANSWER_BYTES = 2**26
MAX_ATTEMPTS = 4
FIRST_BACKOFF_SECONDS = 0.5  # seconds before the second attempt; twice as many before each further one
TEMPORARY_STATUSES = {408, 409, 425, 429}  # and everything from 500

CHECK_ADDRESS = "Check embeddings.model (with Ollama, pull it first) and embeddings.base_url."
CHECK_KEY = "Set embeddings.api_key to a key of this server."
HINTS = dict.fromkeys((401, 403), CHECK_KEY) | dict.fromkeys((301, 302, 303, 307, 308, 404, 405), CHECK_ADDRESS)


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the key to another address."""

    def redirect_request(self, *_: Any) -> None:
        return None


class OpenAIEmbedder(Windowed):
    """`timeout_seconds` is for a batch with all its attempts. `dimensions`, where given, is asked of the server;
    otherwise the first answer says how many there are."""

    def __init__(
        self,
        model: str,
        base_url: str,
        *,
        api_key: str = "",
        dimensions: int | None = None,
        query_prefix: str = "",
        document_prefix: str = "",
        batch: int = 64,
        window_bytes: int = 8_000,
        timeout_seconds: float = 60.0,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        if not (address := ADDRESS.fullmatch(base_url)):
            raise ConfigError("embeddings.base_url must be an address like 'http://localhost:11434/v1'.")
        if not model.strip():
            raise ConfigError("embeddings.model is empty. Name one that the server knows, as 'nomic-embed-text'.")
        if not re.fullmatch(r"[!-~]*", api_key):
            raise ConfigError("embeddings.api_key holds a character that no key has. Copy it again.")
        super().__init__(query_prefix, document_prefix, MAX_TEXT_BYTES)
        self._model, self._url, self._key = model, f"{base_url.rstrip('/')}/embeddings", api_key
        self._label = f"{model} at {address[1]}{address[2] or ''}"
        self._asked_for, self._batch, self._window = dimensions, batch, window_bytes
        self._timeout, self._sleep = timeout_seconds, sleep
        self._open = urllib.request.build_opener(_NoRedirect).open
        self._dimensions = Lazy(lambda: dimensions or self._embed_batch(["a"]).shape[1])

    @property
    def identity(self) -> Identity:
        """Return an identity in which the address stands for the server's weights, which cannot be seen."""
        version = fingerprint(self._url, self._document_prefix, str(self._asked_for))
        return Identity(f"openai/{self._model}", version, self._dimensions())

    def _windows(self, text: str, *, asked: bool) -> list[str]:
        prefix = self._query_prefix if asked else self._document_prefix
        return [prefix + piece for piece in cut(text, self._window)]

    def _run(self, windows: Sequence[str], *, asked: bool) -> NDArray[Any]:
        import numpy as np

        rows = [np.zeros((0, self._dimensions()))]
        for start in range(0, len(windows), self._batch):
            rows.append(self._embed_batch(windows[start : start + self._batch]))
            if rows[-1].shape[1] != self._dimensions():
                raise ModelError(
                    f"{self._label} gave vectors of {rows[-1].shape[1]} dimensions, not of {self._dimensions()}. "
                    "Check embeddings.dimensions; where the server's model was changed, open the memory again."
                )
        return np.concatenate(rows)

    def _embed_batch(self, texts: Sequence[str]) -> NDArray[Any]:
        """Return the server's vector for each text, asking again where that may help."""
        until, reason = time.monotonic() + self._timeout, ""
        for attempt in range(MAX_ATTEMPTS):
            wait = FIRST_BACKOFF_SECONDS * 2**attempt
            try:
                return self._vectors(self._post(texts, until), len(texts))
            except urllib.error.HTTPError as error:
                reason = self._error_text(error)
                after = error.headers.get("Retry-After", "")
                wait = max(wait, float(after)) if re.fullmatch(r"[0-9]{1,6}", after) else wait
            except (OSError, http.client.HTTPException) as error:
                reason = self._one_line(str(error) or type(error).__name__)
            if attempt + 1 == MAX_ATTEMPTS or time.monotonic() + wait >= until:
                break
            self._sleep(wait)
        raise ModelError(f"{self._label} gave no vectors: {reason}. Look whether it runs, and try again later.")

    def _post(self, texts: Sequence[str], until: float) -> bytes:
        asked: dict[str, Any] = {"model": self._model, "input": [*texts], "encoding_format": "float"}
        asked |= {"dimensions": self._asked_for} if self._asked_for else {}
        headers = {"Content-Type": "application/json", "User-Agent": "lifelong"}
        headers |= {"Authorization": f"Bearer {self._key}"} if self._key else {}
        request = urllib.request.Request(self._url, json.dumps(asked).encode(), headers)
        answer = bytearray()
        with self._open(request, timeout=max(until - time.monotonic(), 0.001)) as response:
            while len(answer) < MAX_ANSWER_BYTES and (part := response.read1(65_536)):
                answer += part
                if time.monotonic() > until:
                    raise TimeoutError("the answer took too long")
            if response.length:
                raise http.client.IncompleteRead(bytes(answer), response.length)
        return bytes(answer)

    def _error_text(self, error: urllib.error.HTTPError) -> str:
        """Return what a refusal says where asking again may help; raise it otherwise."""
        try:
            with error:
                reason = f"{error.code} {self._one_line(error.read(2_000).decode('utf-8', 'replace'))}".strip()
        except (OSError, http.client.HTTPException):
            reason = str(error.code)
        if error.code >= 500 or error.code in TEMPORARY_STATUSES:
            return reason
        if error.code in HINTS:
            raise ConfigError(f"{self._label} refused: {reason}. {HINTS[error.code]}") from None
        hint = "Check embeddings.model, and what length it takes (embeddings.window_bytes)."
        raise ModelError(f"{self._label} refused: {reason}. {hint}") from None

    def _vectors(self, answer: bytes, count: int) -> NDArray[Any]:
        import numpy as np

        try:
            data = json.loads(answer)["data"]
            placed = {one.get("index", place): one["embedding"] for place, one in enumerate(data)}
            rows = np.array([placed[place] for place in range(count)], np.float64)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
            rows, data = np.zeros(0), []
        if rows.ndim != 2 or len(data) != count or not rows.size or not np.isfinite(rows).all():
            raise ModelError(
                f"{self._label} did not answer with a vector for each text. Check that embeddings.base_url leads "
                "to an API like OpenAI's, and that the model makes embeddings."
            )
        return rows

    def _one_line(self, text: str) -> str:
        """Return what the server reason, in one line, without the key."""
        text = " ".join(text.split())
        return (text.replace(self._key, "[key]") if self._key else text)[:300].rstrip(".")


def cut(text: str, size: int) -> list[str]:
    """Return the text in pieces of at most so many bytes, cut at blanks where possible."""
    data, pieces, start = text.encode(), list[str](), 0
    while start < len(data):
        end = start + size
        if end < len(data):
            blank = data.rfind(b" ", start + 1, end + 1)
            end = blank if blank > 0 else end
            while data[end] & 0xC0 == 0x80:  # within a character
                end -= 1
        pieces.append(data[start:end].decode().strip())
        start = end
    return pieces
