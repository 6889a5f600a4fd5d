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
from lifelong.home import Home, existing_home
from lifelong.memory import DEFAULT_USER, Store
from lifelong.serve.hook.endpoint import answering_hooks
from lifelong.serve.http.app import API, create_app
from lifelong.serve.http.connection import MAX_HEAD_BYTES, LimitedConnection
from lifelong.serve.http.guard import host_name, is_loopback
from lifelong.serve.terminal import show_log
from lifelong.tokens import Tokens

log = logging.getLogger("lifelong.serve")

PORT = 8377
TOKEN_VARIABLE = "LIFELONG_TOKEN"
WORKER_RESTART_SECONDS = 3.0
WORKER_STOP_SECONDS = 10.0  # to finish what is under way
SHUTDOWN_SECONDS = 10  # for open requests
BACKLOG = 256
ALL_ADDRESSES = ("", "0.0.0.0", "::", "[::]")
ALLOW_HOST_HINT = ". Other machines are refused until their name for it is allowed: add --allow-host NAME"
MIN_TOKEN_CHARS = 16  # where others could guess it
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
    token, reachable = _validate_token(token, host, hosts)
    if reachable and not token and not _has_database(home):
        raise _token_required(reachable)
    show_log(Console(stderr=True), logging.WARNING, "lifelong", "uvicorn")
    with Store.open(home) as store:
        store.existing_user(user)
        if reachable and not token and not store.tokens.exist(live=True):
            raise _token_required(reachable)
        store.tokens.prune_log()
        with _listening(host, port) as listener:
            address = _address(listener, host)
            shown = f"{address}/" if user == DEFAULT_USER else f"{address}/?user={user}"
            app = create_app(store, token=token, hosts=[host, *hosts], token_required=bool(reachable))
            if store.settings.telemetry.enabled:
                from lifelong.telemetry import RequestTracing

                app.add_middleware(RequestTracing, prefix=API)

            def ready() -> None:
                hint = "" if hosts or host not in ALL_ADDRESSES else ALLOW_HOST_HINT
                sys.stdout.write(f"lifelong serves {store.home.path} at {shown} (Ctrl-C ends it){hint}\n")
                sys.stdout.flush()  # also into a pipe
                if open_browser:
                    webbrowser.open(shown)

            with _quiet_signals(), answering_hooks(store), _worker(store) if worker else nullcontext():
                Server(app, ready).run([listener])


def _validate_token(token: str, host: str, hosts: Sequence[str]) -> tuple[str, str]:
    """Return the token, stripped, and by what others can reach the server, if they can. Raise `InputError` where
    the token is too weak for that."""
    if token and not re.fullmatch(r"[!-~]+", token.strip()):
        raise InputError(f"The token must be ASCII without spaces, since it goes into a header. {MAKE_ONE}")
    if Tokens.has_shape(token.strip()):
        raise InputError(
            f"The token is one that `lifelong token create` made. Leave {TOKEN_VARIABLE} out: the tokens of a "
            "home are accepted without it, each for what it may do."
        )
    if bad := next((name for name in hosts if not host_name(name)), None):
        raise InputError(f"{bad!r:.200} is not a host name. Give the name as it is in an address.")
    others = [name for name in (host, *hosts) if not is_loopback(host_name(name))]
    if others and token and len(token.strip()) < MIN_TOKEN_CHARS:
        raise InputError(f"Others could guess a token of less than {MIN_TOKEN_CHARS} characters. {MAKE_ONE}")
    return token.strip(), (others[0] or "Every address") if others else ""


def _has_database(home: str | Path) -> bool:
    """Return whether there is a home in which tokens could be."""
    try:
        return bool(existing_home(home))
    except StorageUnavailable:
        return False


def _token_required(reachable: str) -> InputError:
    return InputError(
        f"{reachable} can be reached by others, so a token is required. Make one with `lifelong token create`, "
        f"set {TOKEN_VARIABLE}, or listen on 127.0.0.1 and allow no other name."
    )


class Server(uvicorn.Server):
    """uvicorn's server. It calls `ready` once it answers, and disconnects listeners to events before it ends,
    because it would wait for them."""

    def __init__(self, app: FastAPI, ready: Callable[[], None]) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                http=LimitedConnection,
                h11_max_incomplete_event_size=MAX_HEAD_BYTES,
                ws="none",
                access_log=False,
                log_config=None,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=SHUTDOWN_SECONDS,
            )
        )
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._app.state.events.close()
        await super().shutdown(sockets)


def _listening(host: str, port: int) -> socket.socket:
    try:
        family = socket.AF_INET6 if ":" in host else socket.AF_INET
        return socket.create_server((host.strip("[]"), port), family=family, backlog=BACKLOG)
    except (OSError, OverflowError) as error:
        why = str(getattr(error, "strerror", None) or error).partition(" (")[0]
        raise StorageUnavailable(
            f"Cannot listen on {host}, port {port}: {why}. Choose others with --host and --port."
        ) from error


def _address(listener: socket.socket, host: str) -> str:
    port = listener.getsockname()[1]
    name = "127.0.0.1" if host in ("", "0.0.0.0") else host
    return f"http://[{name.strip('[]')}]:{port}" if ":" in name else f"http://{name}:{port}"


@contextmanager
def _quiet_signals() -> Iterator[None]:
    """Ignore the signal that uvicorn sends itself again after its end: the worker still has to be stopped."""
    ignored = (signal.SIGINT, signal.SIGTERM)
    before = [signal.signal(number, lambda number, frame: None) for number in ignored]
    try:
        yield
    finally:
        for number, handler in zip(ignored, before, strict=True):
            signal.signal(number, handler)


@contextmanager
def _worker(store: Store) -> Iterator[None]:
    """Run a worker process beside the server, and start it again when it dies."""
    over = threading.Event()
    keeper = threading.Thread(target=_keep_worker, args=(store, over), name="lifelong-worker")
    keeper.start()
    try:
        yield
    finally:
        over.set()
        keeper.join()


def _keep_worker(store: Store, over: threading.Event) -> None:
    """Keep a worker running until `over`. Its status notes, and its end, go into the health of every user."""
    while not over.is_set():
        notes: dict[str, list[str]] = {}
        try:
            process = _start_worker(store.home)
        except OSError as error:  # out of memory or processes
            why = f"the worker cannot be started: {error}"
        else:
            with process:
                listener = threading.Thread(target=_listen, args=(process, store, notes))
                listener.start()
                with _waking(store, process):
                    while process.poll() is None and not over.wait(0.2):
                        pass
                _end(process)
                listener.join()
            why = f"the worker ended ({process.returncode})"
        if not over.is_set():
            log.warning("%s; trying again in %g s", why, WORKER_RESTART_SECONDS)
            note = f"Nothing is organized: {why}. The server tries again every few seconds."
            store.set_worker_notes({**notes, "": [note, *notes.get("", ())]})
            over.wait(WORKER_RESTART_SECONDS)


def _start_worker(home: Home) -> subprocess.Popen[bytes]:
    """Start a worker that reads from a pipe, which closes when the server ends, however it ends; so the worker
    ends, too."""
    return subprocess.Popen(
        [sys.executable, "-m", "lifelong", "worker", "--home", str(home.path), "--beside"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != TOKEN_VARIABLE},  # it needs no token
        start_new_session=True,
    )


@contextmanager
def _waking(store: Store, process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Wake the worker whenever something is marked to be organized, by a byte into its pipe. No request waits for
    the pipe: a full one wakes the worker anyway, and a worker that died looks for work when it starts again."""
    assert process.stdin
    pipe, lock, is_open = process.stdin.fileno(), threading.Lock(), True
    os.set_blocking(pipe, False)

    def wake() -> None:
        with lock, suppress(OSError):
            if is_open:  # the number of a closed pipe may be another file's
                os.write(pipe, b"\n")

    store.on_wake(wake)
    try:
        yield
    finally:
        with lock:
            is_open = False


def _listen(process: subprocess.Popen[bytes], store: Store, notes: dict[str, list[str]]) -> None:
    """Take over the status notes that the worker prints, a line of JSON each."""
    assert process.stdout
    for line in process.stdout:
        with suppress(ValueError):  # a library that prints
            if isinstance(printed := json.loads(line), dict):
                notes.clear()
                notes.update(printed)
                store.set_worker_notes(printed)


def _end(process: subprocess.Popen[bytes]) -> None:
    """Let the worker finish what is under way, if it has not ended already."""
    assert process.stdin
    process.stdin.close()
    try:
        process.wait(WORKER_STOP_SECONDS)
    except subprocess.TimeoutExpired:
        log.warning(
            "the worker did not finish in %g s and was killed; the next one takes over its work",
            WORKER_STOP_SECONDS,
        )
        process.kill()
        process.wait()
