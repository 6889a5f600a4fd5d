"""One memory behind three calls, so that lifelong and its peers are asked the same. Run as a process of its own:

    python peer.py NAME add    FOLDER DATA    add texts one at a time; print each number once it is acknowledged
    python peer.py NAME fill   FOLDER DATA    add all texts, as quickly as the memory can
    python peer.py NAME search FOLDER DATA    ask all questions; print the numbers found and the seconds each took
    python peer.py NAME count  FOLDER DATA    print the numbers that are there

DATA is a folder with `texts.json`, `questions.json` and their vectors (`texts.npy`, `questions.npy`). In it,
`sessions.json` may hold the texts again, as [speaker, text] by session. Peers get the vectors ready-made, which
costs them nothing; lifelong makes its own. Only its class imports lifelong: the peers have another environment.
"""

from __future__ import annotations

import json
import os
import re
import sqlite3
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

TOP_K = 10
BATCH = 1_000


class Peer(Protocol):
    def add(self, number: int, text: str) -> None: ...

    def fill(self, texts: Sequence[str]) -> None: ...

    def search(self, question: str) -> list[int]: ...

    def numbers(self) -> Iterable[int]: ...


class Vectors:
    """The ready-made vector of every text and question."""

    def __init__(self, data: Path) -> None:
        self._of: dict[str, list[float]] = {}
        sessions = data / "sessions.json"
        self.sessions = json.loads(sessions.read_text(encoding="utf-8")) if sessions.exists() else []
        for name in ("texts", "questions"):
            texts = json.loads((data / f"{name}.json").read_text(encoding="utf-8"))
            self._of |= dict(zip(texts, np.load(data / f"{name}.npy").tolist(), strict=True))

    def __call__(self, text: str) -> list[float]:
        return self._of[text]


class Lifelong:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        from lifelong import Memory

        self._memory = Memory.open(folder)
        self._agent = self._memory.agent()
        self._sessions = vectors.sessions

    def add(self, number: int, text: str) -> None:
        self._memory.add(text, agent=self._agent)

    def fill(self, texts: Sequence[str]) -> None:
        """Store each session's texts with their speakers, if the data says so: that is how lifelong gets them."""
        sessions = self._sessions or [
            [["", text] for text in texts[at : at + BATCH]] for at in range(0, len(texts), BATCH)
        ]
        for session in sessions:
            said = [{"role": "user", "name": speaker, "content": text} for speaker, text in session]
            self._memory.add(said, agent=self._agent)
            self._memory.sessions.reset(self._agent)
        while self._memory.admin.index():
            pass
        self._memory.close()

    def search(self, question: str) -> list[int]:
        hits = self._memory.search(question, TOP_K)
        return [hit.record_id - 1 for hit in hits if hit.record_id is not None]

    def numbers(self) -> Iterable[int]:
        return (record.id - 1 for record in self._memory.sessions.history(self._agent))


class FullText:
    """SQLite's FTS5 with its Porter stemmer, over every word of the question."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        folder.mkdir(exist_ok=True)
        self._rows = sqlite3.connect(folder / "fts.db", isolation_level=None)
        self._rows.execute("PRAGMA journal_mode = WAL")
        self._rows.execute("PRAGMA synchronous = FULL")
        self._rows.execute("CREATE VIRTUAL TABLE IF NOT EXISTS t USING fts5(text, tokenize='porter unicode61')")

    def add(self, number: int, text: str) -> None:
        self._rows.execute("INSERT INTO t (rowid, text) VALUES (?, ?)", (number + 1, text))

    def fill(self, texts: Sequence[str]) -> None:
        self._rows.execute("BEGIN")
        self._rows.executemany("INSERT INTO t (rowid, text) VALUES (?, ?)", list(enumerate(texts, 1)))
        self._rows.execute("COMMIT")

    def search(self, question: str) -> list[int]:
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", question))
        found = self._rows.execute("SELECT rowid FROM t(?) ORDER BY rank LIMIT ?", (words, TOP_K))
        return [row[0] - 1 for row in found]

    def numbers(self) -> Iterable[int]:
        return (row[0] - 1 for row in self._rows.execute("SELECT rowid FROM t"))


class Chroma:
    def __init__(self, folder: Path, vectors: Vectors) -> None:
        import chromadb
        from chromadb.config import Settings

        self._vectors = vectors
        client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
        space = {"hnsw:space": "cosine"}
        self._rows: Any = client.get_or_create_collection("texts", embedding_function=None, metadata=space)

    def add(self, number: int, text: str) -> None:
        self._rows.add([str(number)], embeddings=[self._vectors(text)], documents=[text])

    def fill(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            some = texts[start : start + BATCH]
            ids = [str(start + place) for place in range(len(some))]
            self._rows.add(ids, embeddings=[self._vectors(text) for text in some], documents=list(some))

    def search(self, question: str) -> list[int]:
        found = self._rows.query([self._vectors(question)], n_results=TOP_K, include=["documents"])
        return [int(number) for number in found["ids"][0]]

    def numbers(self) -> Iterable[int]:
        return (int(number) for number in self._rows.get(include=[])["ids"])


class LangGraph:
    """LangGraph's store on SQLite, with its vector index."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        import pysqlite3  # many a Python's own sqlite3 cannot load the extension that the index needs
        from langgraph.store.sqlite import SqliteStore

        folder.mkdir(exist_ok=True)
        rows = pysqlite3.connect(folder / "store.db", check_same_thread=False, isolation_level=None)
        index: Any = {"dims": 256, "embed": lambda texts: [vectors(_text_of(text)) for text in texts]}
        self._store = SqliteStore(rows, index=index)
        self._store.setup()

    def add(self, number: int, text: str) -> None:
        self._store.put(("t",), str(number), {"text": text})

    def fill(self, texts: Sequence[str]) -> None:
        from langgraph.store.base import PutOp

        for start in range(0, len(texts), BATCH):
            some = enumerate(texts[start : start + BATCH], start)
            self._store.batch([PutOp(("t",), str(number), {"text": text}) for number, text in some])

    def search(self, question: str) -> list[int]:
        return [int(item.key) for item in self._store.search(("t",), query=question, limit=TOP_K)]

    def numbers(self) -> Iterable[int]:
        at = 0
        while found := self._store.search(("t",), limit=BATCH, offset=at):
            yield from (int(item.key) for item in found)
            at += BATCH


def _text_of(value: str) -> str:
    """Return the text of a value that the store gives as JSON."""
    return str(json.loads(value)["text"]) if value.startswith('{"text"') else value


class Mem0:
    """mem0 without a model (`infer=False`), on its default local vector store."""

    def __init__(self, folder: Path, vectors: Vectors) -> None:
        os.environ |= {"MEM0_TELEMETRY": "False", "OPENAI_API_KEY": "none", "MEM0_DIR": str(folder)}
        from mem0 import Memory

        store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": 256}
        config = {"vector_store": {"provider": "qdrant", "config": store}}
        self._memory: Any = Memory.from_config(config | {"history_db_path": str(folder / "history.db")})
        self._vectors = vectors
        self._memory.embedding_model.embed = lambda text, action=None: self._vector(text)

    def _vector(self, text: str) -> list[float]:
        try:
            return self._vectors(text)
        except KeyError:
            return [0.0] * 255 + [1.0]  # of an entity that it found

    def add(self, number: int, text: str) -> None:
        self._memory.add(text, user_id="u", metadata={"number": number}, infer=False)

    def fill(self, texts: Sequence[str]) -> None:
        for start in range(0, len(texts), BATCH):
            some = list(enumerate(texts[start : start + BATCH], start))
            self._memory.vector_store.insert(
                vectors=[self._vectors(text) for _, text in some],
                payloads=[{"data": text, "user_id": "u", "number": number} for number, text in some],
                ids=[f"00000000-0000-0000-0000-{number:012d}" for number, _ in some],
            )

    def search(self, question: str) -> list[int]:
        found = self._memory.search(question, filters={"user_id": "u"}, top_k=TOP_K, threshold=0.0)
        return [item["metadata"]["number"] for item in found["results"]]

    def numbers(self) -> Iterable[int]:
        found = self._memory.get_all(filters={"user_id": "u"}, top_k=1_000_000)
        return (item["metadata"]["number"] for item in found["results"])


PEERS: dict[str, Any] = {
    "lifelong": Lifelong,
    "fts5": FullText,
    "chroma": Chroma,
    "langgraph": LangGraph,
    "mem0": Mem0,
}


def main(name: str, task: str, folder: str, data: str) -> None:
    place = Path(data)
    texts, questions = (json.loads((place / f"{what}.json").read_text("utf-8")) for what in ("texts", "questions"))
    peer: Peer = PEERS[name](Path(folder), Vectors(place))
    if task == "add":
        for number, text in enumerate(texts):
            started = time.perf_counter()
            peer.add(number, text)
            print(number, time.perf_counter() - started, flush=True)
    elif task == "fill":
        peer.fill(texts)
    elif task == "count":
        print(json.dumps(sorted(peer.numbers())))
    else:
        found, taken = [], []
        for question in questions:
            started = time.perf_counter()
            found.append(peer.search(question))
            taken.append(time.perf_counter() - started)
        print(json.dumps({"found": found, "seconds": taken}))


if __name__ == "__main__":
    main(*sys.argv[1:])
