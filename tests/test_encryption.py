"""The database at rest: encrypted with a key, and clear sentences where the key or the cipher is missing (F5).

The cipher comes under the import name of `apsw` and takes its place, so the tests that need it are skipped here
and run by `test_with_the_cipher`, in an environment of its own.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import apsw
import pytest

from lifelong import Memory, Store
from lifelong.errors import ConfigError, InputError, StorageBusy, WrongKey
from lifelong.serve.restore import restore
from tests.command_line import Line
from tests.conftest import absent

ROOT = Path(__file__).parent.parent
KEY = "four words it's long"
SAID = "I am allergic to walnuts."
ENCRYPTED = bytes(range(1, 17)) + b"\x10\x00\x02\x02\x20\x40\x20\x20" + bytes(4072)

cipher = pytest.mark.skipif(not hasattr(apsw, "mc_version"), reason="test_with_the_cipher runs it")
plain = pytest.mark.skipif(hasattr(apsw, "mc_version"), reason="is about an apsw that cannot encrypt")


def remembering(home: Path, key: str = "") -> Memory:
    return Memory.open(home, storage={"key": key})


def add(home: Path, key: str = "") -> None:
    with remembering(home, key) as memory:
        memory.add(SAID)
        memory.end_session()
        memory.organize()


def knows(home: Path, key: str = "") -> bool:
    with remembering(home, key) as memory:
        assert memory.admin.check() == []
        return any("walnuts" in hit.text for hit in memory.search("walnuts"))


def readable(folder: Path) -> list[str]:
    """The files in which the word stands for everybody to read."""
    return [file.name for file in folder.rglob("*") if file.is_file() and b"walnuts" in file.read_bytes().lower()]


def bytes_of(folder: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in folder.rglob("*") if file.is_file()}


# Without the cipher


@plain
def test_a_key_without_the_cipher_stores_nothing_in_plain(tmp_path: Path) -> None:
    """Plain SQLite ignores a key without a word."""
    with pytest.raises(ConfigError, match=r"cannot encrypt.*pip install 'lifelong\[encryption\]'.*apsw-sqlite3mc"):
        remembering(tmp_path, KEY)
    assert bytes_of(tmp_path) == {}
    with pytest.raises(ConfigError, match=r"cannot encrypt"):
        Store.change_key(tmp_path, "", KEY)


def test_an_encrypted_home_without_a_key_says_so_and_stays_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "lifelong.db").write_bytes(ENCRYPTED)
    with pytest.raises(WrongKey, match=r"is encrypted, and there is no key.*LIFELONG_STORAGE_KEY"):
        remembering(tmp_path)
    assert bytes_of(tmp_path) == {"lifelong.db": ENCRYPTED}


def test_a_key_beside_the_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "lifelong.toml").write_text(f'[storage]\nkey = "{KEY}"\n')
    with pytest.raises(ConfigError, match=r"beside the database") as refused:
        Memory.open(tmp_path)
    assert KEY not in str(refused.value)


def test_a_key_is_not_shown(line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LIFELONG_STORAGE_KEY", KEY)
    assert KEY not in line.done("config", "--json", "--home", tmp_path).out


def test_a_key_is_not_for_postgresql(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"names a PostgreSQL.*Encrypt its disk"):
        Memory.open(tmp_path, storage={"url": "postgresql://localhost/x", "key": KEY})


@plain
def test_a_keyring_that_is_not_installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "keyring", None)
    with pytest.raises(ConfigError, match=r"keyring is not installed.*pip install 'lifelong\[encryption\]'"):
        Memory.open(tmp_path, storage={"keyring": True})


def test_encrypting_needs_a_key(line: Line, tmp_path: Path) -> None:
    add(tmp_path)
    answer = line("encrypt", "--home", tmp_path)
    assert answer.code == 2
    assert "There is no key. Set LIFELONG_STORAGE_KEY" in answer.err


# With it


@cipher
def test_no_byte_of_database_log_and_backup_is_readable(tmp_path: Path) -> None:
    home = tmp_path / "home"
    with remembering(home, KEY) as memory:
        memory.add(SAID)
        memory.end_session()
        memory.organize()
        assert (home / "lifelong.db-wal").stat().st_size > 0
        assert any("walnuts" in hit.text for hit in memory.search("walnuts"))
        memory.admin.backup(tmp_path / "copy.db")
        assert readable(tmp_path) == []
    assert readable(tmp_path) == []
    assert (home / "lifelong.db").stat().st_size > 100_000
    assert knows(home, KEY)
    add(tmp_path / "plain")
    assert readable(tmp_path) == ["lifelong.db"], "the test would see it"


@cipher
@pytest.mark.parametrize("key", ["", "another key", KEY.upper()])
def test_another_key_or_none_opens_nothing_and_changes_nothing(tmp_path: Path, key: str) -> None:
    add(tmp_path, KEY)
    before = bytes_of(tmp_path)
    with pytest.raises(WrongKey, match=r"Nothing was changed.*LIFELONG_STORAGE_KEY"):
        remembering(tmp_path, key)
    assert bytes_of(tmp_path) == before
    assert knows(tmp_path, KEY)


@cipher
def test_a_plain_home_with_a_key_says_how_to_encrypt_it(
    tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(tmp_path)
    before = bytes_of(tmp_path)
    with pytest.raises(WrongKey, match=r"is not encrypted.*Nothing was changed.*`lifelong encrypt`"):
        remembering(tmp_path, KEY)
    assert bytes_of(tmp_path) == before
    monkeypatch.setenv("LIFELONG_STORAGE_KEY", KEY)
    assert "is encrypted" in line.done("encrypt", "--home", tmp_path).out
    assert readable(tmp_path) == []
    assert knows(tmp_path, KEY)
    assert "encrypted already" in line("encrypt", "--home", tmp_path).err
    assert "not encrypted any more" in line.done("encrypt", "--remove", "--home", tmp_path).out
    monkeypatch.delenv("LIFELONG_STORAGE_KEY")
    assert knows(tmp_path)


@cipher
def test_a_key_is_changed(tmp_path: Path, line: Line, monkeypatch: pytest.MonkeyPatch) -> None:
    add(tmp_path, KEY)
    monkeypatch.setenv("LIFELONG_STORAGE_KEY", "the next one")
    monkeypatch.setenv("LIFELONG_OLD_KEY", "not the old one")
    assert "The old key does not open" in line("encrypt", "--home", tmp_path).err
    monkeypatch.setenv("LIFELONG_OLD_KEY", KEY)
    line.done("encrypt", "--home", tmp_path)
    assert knows(tmp_path, "the next one")
    with pytest.raises(WrongKey):
        remembering(tmp_path, KEY)


@cipher
def test_a_raw_key_opens(tmp_path: Path) -> None:
    """One that is random already need not be derived again for each connection."""
    raw = f"raw:{random.randbytes(32).hex()}"
    add(tmp_path, raw)
    assert knows(tmp_path, raw)
    assert readable(tmp_path) == []


@cipher
def test_a_key_is_not_changed_while_the_home_is_open(tmp_path: Path) -> None:
    with remembering(tmp_path) as memory:
        memory.add(SAID)
        with pytest.raises(StorageBusy, match=r"Another process works with.*stop it"):
            Store.change_key(tmp_path, "", KEY)
        memory.add("I live in Lisbon.")
    assert knows(tmp_path)
    with pytest.raises(InputError, match=r"There is no database"):
        Store.change_key(tmp_path / "none", "", KEY)


@cipher
def test_a_backup_is_restored_with_its_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with remembering(tmp_path / "home", KEY) as memory:
        memory.add(SAID)
        memory.admin.backup(tmp_path / "copy.db")
    with pytest.raises(WrongKey, match=r"copy.db is encrypted.*with the key it was made with"):
        restore(tmp_path / "copy.db", tmp_path / "no key")
    monkeypatch.setenv("LIFELONG_STORAGE_KEY", KEY)
    restore(tmp_path / "copy.db", tmp_path / "restored")
    assert knows(tmp_path / "restored", KEY)
    assert readable(tmp_path) == []


@cipher
def test_what_is_forgotten_is_not_left_in_encrypted_pages(tmp_path: Path) -> None:
    """Its bytes cannot be looked for, so the file is always written again."""
    home = tmp_path / "home"
    with remembering(home, KEY) as memory:
        memory.add([{"role": "user", "content": f"Note {number}: walnuts."} for number in range(300)])
        report = memory.forget(matching="walnuts")
        assert memory.admin.prove_forgotten(report).found == ()
    Store.change_key(home, KEY, "")
    assert readable(home) == []


@cipher
def test_the_key_comes_from_the_keyring(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "PYTHON_KEYRING_BACKEND": "keyrings.alt.file.PlaintextKeyring",
        "XDG_DATA_HOME": str(tmp_path / "keys"),
        "LIFELONG_STORAGE_KEYRING": "true",
    }

    def run(*words: str, given: str = "") -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", *words]
        return subprocess.run(command, env=environment, input=given, capture_output=True, text=True, check=False)

    home = str(tmp_path / "home")
    missing = run("lifelong", "init", "--home", home)
    assert "keyring has no key for this home. Store one: keyring set lifelong" in missing.stderr
    stored = run("keyring", "set", "lifelong", os.path.realpath(home), given=KEY)
    assert stored.returncode == 0, stored.stderr
    assert run("lifelong", "init", "--home", home).returncode == 0
    assert run("lifelong", "add", SAID, "--home", home).returncode == 0
    assert "walnuts" in run("lifelong", "search", "walnuts", "--home", home).stdout
    assert readable(Path(home)) == []
    assert knows(Path(home), KEY)


CHANGE = "import sys; from lifelong import Store; Store.change_key(*sys.argv[1:])"


@cipher
def test_a_key_that_is_changed_may_be_killed(tmp_path: Path) -> None:
    """Changed again, nothing is missing."""
    with remembering(tmp_path) as memory:
        for start in range(0, 5_000, 1_000):
            memory.add([{"role": "user", "content": f"{SAID} {number}"} for number in range(start, start + 1_000)])
    now, other, killed = "", KEY, 0
    for pause in (0, 0.01, 0.03, 0.1, 0.3):
        process = subprocess.Popen([sys.executable, "-c", CHANGE, tmp_path, now, other])
        while process.poll() is None and not (tmp_path / "lifelong.db-journal").exists():
            time.sleep(0.0005)
        time.sleep(pause)
        process.kill()
        if process.wait():
            killed += 1
            with suppress(WrongKey):  # it was killed after its last page
                Store.change_key(tmp_path, now, other)
        now, other = other, now
        assert count(tmp_path, now) == 5_000
    assert killed > 0


def count(home: Path, key: str) -> int:
    with remembering(home, key) as memory:
        assert memory.admin.check() == []
        return memory.admin.stats().items["record"]


# An environment with the cipher


@pytest.mark.soak
def test_with_the_cipher(tmp_path: Path) -> None:
    """By the commands of docs/deploy.md: the tests above, and those of SQLite, in an environment
    in which the cipher is in the place of apsw."""
    python = tmp_path / "venv/bin/python"
    uv = [sys.executable, "-m", "uv"]
    install = [*uv, "pip", "install", "-q", "--python", str(python)]
    for command in (
        [*uv, "venv", "-q", str(tmp_path / "venv"), "--python", sys.executable],
        [*install, f"{ROOT}[encryption]", "pytest", "hypothesis", "keyrings.alt"],
        [*install, "--reinstall", "--no-deps", "apsw-sqlite3mc"],
    ):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            absent(f"an environment with apsw-sqlite3mc cannot be made: {made.stderr[-500:]}")
    tests = ["tests/test_encryption.py", "tests/test_sqlite.py"]
    ran = subprocess.run(
        [
            str(python),
            "-m",
            "pytest",
            "-q",
            "-p",
            "no:cacheprovider",
            "-k",
            # The last one runs as a user who cannot read this environment.
            "not postgres and not Postgres and not read_only_file_in_a_home",
            *tests,
        ],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "CI"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-5000:]
    assert "test_with_the_cipher runs it" not in ran.stdout
