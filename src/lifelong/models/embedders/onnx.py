"""A transformer from a local folder: `model.onnx` (there or in `onnx/`) and `tokenizer.json`. Needs the extra
`onnx`; downloads nothing.

Windows are run one by one. Together they were at most a fifth faster on two cores, and an int8 model rounds by
the largest number in the batch, so that a text's vector would depend on its neighbours (cosines down to 0.994).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lifelong.errors import ConfigError, ModelError
from lifelong.models.embedders.base import Identity, Lazy, Windowed, fingerprint

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from tokenizers import Encoding, Tokenizer

INSTALL = "embeddings.provider is 'onnx', but its package is missing. Install it: pip install 'lifelong[onnx]'."
MAX_WINDOW_TOKENS = 512  # tokens in a window, where the tokenizer does not say
MAX_TEXT_BYTES = 32_768  # of a text: some sixteen windows of English, seconds on a small machine
FEEDS = {"input_ids": "ids", "attention_mask": "attention_mask", "token_type_ids": "type_ids"}


class _Model(NamedTuple):
    session: Any  # an onnxruntime.InferenceSession, which has no types
    tokenizer: Tokenizer
    version: str


class OnnxEmbedder(Windowed["Encoding"]):
    """`pooling` says how tokens' vectors become one: their mean, or the first's (`cls`), as the model was trained.
    An output that is one vector a text already is taken as it is."""

    def __init__(
        self,
        path: Path,
        pooling: Literal["mean", "cls"] = "mean",
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        super().__init__(query_prefix, document_prefix, MAX_TEXT_BYTES)
        self._path, self._pooling = path, pooling
        self._model, self._identity = Lazy(self._load), Lazy(self._identify)

    @property
    def identity(self) -> Identity:
        return self._identity()

    def _windows(self, prefix: str, text: str) -> list[Encoding]:
        whole = self._model().tokenizer.encode(prefix + text)
        return [whole, *whole.overflowing]

    def _run(self, windows: Sequence[Encoding]) -> NDArray[Any]:
        import numpy as np

        dimensions = self.identity.dimensions
        return np.array([self._vector(window, dimensions) for window in windows]).reshape(-1, dimensions)

    def _vector(self, window: Encoding, dimensions: int = 0) -> NDArray[Any]:
        import numpy as np

        session = self._model().session
        try:
            feed = {one.name: np.array([getattr(window, FEEDS[one.name])]) for one in session.get_inputs()}
            output = np.asarray(session.run(None, feed)[0][0], np.float64)
            if output.ndim == 2:
                output = output[0] if self._pooling == "cls" else output.mean(axis=0)
            if output.shape == (dimensions or len(output),) and np.isfinite(output).all():
                return output
            reason = "its output is not a vector for each token or text"
        except Exception as error:  # onnxruntime's have no base of their own
            reason = f"{type(error).__name__}: {error!s:.300}"
        raise ModelError(f"The model in {self._path} cannot be used: {reason}. Export it for feature extraction.")

    def _identify(self) -> Identity:
        """Run the model once, to learn how long its vectors are and that it works."""
        model = self._model()
        version = fingerprint(model.version, self._pooling, self._document_prefix)
        return Identity("onnx", version, len(self._vector(model.tokenizer.encode("a"))))

    def _load(self) -> _Model:
        try:
            from onnxruntime import InferenceSession  # type: ignore[import-untyped]
            from tokenizers import Tokenizer
        except ImportError:
            raise ConfigError(INSTALL) from None
        file, spec = self._path / "model.onnx", self._path / "tokenizer.json"
        file = file if file.is_file() else self._path / "onnx" / "model.onnx"
        try:
            tokenizer = Tokenizer.from_file(str(spec))
            session = InferenceSession(str(file), providers=["CPUExecutionProvider"])
            # A large model keeps its numbers in files beside it.
            version = fingerprint(spec, file, *sorted(file.parent.glob("model.onnx?data*")))
        except Exception as error:  # neither package has a base for its own
            raise ConfigError(
                f"embeddings.path is {self._path}, where no model can be read: {error!s:.300}. "
                "Put model.onnx and tokenizer.json there."
            ) from error
        tokenizer.no_padding()
        tokenizer.enable_truncation((tokenizer.truncation or {}).get("max_length", MAX_WINDOW_TOKENS))
        return _Model(session, tokenizer, version)
