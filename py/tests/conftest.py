"""Fixtures: server processes that end with their test."""

from __future__ import annotations

import signal
import textwrap
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from support import Peer, write_server

Serve = Callable[..., Peer]

# A run in the background of a shell ignores SIGINT, and so would every server that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Serve]:
    """Starts a server of these declarations, and gives its client."""
    with ExitStack() as stack:

        def start(source: str, env: dict[str, str] | None = None) -> Peer:
            path = write_server(tmp_path, textwrap.dedent(source))
            return stack.enter_context(Peer(str(path), env=env))

        yield start


@pytest.fixture
def run_file(tmp_path: Path) -> Iterator[Serve]:
    """Starts a whole program, under flags of the interpreter, and gives the client of the server in it."""
    with ExitStack() as stack:

        def start(source: str, *flags: str, env: dict[str, str] | None = None) -> Peer:
            path = tmp_path / "program.py"
            path.write_text(textwrap.dedent(source))
            return stack.enter_context(Peer(*flags, str(path), env=env))

        yield start
