"""One contract, every embedder (R4), and what is particular to each."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import sys
import threading
import time
import zlib
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer, models, pre_tokenizers, processors

from lifelong.errors import ConfigError, InputError, LifelongError, ModelError
from lifelong.models.embedders import static
from lifelong.models.embedders.base import Embedder, Lazy
from lifelong.models.embedders.fastembed import ALIASES, DEFAULT_MODEL, PREFIXES, FastEmbedder
from lifelong.models.embedders.openai import OpenAIEmbedder, cut
from lifelong.models.embedders.static import StaticEmbedder
from lifelong.settings import Settings
from lifelong.testing import in_threads
from lifelong.wiring import open_embedder, open_embedders
from tests.model_servers import ModelServer, Reply, refuse

TEXTS = ["Anna went to Lisbon in March.", "The dog sleeps.", "我去年去了里斯本", "Der Hund schläft.", "نامت القطة"]
HOSTILE = ["\0", "\ud800 lone", "a" * 50_000, "<s></s>[CLS][SEP]", "🙂" * 9_000, "\u202e\u200d", "é\u0301" * 99]
DIMS = 8


class EmbedderContract:
    """What every `Embedder` keeps."""

    @pytest.fixture
    def embedder(self) -> Embedder:
        raise NotImplementedError

    def test_each_text_gets_a_row_of_length_1(self, embedder: Embedder) -> None:
        asked = np.array([embedder.embed_query(text, {}) for text in TEXTS])
        for rows in (embedder.embed(TEXTS), asked):
            assert rows.dtype == np.float32
            assert rows.shape == (len(TEXTS), embedder.identity.dimensions)
            assert np.allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)

    def test_no_text_gets_no_row(self, embedder: Embedder) -> None:
        assert embedder.embed([]).shape == (0, embedder.identity.dimensions)

    def test_a_blank_text_has_no_direction(self, embedder: Embedder) -> None:
        rows = embedder.embed(["", "The dog sleeps.", " \n\t "])
        assert [bool(row.any()) for row in rows] == [False, True, False]
        assert not embedder.embed_query("", {}).any()

    def test_a_text_gets_the_same_row_whatever_stands_beside_it(self, embedder: Embedder) -> None:
        together = embedder.embed([*TEXTS, " ".join(TEXTS * 5)])
        assert np.array_equal(together[: len(TEXTS)], np.concatenate([embedder.embed([one]) for one in TEXTS]))

    def test_line_breaks_and_blanks_do_not_count(self, embedder: Embedder) -> None:
        one, other = embedder.embed(["The dog\n\n sleeps.", " The dog sleeps. "])
        assert np.array_equal(one, other)

    def test_any_text_is_taken(self, embedder: Embedder) -> None:
        rows = [*embedder.embed(HOSTILE), *(embedder.embed_query(text, {}) for text in HOSTILE)]
        assert [float(np.linalg.norm(row)) for row in rows] == pytest.approx([1] * len(rows), abs=1e-5)

    def test_a_huge_text_is_cut(self, embedder: Embedder) -> None:
        huge = "the dog sleeps " * 300_000
        row, longer = embedder.embed([huge, huge + "Anna " * 100_000])
        assert np.array_equal(row, longer)

    def test_what_is_no_text_is_refused(self, embedder: Embedder) -> None:
        wrong: list[Any] = ["one text", [None], [b"bytes"], [1]]
        for texts in wrong:
            with pytest.raises(InputError, match="list of texts"):
                embedder.embed(texts)

    def test_threads_share_it_from_the_first_call_on(self, embedder: Embedder) -> None:
        rows = in_threads(8, lambda _: embedder.embed(TEXTS))
        assert all(np.array_equal(rows[0], other) for other in rows)

    def test_its_identity_is_written_as_name_version_dimensions(self, embedder: Embedder) -> None:
        identity = embedder.identity
        assert str(identity) == f"{identity.name}/{identity.version}/{embedder.embed(['a']).shape[1]}"
        assert identity == embedder.identity


class TestStatic(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> StaticEmbedder:
        return StaticEmbedder()

    def test_it_knows_what_is_alike(self, embedder: StaticEmbedder) -> None:
        about = ["My sister bought a car.", "We cooked pasta for dinner.", "The meeting moved to Tuesday."]
        questions = ["what vehicle was bought", "eating in the evening", "appointment"]
        found = np.array([embedder.embed_query(question, {}) for question in questions])
        assert (found @ embedder.embed(about).T).argmax(axis=1).tolist() == [0, 1, 2]

    def test_common_words_weigh_little(self, embedder: StaticEmbedder) -> None:
        dog, padded, other = embedder.embed(
            ["dog", "there was the dog, and it is", "there was the bank, and it is"]
        )
        assert dog @ padded > 0.8
        assert dog @ padded > padded @ other

    def test_a_question_is_made_of_its_words_by_their_weights(self, embedder: StaticEmbedder) -> None:
        plain = embedder.embed_query("Caroline's pottery", {})
        without = embedder.embed_query("Caroline's pottery", {"caroline": 0})
        assert np.array_equal(without, embedder.embed_query("pottery", {"pottery": 8.0}))
        assert np.array_equal(without, embedder.embed_query("Caroline\u2019s pottery", {"caroline": 0}))
        assert not np.array_equal(plain, without)
        less = embedder.embed_query("Caroline's pottery", {"caroline": 0.5})
        assert plain @ without < less @ without < 1
        own = embedder.embed_query("Caroline's pottery", {"caroline's": 0, "caroline": 1})
        assert np.array_equal(own, without), "the word as it stands comes first"
        assert not embedder.embed_query("Caroline", {"caroline": 0}).any()
        assert np.allclose(embedder.embed_query("the dog sleeps", {}), embedder.embed(["the dog sleeps"])[0])

    def test_words_cut_one_by_one_are_the_tokens_of_the_text(self, embedder: StaticEmbedder) -> None:
        text = " ".join([*TEXTS, "don't re-do this\u2014or that: 1,000.50 \x00 \U0001f642\u200d"])
        whole = embedder._model().tokenizer().encode(text, add_special_tokens=False).ids
        words = embedder._tokens(set(text.split()))
        assert [token for word in text.split() for token in words[word]] == whole

    def test_what_it_remembers_of_words_is_bounded(
        self, embedder: StaticEmbedder, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(static, "MAX_CACHED_WORDS", 2)
        rows = embedder.embed(["one two three four " + "x" * 100])
        assert len(embedder._known) == 4
        assert np.array_equal(embedder.embed(["one two three four " + "x" * 100]), rows)
        embedder.embed(["five"])
        assert set(embedder._known) == {"five"}

    def test_another_file_is_another_embedder(self, embedder: StaticEmbedder, tmp_path: Path) -> None:
        for name in (static.WEIGHTS, static.TOKENIZER):
            (tmp_path / name).parent.mkdir()
            shutil.copy(static._bundled() / name, tmp_path / name)
        assert StaticEmbedder(tmp_path).identity == embedder.identity
        with (tmp_path / static.TOKENIZER).open("a") as file:
            file.write("\n")
        assert StaticEmbedder(tmp_path).identity != embedder.identity
        (tmp_path / static.WEIGHTS).write_bytes(b"damaged")
        with pytest.raises(ConfigError, match=r"cannot be read: .* Reinstall it"):
            StaticEmbedder(tmp_path).embed(["a"])

    def test_a_foreign_tokenizer_is_refused(self, tmp_path: Path) -> None:
        from safetensors.numpy import save_file

        for name in (static.WEIGHTS, static.TOKENIZER):
            (tmp_path / name).parent.mkdir()
        shutil.copy(static._bundled() / static.TOKENIZER, tmp_path / static.TOKENIZER)
        save_file({"table": np.zeros((10, 4), np.float32)}, tmp_path / static.WEIGHTS)
        with pytest.raises(ConfigError, match="do not belong together"):
            StaticEmbedder(tmp_path).embed(["a"])

    def test_without_its_package_it_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
        monkeypatch.setattr(static, "_BUNDLED", Lazy(static._BUNDLED._make))  # not loaded yet
        with pytest.raises(ConfigError, match="pip install"):
            _ = StaticEmbedder().identity


def test_who_it_is_loads_no_model() -> None:
    """R16: a process that finds no vectors of its own to compare loads neither weights nor tokenizer."""
    code = """
import sys
from lifelong.models.embedders.static import StaticEmbedder
assert StaticEmbedder().identity.dimensions == 256
assert not {"numpy", "tokenizers"} & set(sys.modules)
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_token_weighs_what_its_frequency_says() -> None:
    weights = {
        token: static._weight(number, token)
        for number, token in [
            (3, "<0x00>"),
            (278, "▁the"),
            (300, "▁en"),
            (31_000, "▁rare"),
            (29_000, "語"),
            (29_100, "x"),
        ]
    }
    assert weights["▁the"] == weights["<0x00>"] == weights["x"] < weights["▁en"] < weights["▁rare"]
    assert weights["語"] == pytest.approx(10 / 11)


def test_the_bundled_model_is_loaded_once() -> None:
    """C0: however many users a process has open."""
    assert StaticEmbedder()._model() is StaticEmbedder()._model()


def test_importing_the_embedders_imports_no_heavy_package() -> None:
    code = """
import sys, lifelong
from lifelong.models.embedders import fastembed, openai, static
static.StaticEmbedder(), openai.OpenAIEmbedder("m", "http://a"), fastembed.FastEmbedder()
heavy = {"numpy", "tokenizers", "safetensors", "onnxruntime", "fastembed", "wordllama"} & set(sys.modules)
assert not heavy, heavy
static.StaticEmbedder().embed(["a"])
assert "wordllama" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_what_failed_to_be_made_is_made_at_the_next_call() -> None:
    attempts = iter([1, 0])
    lazy = Lazy(lambda: 1 // (1 - next(attempts)))
    with pytest.raises(ZeroDivisionError):
        lazy()
    assert [lazy(), lazy()] == [1, 1]


# fastembed


def field(number: int, value: int | str | bytes) -> bytes:
    """A field of a protobuf message: all that an ONNX file is made of."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def varint(value: int) -> bytes:
    return bytes([value]) if value < 128 else bytes([value & 127 | 128]) + varint(value >> 7)


def tiny_onnx(table: np.ndarray[Any, Any], *, inputs: tuple[str, ...] = ("input_ids", "attention_mask")) -> bytes:
    """A model that looks each token up in a table."""
    tensor = b"".join(field(1, size) for size in table.shape) + field(2, 1) + field(8, "table")
    tensor += field(9, table.astype("<f4").tobytes())
    node = field(1, "table") + field(1, inputs[0]) + field(2, "hidden") + field(4, "Gather")

    def value(name: str, kind: int, rank: int) -> bytes:
        shape = b"".join(field(1, field(2, f"{name}{axis}")) for axis in range(rank))
        return field(1, name) + field(2, field(1, field(1, kind) + field(2, shape)))

    graph = field(1, node) + field(2, "tiny") + field(5, tensor)
    graph += b"".join(field(11, value(name, 7, 2)) for name in inputs) + field(
        12, value("hidden", 1, table.ndim + 1)
    )
    return field(1, 8) + field(8, field(1, "") + field(2, 13)) + field(7, graph)


def tiny_tokenizer(longest: int = 16) -> Tokenizer:
    words = ["[UNK]", "[CLS]", "[SEP]", "the", "dog", "sleeps", "Anna", "query", ":"]
    tokenizer = Tokenizer(models.WordLevel({word: n for n, word in enumerate(words)}, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", 1), ("[SEP]", 2)]
    )
    tokenizer.enable_truncation(longest)
    tokenizer.enable_padding(length=longest)
    return tokenizer


TABLE = np.random.default_rng(1).standard_normal((9, DIMS)).astype(np.float32)


@pytest.fixture
def tiny(tmp_path: Path) -> Path:
    if not find_spec("fastembed"):
        pytest.skip("fastembed, the extra `embeddings`, is not installed")
    (tmp_path / "tokenizer_config.json").write_text('{"model_max_length": 16, "pad_token": "[PAD]"}')
    (tmp_path / "model.onnx").write_bytes(tiny_onnx(TABLE))
    tiny_tokenizer().save(str(tmp_path / "tokenizer.json"))
    return tmp_path


def at_length_1(vector: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.asarray(vector / np.linalg.norm(vector))


class TestFastembed(EmbedderContract):
    @pytest.fixture
    def embedder(self, tiny: Path) -> FastEmbedder:
        return FastEmbedder(path=tiny)

    def test_it_pools_by_the_mean_or_by_one_token(self, tiny: Path) -> None:
        text = ["the dog"]
        ways: dict[Any, Any] = {"": TABLE[[1, 3, 4, 2]].mean(axis=0), "cls": TABLE[1], "last": TABLE[2]}
        for pooling, expected in ways.items():
            row = FastEmbedder(path=tiny, pooling=pooling).embed(text)[0]
            assert np.allclose(row, at_length_1(expected), atol=1e-6)

    def test_a_folder_says_how_it_pools_and_what_stands_before_texts(self, tiny: Path) -> None:
        """As sentence transformers are published."""
        (tiny / "1_Pooling").mkdir()
        (tiny / "1_Pooling" / "config.json").write_text('{"pooling_mode_cls_token": true}')
        assert np.allclose(FastEmbedder(path=tiny).embed(["dog"])[0], at_length_1(TABLE[1]), atol=1e-6)
        mean = FastEmbedder(path=tiny, pooling="mean")
        plain, prefixed = mean.embed(["dog"])[0], mean.embed(["query: dog"])[0]
        said = {"prompts": {"query": "query: ", "document": ""}}
        (tiny / "config_sentence_transformers.json").write_text(json.dumps(said))
        mean = FastEmbedder(path=tiny, pooling="mean")
        assert np.array_equal(mean.embed_query("dog", {}), prefixed)
        assert np.array_equal(mean.embed(["dog"])[0], plain)

    def test_a_long_text_is_the_average_of_its_windows(self, tiny: Path) -> None:
        row = FastEmbedder(path=tiny).embed(["the " * 14 + "dog dog"])[0]
        first, second = TABLE[[1, *[3] * 14, 2]].mean(axis=0), TABLE[[1, 4, 4, 2]].mean(axis=0)
        assert np.allclose(row, at_length_1(55 * at_length_1(first) + 7 * at_length_1(second)), atol=1e-6)

    def test_each_window_has_its_prefix(self, tiny: Path) -> None:
        row = FastEmbedder(path=tiny, document_prefix="query: ").embed(["the " * 12 + "dog dog"])[0]
        first, second = TABLE[[1, 7, 8, *[3] * 12, 2]].mean(axis=0), TABLE[[1, 7, 8, 4, 4, 2]].mean(axis=0)
        assert np.allclose(row, at_length_1(54 * at_length_1(first) + 14 * at_length_1(second)), atol=1e-6)

    def test_prefixes_stand_before_a_question_and_before_a_text(self, tiny: Path) -> None:
        plain, asking = FastEmbedder(path=tiny), FastEmbedder(path=tiny, query_prefix="query: ")
        assert np.array_equal(asking.embed_query("dog", {"dog": 0}), plain.embed(["query: dog"])[0])
        assert np.array_equal(asking.embed(["dog"]), plain.embed(["dog"]))
        telling = FastEmbedder(path=tiny, document_prefix="query: ")
        assert np.array_equal(telling.embed(["dog"]), plain.embed(["query: dog"]))

    def test_whatever_changes_stored_vectors_is_another_embedder(self, tiny: Path) -> None:
        def version(**more: Any) -> str:
            return FastEmbedder(path=tiny, **more).identity.version

        plain = version()
        assert version(query_prefix="query: ") == version(pooling="mean") == plain
        others = [version(pooling="cls"), version(document_prefix="query: ")]
        (tiny / "model.onnx_data").write_bytes(b"more numbers")
        others.append(version())
        (tiny / "model.onnx").write_bytes(tiny_onnx(TABLE * 2))
        others.append(version())
        tiny_tokenizer(8).save(str(tiny / "tokenizer.json"))
        others.append(version())
        assert len({plain, *others}) == 6

    @pytest.mark.parametrize("place", ["onnx/model.onnx", "model_optimized.onnx"])
    def test_the_model_may_stand_elsewhere_in_its_folder(self, tiny: Path, place: str) -> None:
        before = FastEmbedder(path=tiny).identity
        (tiny / "onnx").mkdir()
        (tiny / "model.onnx").rename(tiny / place)
        assert FastEmbedder(path=tiny).identity == before

    def test_an_output_that_is_a_vector_a_text_is_taken_as_it_is(self, tiny: Path) -> None:
        (tiny / "model.onnx").write_bytes(tiny_onnx(np.arange(9, dtype=np.float32)))
        (tiny / "tokenizer_config.json").write_text('{"model_max_length": 4, "pad_token": "[PAD]"}')
        row = FastEmbedder(path=tiny, pooling="none").embed(["dog"])[0]
        assert np.allclose(row, at_length_1(np.array([1.0, 4, 2])))
        with pytest.raises(ModelError, match=r"not a vector.*embeddings\.pooling"):  # as many numbers as tokens
            FastEmbedder(path=tiny, pooling="none").embed(["the dog"])
        with pytest.raises(ModelError, match=r"embeddings\.pooling"):
            FastEmbedder(path=tiny).embed(["dog"])

    @pytest.mark.parametrize(
        ("spoil", "error", "says"),
        [
            (lambda at: (at / "model.onnx").unlink(), ConfigError, "one model.onnx, .* holds none"),
            (
                lambda at: shutil.copy((at / "model.onnx").rename(at / "a.onnx"), at / "b.onnx"),
                ConfigError,
                "a.onnx, b",
            ),
            (lambda at: (at / "tokenizer_config.json").unlink(), ConfigError, "tokenizer_config.json, as models"),
            (lambda at: (at / "tokenizer.json").write_text("{"), ConfigError, "cannot be read"),
            (lambda at: (at / "model.onnx").write_bytes(b"x"), ConfigError, "cannot be read"),
            (lambda at: (at / "model.onnx").write_bytes(tiny_onnx(TABLE[:2])), ModelError, "cannot be used"),
            (lambda at: (at / "model.onnx").write_bytes(tiny_onnx(TABLE * np.nan)), ModelError, "not a vector"),
            (
                lambda at: (at / "model.onnx").write_bytes(tiny_onnx(TABLE, inputs=("input_ids", "pixels"))),
                ModelError,
                "pixels",
            ),
        ],
        ids=["none", "two", "no config", "bad tokenizer", "bad model", "small model", "no numbers", "pictures"],
    )
    def test_what_is_wrong_is_said(
        self, tiny: Path, spoil: Callable[[Path], object], error: type[LifelongError], says: str
    ) -> None:
        spoil(tiny)
        with pytest.raises(error, match=says):
            FastEmbedder(path=tiny).embed(["the dog"])

    def test_a_folder_of_a_model_with_a_name_must_hold_its_file(self, tiny: Path) -> None:
        with pytest.raises(
            ConfigError, match=r"onnx/model\.onnx of snowflake/snowflake-arctic-embed-s is missing"
        ):
            FastEmbedder("Snowflake/snowflake-arctic-embed-s", tiny).embed(["the dog"])

    @pytest.mark.parametrize(
        ("name", "nearest"),
        [
            ("bge-small-en-v1.5", "BAAI/bge-small-en-v1.5"),
            ("BAAI/bge-smal-en", "BAAI/bge-small-en"),
            ("snowflake-arctic-embed-s", DEFAULT_MODEL),
            ("???", DEFAULT_MODEL),
        ],
    )
    def test_an_unknown_name_is_answered_with_the_nearest(self, name: str, nearest: str) -> None:
        with pytest.raises(ConfigError, match=f"Unknown .* The nearest known: .*{nearest}.*'multilingual'"):
            FastEmbedder(name).embed(["the dog"])

    def test_without_a_network_it_says_what_to_do(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
        name = ALIASES["multilingual"]
        says = rf"{name} is not in {tmp_path} and cannot be downloaded: .*network.*embeddings\.path"
        with pytest.raises(ModelError, match=says):
            FastEmbedder("multilingual").embed(["the dog"])

    def test_without_its_package_it_says_what_to_install(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "fastembed", None)
        with pytest.raises(ConfigError, match=r"package is missing.*lifelong\[embeddings\]"):
            FastEmbedder(path=tmp_path)

    def test_the_models_that_are_named_here_are_known_to_fastembed(self) -> None:
        from fastembed import TextEmbedding

        known = [one["model"].lower() for one in TextEmbedding.list_supported_models()]
        assert {name.lower() for name in ALIASES.values()} <= set(known)
        assert all(any(name.startswith(start) for name in known) for start in PREFIXES)


def test_a_real_transformer_knows_what_is_alike() -> None:
    """snowflake-arctic-embed-s, int8. See docs/embedders.md for where to get it."""
    place = os.environ.get("TEST_ONNX_MODEL", "")
    if not place or not find_spec("fastembed"):
        pytest.skip("TEST_ONNX_MODEL names no folder with a real model, or fastembed is missing")
    embedder = FastEmbedder("snowflake/snowflake-arctic-embed-s", Path(place))
    about = ["My sister bought a car.", "We cooked pasta for dinner.", "The meeting moved to Tuesday."]
    questions = ["who has a new vehicle?", "what did we eat?", "when do we see each other?"]
    found = np.array([embedder.embed_query(question, {}) for question in questions])
    assert (found @ embedder.embed(about).T).argmax(axis=1).tolist() == [0, 1, 2]
    assert embedder.identity.dimensions == 384
    same = FastEmbedder("", Path(place), "cls", "Represent this sentence for searching relevant passages: ")
    assert np.allclose(same.embed_query(questions[0], {}), found[0], atol=1e-6)


# Endpoints


def vector(text: str, dims: int = DIMS) -> list[float]:
    """A bag of hashed words."""
    row = np.full(dims, 0.001)
    for word in text.split():
        row[zlib.crc32(word.encode()) % dims] += 1
    return [float(one) for one in row]


def answer(asked: dict[str, Any], dims: int = DIMS) -> Reply:
    data = [{"index": n, "embedding": vector(text, dims)} for n, text in enumerate(asked["input"])]
    return Reply(body=json.dumps({"object": "list", "data": data[::-1], "model": asked["model"]}).encode())


def raw(value: object) -> Reply:
    return Reply(body=json.dumps(value).encode())


def ask(server: ModelServer, **more: Any) -> OpenAIEmbedder:
    more = {"dimensions": DIMS, "sleep": lambda seconds: None, **more}
    return OpenAIEmbedder("tiny", base_url=server.base_url("openai"), **more)


class TestOpenAI(EmbedderContract):
    @pytest.fixture
    def embedder(self) -> Any:
        with ModelServer(answer) as server:
            yield OpenAIEmbedder("tiny", base_url=server.base_url("openai"))

    def test_it_asks_in_batches_and_puts_answers_in_order(self) -> None:
        texts = [f"word{n}" for n in range(10)]
        with ModelServer(answer) as server:
            rows = ask(server, batch=4, api_key="sk-mine").embed(texts)
        assert [len(one["input"]) for one in server.requests] == [4, 4, 2]
        assert np.allclose(rows, [at_length_1(np.array(vector(text))) for text in texts], atol=1e-6)
        assert {one["authorization"] for one in server.headers} == {"Bearer sk-mine"}
        assert server.requests[0] | {"input": []} == {
            "model": "tiny", "input": [], "encoding_format": "float", "dimensions": DIMS,
        }  # fmt: skip

    def test_without_dimensions_or_a_key_it_sends_none(self) -> None:
        with ModelServer(answer) as server:
            embedder = ask(server, dimensions=None)
            assert not server.requests
            assert embedder.identity.dimensions == DIMS
        assert "dimensions" not in server.requests[0]
        assert "authorization" not in server.headers[0]

    def test_prefixes_stand_before_a_question_and_before_a_text(self) -> None:
        with ModelServer(answer) as server:
            embedder = ask(server, query_prefix="q: ", document_prefix="d: ")
            embedder.embed_query("dog", {"dog": 0})
            embedder.embed(["dog", ""])
        assert [one["input"] for one in server.requests] == [["q: dog"], ["d: dog"]]

    def test_a_long_text_is_asked_in_windows(self) -> None:
        with ModelServer(answer) as server:
            row = ask(server, window_bytes=20).embed(["one two three four five six seven", "dog"])[0]
        asked = [text for one in server.requests for text in one["input"]]
        assert asked == ["one two three four", "five six seven", "dog"]
        first, second = (at_length_1(np.array(vector(text))) for text in asked[:2])
        assert np.allclose(row, at_length_1(18 * first + 14 * second), atol=1e-6)

    def test_the_address_and_the_prefix_are_part_of_its_identity(self) -> None:
        def version(url: str = "http://one/v1", **more: Any) -> str:
            return str(OpenAIEmbedder("m", base_url=url, **{"dimensions": 4, **more}).identity)

        assert version() == version(query_prefix="q", api_key="other") == version("http://one/v1/")
        others = [version("http://two/v1"), version(document_prefix="d"), version(dimensions=5)]
        assert len({version(), *others}) == 4

    @pytest.mark.parametrize("status", [408, 429, 503])
    def test_what_passes_is_asked_again(self, status: int) -> None:
        waits: list[float] = []
        script = [refuse(status), refuse(status, headers={"retry-after": "7"}), refuse(status), answer({**ASKED})]
        with ModelServer(script) as server:
            assert ask(server, sleep=waits.append).embed(["dog"]).any()
        assert waits == [0.5, 7.0, 2.0]

    def test_it_gives_up_after_four_attempts(self) -> None:
        with (
            ModelServer(lambda asked: refuse(503, "overloaded, key sk-mine")) as server,
            pytest.raises(ModelError, match=r"503 .*overloaded") as told,
        ):
            ask(server, api_key="sk-mine").embed(["dog"])
        assert len(server.requests) == 4
        assert "sk-mine" not in str(told.value)
        assert "[key]" in str(told.value)

    def test_it_does_not_wait_longer_than_it_may(self) -> None:
        waits: list[float] = []
        with (
            ModelServer(lambda asked: refuse(429, headers={"retry-after": "3600"})) as server,
            pytest.raises(ModelError, match="429"),
        ):
            ask(server, sleep=waits.append).embed(["dog"])
        assert waits == []

    def test_a_server_that_hangs_is_left(self) -> None:
        with (
            ModelServer(lambda asked: Reply(body=b"{}", wait=30)) as server,
            pytest.raises(ModelError, match="timed out"),
        ):
            ask(server, timeout_seconds=0.3).embed(["dog"])

    def test_a_server_that_is_not_there_is_said(self) -> None:
        with socket.socket() as taken:
            taken.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{taken.getsockname()[1]}/v1"
            with pytest.raises(ModelError, match=r"tiny at http://127\.0\.0\.1:\d+ gave no vectors: .*refused"):
                OpenAIEmbedder("tiny", base_url=url, sleep=lambda seconds: None).embed(["dog"])

    @pytest.mark.parametrize(
        ("status", "error", "says"),
        [
            (301, ConfigError, "base_url"),
            (400, ModelError, "window_bytes"),
            (401, ConfigError, "embeddings.api_key"),
            (403, ConfigError, "embeddings.api_key"),
            (404, ConfigError, "embeddings.model"),
        ],
    )
    def test_what_does_not_pass_is_said_at_once(self, status: int, error: type[LifelongError], says: str) -> None:
        with (
            ModelServer(lambda asked: refuse(status, headers={"location": "http://127.0.0.1:9/"})) as server,
            pytest.raises(error, match=f"refused: {status} .*{says}"),
        ):
            ask(server).embed(["dog"])
        assert len(server.requests) == 1

    @pytest.mark.parametrize(
        "reply",
        [
            Reply(body=b"<html>"),
            raw([]),
            raw({"data": [1]}),
            raw({"data": [{"embedding": []}]}),
            raw({"data": [{"embedding": [float("nan")] * DIMS}]}),
            raw({"data": [{"embedding": [None] * DIMS}]}),
            raw({"data": [{"embedding": [[1.0]] * DIMS}]}),
            raw({"data": [{"index": 7, "embedding": [1.0] * DIMS}]}),
            raw({"data": [{"embedding": [1.0] * DIMS}] * 2}),
            Reply(body=b"[" * 100_000),
        ],
    )
    def test_an_answer_without_vectors_is_said(self, reply: Reply) -> None:
        with ModelServer(lambda asked: reply) as server, pytest.raises(ModelError, match="vector for each text"):
            ask(server).embed(["dog"])

    def test_vectors_of_another_size_are_refused_whenever_they_come(self) -> None:
        sizes = iter([DIMS, DIMS, DIMS + 1])
        with ModelServer(lambda asked: answer(asked, next(sizes))) as server:
            embedder = ask(server, dimensions=None)
            embedder.embed(["dog"])
            with pytest.raises(ModelError, match="gave vectors of 9 dimensions, not of 8"):
                embedder.embed(["dog"])

    def test_large_numbers_keep_their_direction(self) -> None:
        with ModelServer(lambda asked: raw({"data": [{"embedding": [3e300, 4e300]}]})) as server:
            assert ask(server, dimensions=2).embed(["dog"])[0] == pytest.approx([0.6, 0.8])

    @pytest.mark.parametrize(
        "url", ["", "localhost:1", "file:///etc/passwd", "ftp://a/", "http://a\r\nb/", "http://k@a/"]
    )
    def test_an_address_that_is_none_is_refused(self, url: str) -> None:
        with pytest.raises(ConfigError, match="base_url"):
            OpenAIEmbedder("m", base_url=url)

    def test_a_model_or_key_that_is_none_is_refused(self) -> None:
        with pytest.raises(ConfigError, match=r"embeddings\.model"):
            OpenAIEmbedder(" ", "http://a")
        with pytest.raises(ConfigError, match=r"embeddings\.api_key") as told:
            OpenAIEmbedder("m", "http://a", api_key="sk\r\nx: y")
        assert "sk" not in str(told.value)

    @pytest.mark.parametrize("status", [200, 503])
    def test_a_connection_that_breaks_is_tried_again_on_the_right_path(self, status: int) -> None:
        heads: list[bytes] = []

        def serve(connection: socket.socket) -> None:
            heads.append(connection.recv(65_536))
            connection.sendall(b"HTTP/1.1 %d X\r\ncontent-length: 100\r\n\r\n{" % status)

        with sockets(4, serve) as url, pytest.raises(ModelError, match=r"IncompleteRead|503|reset"):
            OpenAIEmbedder("m", base_url=url, dimensions=4, sleep=lambda seconds: None).embed(["dog"])
        assert len(heads) == 4
        assert all(head.startswith(b"POST /v1/embeddings HTTP/1.1\r\n") for head in heads)

    def test_a_server_that_answers_without_end_is_left(self) -> None:
        def serve(connection: socket.socket) -> None:
            connection.recv(65_536)
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
            with contextlib.suppress(OSError):
                while True:
                    connection.sendall(b" ")
                    time.sleep(0.02)

        with sockets(1, serve) as url, pytest.raises(ModelError, match="took too long"):
            OpenAIEmbedder("m", base_url=url, dimensions=4, timeout_seconds=0.3).embed(["dog"])


@contextlib.contextmanager
def sockets(count: int, serve: Callable[[socket.socket], None]) -> Iterator[str]:
    """A server that does with each of so many connections what it likes."""

    def run(listener: socket.socket) -> None:
        for _ in range(count):
            connection, _ = listener.accept()
            with connection:
                serve(connection)

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(10)
        thread = threading.Thread(target=run, args=(listener,), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1"
        thread.join(10)


ASKED = {"model": "tiny", "input": ["dog"]}


def test_windows_hold_the_whole_text() -> None:
    for text in ["one two three " * 50, "里斯本" * 100, "🙂 " * 70, "x" * 99, "é" * 7 + " é" * 40]:
        for size in (8, 9, 10, 11, 64, 10_000):
            pieces = cut(text.strip(), size)
            assert all(0 < len(piece.encode()) <= size for piece in pieces)
            assert "".join(pieces).replace(" ", "") == text.replace(" ", "")


# Settings


def test_the_settings_reach_a_local_model(tiny: Path) -> None:
    chosen = {"provider": "fastembed", "path": str(tiny), "pooling": "cls", "document_prefix": "Anna "}
    opened = open_embedder(Settings.load(embeddings=chosen | {"query_prefix": "query: "}))
    expected = FastEmbedder("", tiny, "cls", "query: ", "Anna ")
    assert opened.identity == expected.identity
    assert np.array_equal(opened.embed(["dog"]), expected.embed(["dog"]))
    assert np.array_equal(opened.embed_query("dog", {}), expected.embed_query("dog", {}))


def test_the_settings_reach_an_endpoint() -> None:
    with ModelServer(answer) as server:
        chosen: dict[str, Any] = {"provider": "openai", "model": "tiny", "base_url": server.base_url("openai")}
        chosen |= {"api_key": "sk-mine", "dimensions": DIMS, "batch": 1, "window_bytes": 20}
        chosen |= {"query_prefix": "q: ", "document_prefix": "d: ", "timeout_seconds": 9.0}
        settings = Settings.load(embeddings=chosen)
        embedder = open_embedder(settings)
        embedder.embed(["one two three four five six"])
        embedder.embed_query("dog", {})
    assert [one["input"] for one in server.requests] == [["d: one two three four"], ["d: five six"], ["q: dog"]]
    assert {one["dimensions"] for one in server.requests} == {DIMS}
    assert {one["authorization"] for one in server.headers} == {"Bearer sk-mine"}
    assert isinstance(embedder, OpenAIEmbedder)
    assert embedder._timeout == 9
    assert "sk-mine" not in f"{settings!r} {settings.model_dump_json()}"


def test_without_settings_the_bundled_model_embeds() -> None:
    bundled = StaticEmbedder()
    assert open_embedders(Settings.load(), None, bundled) == (bundled,)
