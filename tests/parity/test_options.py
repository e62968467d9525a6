"""The JSON that options travel as: every door takes every member that the list names, and no other.

The list's values are given, so a value of a wrong type or out of its bounds would be found here too.
"""

from __future__ import annotations

import ctypes
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from ferromcp import _native
from surface import LIST, Row, read

ROOT = Path(__file__).resolve().parents[2]
CONFIGURE = Path(__file__).with_name("node_configure.cjs")
INFO = {"info": {"name": "parity", "version": "1"}}
OK, INVALID_ARGUMENT = 0, 1


def members(prefix: str, door: str) -> list[tuple[str, Row]]:
    """The members under a prefix that a door is to take, without it."""
    return [
        (name.removeprefix(prefix), row)
        for row in read(LIST.read_text()).rows
        for name in row.cells[door].names
        if name.startswith(prefix)
    ]


def config_with(path: str, value: object) -> str:
    """A configuration with one member, such as `limits.maxDepth`."""
    *outer, last = path.split(".")
    config: dict[str, Any] = json.loads(json.dumps(INFO))
    place = config
    for key in outer:
        place = place.setdefault(key, {})
    place[last] = value
    return json.dumps(config)


def by_python(configs: list[str]) -> list[str | None]:
    """What the native module of Python says to each; None: it takes it."""

    def told(config: str) -> str | None:
        try:
            _native.Server(config)
        except Exception as error:
            return str(error)
        return None

    return [told(config) for config in configs]


def by_node(configs: list[str]) -> list[str | None]:
    """What the addon of Node says to each."""
    command = [shutil.which("node") or "node", str(CONFIGURE)]
    done = subprocess.run(
        command, input=json.dumps(configs), capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    told: list[str | None] = json.loads(done.stdout)
    return told


class Text(ctypes.Structure):
    """An fmcp_text."""

    _fields_ = (("data", ctypes.c_char_p), ("len", ctypes.c_size_t))

    @classmethod
    def of(cls, text: str) -> Text:
        data = text.encode()
        return cls(data, len(data))


def library() -> ctypes.CDLL:
    """The C library, as it is built for the tests."""
    loaded = ctypes.CDLL(str(ROOT / "target" / "debug" / "libferromcp.so"))
    loaded.fmcp_server_from_config.argtypes = [Text, ctypes.c_void_p, ctypes.c_void_p]
    loaded.fmcp_server_start_fds.argtypes = [
        ctypes.c_void_p, ctypes.c_int32, ctypes.c_int32, Text, ctypes.c_void_p
    ]  # fmt: skip
    for start_function in (loaded.fmcp_server_start_http, loaded.fmcp_server_start_carrier):
        start_function.argtypes = [ctypes.c_void_p, Text, ctypes.c_void_p]
    loaded.fmcp_server_set_policy.argtypes = [ctypes.c_void_p, Text, ctypes.c_void_p]
    loaded.fmcp_server_free.argtypes = [ctypes.c_void_p]
    loaded.fmcp_server_free.restype = None
    loaded.fmcp_error_text.argtypes = [ctypes.c_void_p]
    loaded.fmcp_error_text.restype = Text
    loaded.fmcp_error_free.argtypes = [ctypes.c_void_p]
    loaded.fmcp_error_free.restype = None
    return loaded


@contextmanager
def server_of(loaded: ctypes.CDLL, config: str) -> Iterator[tuple[ctypes.c_void_p, str | None]]:
    """A server in C, and what the library said to its configuration."""
    server, error = ctypes.c_void_p(), ctypes.c_void_p()
    status = loaded.fmcp_server_from_config(Text.of(config), ctypes.byref(server), ctypes.byref(error))
    told = None
    if status != OK:
        text = loaded.fmcp_error_text(error)
        told = text.data[: text.len].decode()
        loaded.fmcp_error_free(error)
    yield server, told
    loaded.fmcp_server_free(server)


def by_c(configs: list[str]) -> list[str | None]:
    """What the C library says to each; C++ stands on it."""
    loaded = library()
    answers: list[str | None] = []
    for config in configs:
        with server_of(loaded, config) as (_, told):
            answers.append(told)
    return answers


TAKERS: dict[str, Callable[[list[str]], list[str | None]]] = {
    "python": by_python,
    "node": by_node,
    "c": by_c,
    "cpp": by_c,
}
every_taker = pytest.mark.parametrize("door", TAKERS)


@every_taker
def test_every_member_of_the_configuration_is_taken(door: str) -> None:
    given = [(path, config_with(path, row.value)) for path, row in members("config.", door)]
    assert len(given) > 20
    told = TAKERS[door]([config for _, config in given])
    assert {path: text for (path, _), text in zip(given, told, strict=True) if text is not None} == {}


@every_taker
def test_a_member_that_the_list_does_not_have_is_refused(door: str) -> None:
    for path in ("otherwise", "limits.otherwise"):
        (told,) = TAKERS[door]([config_with(path, 1)])
        assert told is not None, f"{path} is taken"
        assert "otherwise" in told


def start(options: str) -> int:
    """The status with which a server in C starts on two pipes; it is stopped again."""
    loaded = library()
    pipes = [*os.pipe(), *os.pipe()]
    try:
        with server_of(loaded, json.dumps(INFO)) as (server, told):
            assert told is None, told
            status: int = loaded.fmcp_server_start_fds(server, pipes[0], pipes[3], Text.of(options), None)
        return status
    finally:
        for descriptor in pipes:
            os.close(descriptor)


@pytest.mark.parametrize("door", ["c", "cpp"])
def test_every_option_of_a_run_is_taken(door: str) -> None:
    given = members("options.", door)
    assert given
    for name, row in given:
        assert start(json.dumps({name: row.value})) == OK, name
    assert start('{"otherwise":1}') == INVALID_ARGUMENT


@pytest.mark.parametrize("door", ["c", "cpp"])
def test_every_option_of_http_is_taken(door: str) -> None:
    """The other doors have a type for them, and give the text to the same reader."""
    loaded = library()
    values = {"path": "/parity", "host": "127.0.0.1", "port": 0, "announce": False}
    of_http, of_listener = (
        {name: values.get(name, row.value) for name, row in members(prefix, door)}
        for prefix in ("http.", "listener.")
    )
    assert len(of_http) > 10
    assert len(of_listener) > 5
    carried, listened = loaded.fmcp_server_start_carrier, loaded.fmcp_server_start_http
    for function, given in ((carried, of_http), (listened, of_http | of_listener)):
        for misspelt in (None, *given):
            options = {f"{name}Misspelt" if name == misspelt else name: given[name] for name in given}
            with server_of(loaded, json.dumps(INFO)) as (server, _):
                wanted = OK if misspelt is None else INVALID_ARGUMENT
                assert function(server, Text.of(json.dumps(options)), None) == wanted, misspelt


def policy_with(given: list[tuple[str, Row]], misspelt: str | None = None) -> str:
    """A policy with all members of the list, one of them misspelt."""
    policy: dict[str, Any] = {}
    for path, row in given:
        *outer, last = path.split(".")
        place = policy
        for key in outer:
            place = place.setdefault(key, {})
        place.setdefault(
            f"{last}Misspelt" if path == misspelt else last, {} if row.value is None else row.value
        )
    return json.dumps(policy)


@pytest.mark.parametrize("door", ["c", "cpp"])
def test_every_member_of_a_policy_is_taken(door: str) -> None:
    """The other doors give the text to the same reader, when they start."""
    loaded = library()
    given = members("policy.", door)
    assert len(given) > 20

    def told(policy: str) -> int:
        status: int = loaded.fmcp_server_set_policy(server, Text.of(policy), None)
        return status

    with server_of(loaded, json.dumps(INFO)) as (server, _):
        assert told(policy_with(given)) == OK
        for path, _ in given:
            assert told(policy_with(given, misspelt=path)) == INVALID_ARGUMENT, path
