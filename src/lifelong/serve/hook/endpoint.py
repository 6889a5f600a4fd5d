"""The socket at which a process that has a home open answers its hooks: they import and open nothing."""

from __future__ import annotations

import logging
import os
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from socketserver import StreamRequestHandler, TCPServer, ThreadingMixIn

from filelock import FileLock, Timeout

from lifelong.errors import LifelongError
from lifelong.memory import Store
from lifelong.serve.hook import MAX_EVENT_BYTES, SOCKET
from lifelong.serve.hook.answer import answer_in, store_queued

log = logging.getLogger("lifelong.serve")

RETRY_SECONDS = 2.0  # after which a process tries to take over from one that ended, and looks into the queue
MAX_HEAD_BYTES = 64 * 2**10


@contextmanager
def answering_hooks(store: Store) -> Iterator[None]:
    """Answer the hooks of a home while the block runs, and store what they queued. One process of a home answers;
    the others take over when it ends."""
    over = threading.Event()
    thread = threading.Thread(target=_answer_until, args=(store, over), name="lifelong-hooks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _answer_until(store: Store, over: threading.Event) -> None:
    lock = FileLock(store.home.path / f"{SOCKET}.lock", timeout=0, mode=0o600)
    server: _Server | None = None
    try:
        while not over.is_set():
            if server is None:
                server = _listen(store, lock)
            with suppress(LifelongError, OSError):  # it stays in the queue
                store_queued(store)
            over.wait(RETRY_SECONDS)
    finally:
        if server:
            server.shutdown()
            server.server_close()
            with suppress(OSError):
                (store.home.path / SOCKET).unlink()
            lock.release()


def _listen(store: Store, lock: FileLock) -> _Server | None:
    """Return a server at the socket, for the owner of the home alone; none where another process has it, or there
    can be none here."""
    path = store.home.path / SOCKET
    try:
        lock.acquire()
    except (Timeout, OSError):
        return None
    try:
        path.unlink(missing_ok=True)
        server = _Server(store, str(path))
    except (OSError, AttributeError) as error:
        log.debug("no hooks are answered at %s: %s", path, error)
        lock.release()
        return None
    threading.Thread(target=server.serve_forever, name="lifelong-hook-socket", daemon=True).start()
    return server


class _Server(ThreadingMixIn, TCPServer):
    address_family = getattr(socket, "AF_UNIX", socket.AF_INET)
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, store: Store, path: str) -> None:
        self.store = store
        super().__init__(path, _Handler)  # type: ignore[arg-type]
        os.chmod(path, 0o600)  # noqa: PTH101 - the folder is the owner's alone, too

    def server_bind(self) -> None:
        self.socket.bind(self.server_address)

    def get_request(self) -> tuple[socket.socket, str]:
        return self.socket.accept()[0], ""

    def handle_error(self, request: object, client_address: object) -> None:
        log.warning("a hook was not answered here, and does its work itself: %r", sys.exception())


class _Handler(StreamRequestHandler):
    timeout = 5.0
    server: _Server

    def handle(self) -> None:
        received = self.rfile.read(MAX_HEAD_BYTES + MAX_EVENT_BYTES + 1)
        head, _, data = received.partition(b"\0\0")
        user, tools, *variables = head.decode("utf-8", "surrogateescape").split("\0")
        environment = dict(one.split("=", 1) for one in variables if "=" in one)
        try:
            answer = answer_in(self.server.store, data, user, environment, tools=tools == "tools")
        except LifelongError:
            return  # the hook asks itself, and says why
        self.wfile.write(b"+" + answer.encode())
