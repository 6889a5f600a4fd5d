"""`lifelong serve`: the API, the page and MCP in this process, and the worker in one of its own beside it."""

from __future__ import annotations

import json
import logging
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import webbrowser
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path

import uvicorn
from fastapi import FastAPI
from rich.console import Console

from lifelong.errors import InputError, StorageUnavailable
from lifelong.home import Home
from lifelong.memory import DEFAULT_USER, Store
from lifelong.serve.http.app import create_app
from lifelong.serve.http.connection import Connection
from lifelong.serve.http.guard import LARGEST_HEADERS, is_loopback, name_of
from lifelong.serve.terminal import show_log

log = logging.getLogger("lifelong.serve")

PORT = 8377
TOKEN = "LIFELONG_TOKEN"  # in the environment
PAUSE = 3.0  # seconds before a worker that died is started again
PATIENCE = 10.0  # seconds that a worker gets to finish what is under way
GRACE = 10  # seconds that open requests get
BACKLOG = 256
ANY = ("", "0.0.0.0", "::", "[::]")
OTHERS = ". Other machines are refused until their name for it is allowed: add --allow-host NAME"
LEAST_TOKEN = 16  # characters, where others can guess
MAKE_ONE = 'Make one with: python3 -c "import secrets; print(secrets.token_urlsafe(32))"'


def serve(
    home: str | Path,
    *,
    host: str = "127.0.0.1",
    port: int = PORT,
    token: str = "",
    hosts: Sequence[str] = (),
    user: str = DEFAULT_USER,
    worker: bool = True,
    open_browser: bool = False,
) -> None:
    """Serve a home until SIGINT or SIGTERM, and print the address once it answers. Port 0 is any that is free.
    `hosts` are further names that the server is called by. Off loopback, and for a name that is not this machine's
    alone, there must be a token."""
    token = _checked_token(token, host, hosts)
    show_log(Console(stderr=True), logging.WARNING, "lifelong", "uvicorn")
    with Store.open(home) as store:
        store.existing_user(user)
        with _listening(host, port) as listener:
            address = _address(listener, host)
            shown = f"{address}/" if user == DEFAULT_USER else f"{address}/?user={user}"
            app = create_app(store, token=token, hosts=[host, *hosts])

            def ready() -> None:
                more = "" if hosts or host not in ANY else OTHERS
                sys.stdout.write(f"lifelong serves {store.home.path} at {shown} (Ctrl-C ends it){more}\n")
                sys.stdout.flush()  # also into a pipe
                if open_browser:
                    webbrowser.open(shown)

            with _quiet_signals(), _worker(store) if worker else nullcontext():
                _Server(app, ready).run([listener])


def _checked_token(token: str, host: str, hosts: Sequence[str]) -> str:
    """The token, where it fits who may come by."""
    if token and not re.fullmatch(r"[!-~]+", token.strip()):
        raise InputError(f"The token must be ASCII without spaces, since it goes into a header. {MAKE_ONE}")
    if nameless := next((name for name in hosts if not name_of(name)), None):
        raise InputError(f"{nameless!r:.200} is no host's name. Give one as it stands in an address.")
    others = [name for name in (host, *hosts) if not is_loopback(name_of(name))]
    if others and not token:
        raise InputError(
            f"{others[0] or 'Every address'} can be reached by others, so a token is required. Set {TOKEN}, "
            "or listen on 127.0.0.1 and allow no other name."
        )
    if others and len(token.strip()) < LEAST_TOKEN:
        raise InputError(f"Others could guess a token of less than {LEAST_TOKEN} characters. {MAKE_ONE}")
    return token.strip()


class _Server(uvicorn.Server):
    """Says when it answers, and lets those who listen to events go before it ends: it would wait for them."""

    def __init__(self, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=Connection,
                h11_max_incomplete_event_size=2 * LARGEST_HEADERS,  # what is kept of a head that does not end
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=GRACE,
            )
        )
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.watches.close()
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0]
        raise StorageUnavailable(
            f"Nothing can listen on {host}, port {port}: {why}. Name others with --host and --port."
        ) from error


def _address(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    name = "127.0.0.1" if host in ("", "0.0.0.0") else host
    return f"http://[{name.strip('[]')}]:{port}" if ":" in name else f"http://{name}:{port}"


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """uvicorn sends itself the signal again that ended it, which must not keep us from ending the worker."""
    told = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, frame: None) for number in told]
    try:
        yield
    finally:
        for number, handler in zip(told, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _worker(store: Store) -> Iterator[None]:
    """A worker beside us, started again when it dies."""
    over = threading.Event()
    keeper = threading.Thread(target=_keep_worker, args=(store, over), name="lifelong-worker")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()


def _keep_worker(store: Store, over: threading.Event) -> None:
    """What the worker says of itself, and that it ended, comes into the health of every memory."""
    while not over.is_set():
        said: dict[str, list[str]] = {}
        try:
            process = _start_worker(store.home)
        except OSError as error:  # no memory or no processes left just now
            why = f"no worker can be started: {error}"
        else:
            with process:
                listener = threading.Thread(target=_listen, args=(process, store, said))
                listener.start()
                while process.poll() is None and not over.wait(0.2):
                    pass
                _end(process)
                listener.join()
            why = f"the worker ended ({process.returncode})"
        if not over.is_set():
            log.warning("%s. Another one is tried in %g s", why, PAUSE)
            note = f"Nothing is organized: {why}. Another one is tried every few seconds."
            store.set_worker_notes({**said, "": [note, *said.get("", ())]})
            over.wait(PAUSE)


def _start_worker(home: Home) -> subprocess.Popen[bytes]:
    """It reads from a pipe that closes with us, however we end."""
    return subprocess.Popen(
        [sys.executable, "-m", "lifelong", "worker", "--home", str(home.path), "--beside"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != TOKEN},  # it needs none
        start_new_session=True,
    )


def _listen(process: subprocess.Popen[bytes], store: Store, said: dict[str, list[str]]) -> None:
    assert process.stdout
    for line in process.stdout:
        with suppress(ValueError):  # a library that prints
            if isinstance(told := json.loads(line), dict):
                said.clear()
                said.update(told)
                store.set_worker_notes(told)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let it finish what is under way, if it has not ended already."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(PATIENCE)
    except subprocess.TimeoutExpired:
        log.warning(
            "the worker did not finish in %g s, and is killed: another one takes over what it held", PATIENCE
        )
        process.kill()
        process.wait()
