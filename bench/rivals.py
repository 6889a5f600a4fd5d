"""What a part of recall takes by itself, on the same turns and vectors: FTS5 over every word, an exact search by
numpy, and Chroma with its files on disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import cycle
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from bench.measure import Call
from lifelong.text.words import content_words

Vectors = NDArray[np.float32]
BATCH = 5_000


def raw_full_text(path: Path, texts: Iterable[str], questions: Sequence[str], k: int) -> Call:
    """BM25 over all of a question's words but for stop words."""
    connection = apsw.Connection(str(path))
    connection.execute("CREATE VIRTUAL TABLE turns USING fts5(text, tokenize='porter unicode61')")
    with connection:
        connection.executemany("INSERT INTO turns (text) VALUES (?)", ((text,) for text in texts))
    asked = [" OR ".join(f'"{word}"' for word in content_words(question)) for question in questions]
    statement = "SELECT rowid FROM turns(?) ORDER BY rank LIMIT ?"
    return in_turn(lambda words: connection.execute(statement, (words, k)).fetchall(), asked)


def exact(rows: Vectors, queries: Vectors, k: int) -> Call:
    def search(query: Vectors) -> object:
        near = np.vecdot(rows, query)
        best = np.argpartition(near, len(near) - k)[len(near) - k :]
        return best[np.argsort(-near[best])]

    return in_turn(search, queries)


def chroma(folder: Path, rows: Vectors, queries: Vectors, k: int) -> Call:
    import chromadb
    from chromadb.config import Settings

    client = chromadb.PersistentClient(str(folder), Settings(anonymized_telemetry=False))
    turns = client.create_collection("turns", embedding_function=None, metadata={"hnsw:space": "cosine"})
    for start in range(0, len(rows), BATCH):
        some = rows[start : start + BATCH]
        turns.add([str(start + place) for place in range(len(some))], embeddings=some)
    return in_turn(lambda query: turns.query(query, n_results=k, include=["distances"]), queries)


def in_turn(ask: Callable[[Any], object], questions: Iterable[Any]) -> Call:
    """A call that asks the next of these each time, round and round."""
    following = cycle(questions)
    return lambda: ask(next(following))
