"""Vectors in Chroma: a folder, or a server. Needs the extra `chroma`.

A folder of Chroma is made for one process: another's writes stay unseen. So each call takes the folder's lock,
and opens it again where another process has written since (`lifelong.generation`). A server needs none of this;
where several processes write often, use one.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar, cast
from urllib.parse import urlsplit

import numpy as np
from filelock import FileLock

from lifelong.disk import make_folder
from lifelong.errors import ConfigError, LifelongError, MemoryClosed, StorageError, StorageUnavailable
from lifelong.types import new_id
from lifelong.vectors.base import (
    EVERYTHING,
    Vector,
    VectorFilter,
    VectorPartition,
    VectorRow,
    missing_fault,
    validate_query,
    validate_rows,
)

if TYPE_CHECKING:
    import httpx
    from chromadb import Metadata, Where
    from chromadb.api.client import Client
    from chromadb.api.models.Collection import Collection

T = TypeVar("T")

INSTALL = "vectors.store is 'chroma', but its package is missing. Install it: pip install 'lifelong[chroma]'."
TIMEOUT_SECONDS = 60.0  # seconds that a server may take for a call, or another process for the folder
MAX_SEARCH_ATTEMPTS = 5  # of a search beside a removal
PAGE_ROWS = 5_000  # below what one call of Chroma takes
SEARCH_CANDIDATES = 200  # how many candidates a search follows; Chroma's own 100 finds too few of 5,000

_instances = itertools.count()


class ChromaVectors:
    """`Vectors` in the folder that a path names, or on the server at an address, `http://host:port`."""

    def __init__(self, place: Path | str) -> None:
        self._place = place
        self._lock = threading.RLock()
        self._collections: dict[VectorPartition, Collection] = {}
        self._client: Client | None = None
        self._generation = b""
        self._number = next(_instances)
        self._closed = False
        self._call(lambda client: client.heartbeat())

    def put(self, partition: VectorPartition, rows: Sequence[VectorRow]) -> None:
        given, vectors = validate_rows(partition, rows)
        metadata: list[Metadata] = [{"kind": row.kind, "agent": row.agent_id, "at": row.at} for row in given]
        ids = [str(row.id) for row in given]

        def work(collection: Collection) -> None:
            for start in range(0, len(ids), PAGE_ROWS):
                page = slice(start, start + PAGE_ROWS)
                collection.upsert(ids=ids[page], embeddings=vectors[page], metadatas=metadata[page])

        if ids:
            self._in(partition, work, writing=True, making=True)

    def nearest(
        self, partition: VectorPartition, query: Vector, k: int, only: VectorFilter = EVERYTHING
    ) -> list[int]:
        row = validate_query(partition, query, k)
        if row is None:
            return []

        def work(collection: Collection) -> list[int]:
            found = _insisting(
                lambda: collection.query(
                    query_embeddings=row[np.newaxis], n_results=k, where=_where(only), include=["distances"]
                )
            )
            distances = (found["distances"] or [[]])[0]
            near = sorted(
                (round(float(far), 6), int(id_)) for id_, far in zip(found["ids"][0], distances, strict=True)
            )
            return [id_ for _, id_ in near]

        return self._in(partition, work) or []

    def get(self, partition: VectorPartition, ids: Sequence[int]) -> Vector:
        vectors = np.zeros((len(ids), partition.dims), np.float32)
        where = {str(id_): place for place, id_ in enumerate(ids)}

        def work(collection: Collection) -> None:
            for start in range(0, len(ids), PAGE_ROWS):
                page = [*where][start : start + PAGE_ROWS]
                found = collection.get(ids=page, include=["embeddings"])
                for id_, row in zip(found["ids"], found["embeddings"], strict=True):  # type: ignore[arg-type]
                    vectors[where[id_]] = row

        if ids:
            self._in(partition, work)
        return vectors

    def remove(self, partition: VectorPartition, ids: Sequence[int]) -> None:
        gone = [str(id_) for id_ in dict.fromkeys(ids)]

        def work(collection: Collection) -> None:
            for start in range(0, len(gone), PAGE_ROWS):
                collection.delete(ids=gone[start : start + PAGE_ROWS])

        self._in(partition, work, writing=True)

    def maintain(self, partition: VectorPartition) -> None:
        """Do nothing: Chroma keeps its index."""

    def verify(self, partition: VectorPartition, ids: Sequence[int]) -> list[str]:
        return missing_fault(len({*ids} - {*self.ids(partition)}))

    def ids(self, partition: VectorPartition) -> list[int]:
        return [*map(int, self._in(partition, lambda collection: collection.get(include=[])["ids"]) or [])]

    def clear(self, partition: VectorPartition) -> None:
        from chromadb.errors import NotFoundError

        def work(client: Client) -> None:
            self._collections.pop(partition, None)
            with suppress(NotFoundError):
                client.delete_collection(_name(partition))

        self._call(work, writing=True)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            self._let_go()

    # Collections

    def _in(
        self,
        partition: VectorPartition,
        work: Callable[[Collection], T],
        *,
        writing: bool = False,
        making: bool = False,
    ) -> T | None:
        """Run `work`; none where nothing was put in the partition. A collection that was deleted and made again
        meanwhile is looked up again."""
        from chromadb.errors import NotFoundError

        def look(client: Client) -> T | None:
            with suppress(NotFoundError):
                if partition in self._collections:
                    return work(self._collections[partition])
            try:
                collection = _made(client, partition) if making else client.get_collection(_name(partition), None)
            except NotFoundError:
                self._collections.pop(partition, None)
                return None
            self._collections[partition] = collection
            return work(collection)

        return self._call(look, writing=writing)

    # The client

    def _call(self, work: Callable[[Client], T], *, writing: bool = False) -> T:
        if self._closed:
            raise MemoryClosed
        try:
            if isinstance(self._place, Path):
                return self._alone(self._place, work, writing)
            return work(self._opened())
        except LifelongError:
            raise
        except Exception as error:  # Chroma raises ValueError, OSError and those of httpx beside its own
            raise _translated(error, f"Chroma at {self._place}") from error

    def _alone(self, path: Path, work: Callable[[Client], T], writing: bool) -> T:
        make_folder(path)
        place = path / "lifelong.generation"
        with self._lock, FileLock(path / "lifelong.lock", TIMEOUT_SECONDS, mode=0o600, poll_interval=0.002):
            generation = place.read_bytes() if place.exists() else b""
            if generation != self._generation:
                self._let_go()
            client = self._opened()
            if writing:  # before the write: should we be killed in it, the others look too often
                generation = new_id().encode()
                place.write_bytes(generation)
            self._generation = generation
            return work(client)

    def _opened(self) -> Client:
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def _connect(self) -> Client:
        try:
            import chromadb
            from chromadb.config import Settings
        except ImportError as error:
            raise ConfigError(INSTALL) from error
        settings = Settings(anonymized_telemetry=False)
        if isinstance(self._place, Path):
            # Chroma shares what it has open among clients whose paths are spelled alike. Ours must not, because
            # each opens the folder again when it has to: so each spells the path in its own way.
            spelling = f"{self._number:b}".replace("1", "/.").replace("0", "/")
            return cast("Client", chromadb.PersistentClient(f"{self._place.absolute()}{spelling}", settings))
        url = urlsplit(self._place)
        if url.scheme not in ("http", "https") or not url.hostname:
            raise ConfigError(f"vectors.chroma_url cannot be {self._place!r}. Write http://host:port.")
        secure = url.scheme == "https"
        port = url.port or (443 if secure else 8000)
        client = cast("Client", chromadb.HttpClient(url.hostname, port, ssl=secure, settings=settings))
        for session in _sessions(client):
            session.timeout = TIMEOUT_SECONDS  # Chroma would wait for ever
        return client

    def _let_go(self) -> None:
        self._collections.clear()
        client, self._client = self._client, None
        if client is not None:
            for session in _sessions(client) if isinstance(self._place, str) else []:
                session.close()  # Chroma leaves its connections open
            client.close()


def _made(client: Client, partition: VectorPartition) -> Collection:
    return client.get_or_create_collection(
        _name(partition),
        embedding_function=None,  # the default one downloads a model
        configuration={"hnsw": {"space": "cosine", "ef_search": SEARCH_CANDIDATES}},
        metadata={"owner": partition.owner, "embedder": partition.embedder},
    )


def _where(only: VectorFilter) -> Where | None:
    """Return the filter as Chroma takes it."""
    given: list[dict[str, object]] = [{"kind": {"$in": [*only.kinds]}}] if only.kinds else []
    given += [{"agent": only.agent_id}] if only.agent_id else []
    given += [{"at": {"$gte": only.since}}] if only.since is not None else []
    given += [{"at": {"$lt": only.until}}] if only.until is not None else []
    return cast("Where | None", {"$and": given} if len(given) > 1 else given[0] if given else None)


def _sessions(client: Client) -> list[httpx.Client]:
    """Its connections to the server; it keeps a second client for its own checks."""
    servers = [getattr(one, "_server") for one in (client, client._admin_client)]  # noqa: B009
    return [cast("httpx.Client", server._session) for server in servers]


def _name(partition: VectorPartition) -> str:
    """Chroma takes 3 to 512 letters, digits, '.', '_' and '-'. The metadata say it in words."""
    words = json.dumps([partition.owner, partition.embedder])
    return f"lifelong-{hashlib.sha256(words.encode()).hexdigest()}"


def _translated(error: Exception, where: str) -> StorageError:
    from chromadb.errors import ChromaError

    words = " ".join(str(error).split()).rstrip(".?") or type(error).__name__
    if isinstance(error, ChromaError):
        return StorageError(f"{where} could not do it: {words:.300}. Check its log and its disk, and try again.")
    return StorageUnavailable(
        f"{where} does not answer: {words:.300}. Start it, or correct vectors.chroma_url, and try again."
    )


def _insisting(query: Callable[[], T]) -> T:
    """Ask again where the server says "Error finding id", which happens when another client removes that id at
    the same moment."""
    from chromadb.errors import InternalError

    for _ in range(MAX_SEARCH_ATTEMPTS - 1):
        try:
            return query()
        except InternalError as error:
            if "finding id" not in str(error):
                raise
    return query()
