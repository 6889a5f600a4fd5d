"""A transformer on this machine, by the package fastembed (the extra `embeddings`): a model by its name, which is
downloaded once, or a folder with an ONNX file and its tokenizer.

fastembed adds no words before texts, so those that its models were trained with stand here. Windows are run one by
one: an int8 model rounds by the largest number in a batch, so that a text's vector would depend on its neighbours
(cosines down to 0.994), and together they were at most a fifth faster on two cores.
"""

from __future__ import annotations

import contextlib
import difflib
import importlib.util
import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from lifelong.errors import ConfigError, ModelError
from lifelong.models.embedders.base import Identity, Lazy, Windowed, fingerprint

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

DEFAULT_MODEL = "snowflake/snowflake-arctic-embed-s"
ALIASES = {"": DEFAULT_MODEL, "multilingual": "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"}
MAX_WINDOW_TOKENS = 512  # a longer window costs the square of its length
MAX_TEXT_BYTES = 32_768  # of a text: some sixteen windows of English, seconds on a small machine
INSTALL = (
    "embeddings.provider is 'fastembed', but its package is missing. "
    "Install it: pip install 'lifelong[embeddings]'."
)

SEARCHING = "Represent this sentence for searching relevant passages: "
PREFIXES = {
    "baai/bge-small-zh": ("为这个句子生成表示以用于检索相关文章：", ""),  # noqa: RUF001
    "baai/bge-": (SEARCHING, ""),
    "mixedbread-ai/mxbai-embed-": (SEARCHING, ""),
    "snowflake/snowflake-arctic-embed-": (SEARCHING, ""),
    "nomic-ai/nomic-embed-": ("search_query: ", "search_document: "),
    "intfloat/multilingual-e5-": ("query: ", "passage: "),
    "google/embeddinggemma-": ("task: search result | query: ", "title: none | text: "),
    "qwen/qwen3-embedding-": (
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
        "",
    ),
}
"""The words before a question and before a text, by how a model's name begins, as its authors say."""

Pooling = Literal["", "mean", "cls", "last", "none"]
POOLINGS = {"mean": "MEAN", "cls": "CLS", "last": "LAST_TOKEN", "none": "DISABLED"}
POOLING_KEYS = {"pooling_mode_cls_token": "cls", "pooling_mode_lasttoken": "last"}


class _Model(NamedTuple):
    embedding: TextEmbedding
    splitter: Tokenizer
    version: str
    query_prefix: str
    document_prefix: str


class FastEmbedder(Windowed):
    """`model` is a name that fastembed knows, `path` a folder to read instead of downloading; with both, the
    folder holds that model. `pooling` says how tokens' vectors become one in a folder without a name. What is
    empty follows from the name, or from what the folder says."""

    def __init__(
        self,
        model: str = "",
        path: Path | None = None,
        pooling: Pooling = "",
        query_prefix: str = "",
        document_prefix: str = "",
    ) -> None:
        if not importlib.util.find_spec("fastembed"):
            raise ConfigError(INSTALL)
        super().__init__(query_prefix, document_prefix, MAX_TEXT_BYTES)
        self._name, self._path, self._pooling = model.strip(), path, pooling
        self._name = self._name if path and not self._name else ALIASES.get(self._name.lower(), self._name)
        self._model, self._identity = Lazy(self._load), Lazy(self._identify)

    @property
    def identity(self) -> Identity:
        return self._identity()

    def _windows(self, text: str, *, asked: bool) -> list[str]:
        model = self._model()
        prefix = model.query_prefix if asked else model.document_prefix
        whole = model.splitter.encode(text, add_special_tokens=False)
        if not whole.overflowing:
            return [prefix + text]
        parts = [part.offsets for part in (whole, *whole.overflowing)]
        return [prefix + text[part[0][0] : part[-1][1]] for part in parts]

    def _run(self, windows: Sequence[str], *, asked: bool) -> NDArray[Any]:
        import numpy as np

        dimensions = self.identity.dimensions
        return np.array([*self._vectors(windows, asked, dimensions)]).reshape(-1, dimensions)

    def _vectors(self, windows: Sequence[str], asked: bool, dimensions: int = 0) -> list[NDArray[Any]]:
        import numpy as np

        embedding = self._model().embedding
        embed = embedding.query_embed if asked else embedding.passage_embed
        try:
            rows = [np.asarray(row, np.float64) for row in embed(list(windows), batch_size=1)]
            if all(row.shape == (dimensions or len(row),) and np.isfinite(row).all() for row in rows):
                return rows
            reason = "its output is not a vector for each text"
        except Exception as error:  # onnxruntime's have no base of their own
            reason = f"{type(error).__name__}: {error!s:.300}"
        raise ModelError(
            f"The model {self._label} cannot be used: {reason}. Check embeddings.pooling, and that the model was "
            "exported for feature extraction."
        )

    @property
    def _label(self) -> str:
        return f"in {self._path}" if self._path else self._name

    def _identify(self) -> Identity:
        """Run the model once, to learn how long its vectors are and that it works."""
        model = self._model()
        version = fingerprint(model.version, model.document_prefix)
        return Identity("fastembed", version, len(self._vectors(["a"], False)[0]))

    # Loading

    def _load(self) -> _Model:
        import fastembed
        from loguru import logger
        from tokenizers import Tokenizer

        logger.disable("fastembed")  # it writes to the terminal whatever it tries; what fails is raised
        name, file, folder, pooling = self._found()
        try:
            embedding = fastembed.TextEmbedding(name, cache_dir=str(folder), specific_model_path=str(folder))
            tokenizer = folder / "tokenizer.json"
            splitter = Tokenizer.from_file(str(tokenizer))
            weights = folder / file
            # A large model keeps its numbers in files beside it.
            beside = sorted(weights.parent.glob(f"{weights.name}?data*"))
            version = fingerprint(tokenizer, weights, *beside, type(embedding.model).__name__, pooling)
        except Exception as error:  # neither package has a base for its own
            raise ConfigError(
                f"The model {self._label} cannot be read: {error!s:.300}. A folder holds the ONNX file with "
                "tokenizer.json and tokenizer_config.json, as models are published."
            ) from error
        wanted = _prefixes(self._name, folder)
        query_prefix, document_prefix = self._query_prefix or wanted[0], self._document_prefix or wanted[1]
        inner: Any = embedding.model
        longest = min(inner.tokenizer.truncation["max_length"], MAX_WINDOW_TOKENS)
        splitter.no_padding()
        used = max(len(splitter.encode(prefix).ids) for prefix in (query_prefix, document_prefix))
        splitter.enable_truncation(max(longest - used, 1))
        return _Model(embedding, splitter, version, query_prefix, document_prefix)

    def _found(self) -> tuple[str, str, Path, str]:
        """Return the name under which fastembed knows the model, its file, its folder, and the pooling of a model
        that has no name."""
        from fastembed import TextEmbedding

        if self._name:
            known = {one["model"]: one["model_file"] for one in TextEmbedding.list_supported_models()}
            name = next((one for one in known if one.lower() == self._name.lower()), "")
            if not name:
                raise ConfigError(f"Unknown embeddings.model {self._name!r}. {_nearest(self._name, known)}")
            folder = self._path or self._downloaded(name)
            if not (folder / known[name]).is_file():
                raise ConfigError(
                    f"embeddings.path is {folder}, where {known[name]} of {name} is missing. Put it there, or "
                    "leave embeddings.model empty for a model of your own."
                )
            return name, known[name], folder, ""
        assert self._path
        return self._registered(self._path)

    def _downloaded(self, name: str) -> Path:
        """Return the folder of a model, asking the network only for one that is not here yet."""
        from fastembed import TextEmbedding

        cache = os.environ.get("FASTEMBED_CACHE_PATH") or _cache_folder()
        try:
            Path(cache).mkdir(parents=True, exist_ok=True)
            return TextEmbedding.download_model(TextEmbedding._get_model_description(name), str(cache), retries=1)
        except Exception as error:  # of the network, of the disk, of the hub
            raise ModelError(
                f"The model {name} is not in {cache} and cannot be downloaded: {error!s:.200} Check the network "
                "(huggingface.co must be reachable), or bring its folder here and name it in embeddings.path."
            ) from error

    def _registered(self, folder: Path) -> tuple[str, str, Path, str]:
        """Tell fastembed about the model of a folder, under a name that is made from all that it must know."""
        from fastembed import TextEmbedding
        from fastembed.common.model_description import ModelSource, PoolingType

        files = [*folder.glob("*.onnx"), *folder.glob("onnx/*.onnx")]
        best = next((file for file in files if file.name == "model.onnx"), files[0] if len(files) == 1 else None)
        if best is None:
            found = f"several ({', '.join(sorted(file.name for file in files))})" if files else "none"
            raise ConfigError(
                f"embeddings.path is {folder}, which must hold one model.onnx, there or in onnx/, and holds "
                f"{found}. Put it there with tokenizer.json and tokenizer_config.json."
            )
        file = best.relative_to(folder).as_posix()
        pooling = self._pooled(folder)
        name = f"lifelong/{fingerprint(str(folder), file, pooling)}"
        with contextlib.suppress(ValueError):  # it is known already
            TextEmbedding.add_custom_model(
                name, PoolingType(POOLINGS[pooling]), True, ModelSource(hf=name), dim=0, model_file=file
            )
        return name, file, folder, pooling

    def _pooled(self, folder: Path) -> str:
        """Return how tokens' vectors become one: as set, or as the folder of a sentence transformer says."""
        said = _json(folder / "1_Pooling" / "config.json")
        return self._pooling or next((way for key, way in POOLING_KEYS.items() if said.get(key)), "mean")


def _prefixes(name: str, folder: Path) -> tuple[str, str]:
    """Return the words that a model wants before a question and before a text, by its name, or as its folder says
    it."""
    known = (words for start, words in PREFIXES.items() if name.lower().startswith(start))
    prompts = _json(folder / "config_sentence_transformers.json").get("prompts")
    said = prompts if isinstance(prompts, dict) else {}
    return next(known, (str(said.get("query", "")), str(said.get("document") or said.get("passage") or "")))


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text("utf-8"))
    except (OSError, ValueError):
        found = None
    return found if isinstance(found, dict) else {}


def _nearest(name: str, known: Iterable[str]) -> str:
    """Return the known names that are most like this one, in a sentence."""
    spelled = {form: one for one in known for form in (one.lower(), one.lower().rpartition("/")[2])}
    near = list(dict.fromkeys(spelled[form] for form in difflib.get_close_matches(name.lower(), spelled, 6, 0.5)))
    return f"The nearest known: {', '.join((near or [DEFAULT_MODEL])[:3])}; or 'multilingual'."


def _cache_folder() -> Path:
    """Return where models are kept. fastembed's own default is a temporary folder."""
    return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "fastembed"
