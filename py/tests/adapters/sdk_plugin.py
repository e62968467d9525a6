"""Points the official SDK's own interaction tests at our roads.

The source distribution of `mcp` carries its tests. Unpacked, without its `src` (so that the installed
package is what is tested), they run against a server of theirs that is served by the engine over real pipes
in the test's own process:

    FERROMCP_ROAD=dispatcher pytest -p sdk_plugin -p no:cacheprovider -s tests/interaction -k in-memory

`-s`, because serving moves the process's standard descriptors for a moment, as pytest's capturing does.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
import mcp_types
import pytest
from mcp.client.client import Client
from mcp.shared.message import SessionMessage
from mcp_types.version import LATEST_HANDSHAKE_VERSION, MODERN_PROTOCOL_VERSIONS

from ferromcp._native import Server as NativeServer
from ferromcp.adapters import adapt, choose

ROAD = os.environ.get("FERROMCP_ROAD")
served: list[str] = []


def start(native: NativeServer, read: int, write: int) -> None:
    """Starts the native server on these descriptors instead of 0 and 1."""
    sys.stdout.flush()
    saved = os.dup(0), os.dup(1)
    os.dup2(read, 0)
    os.dup2(write, 1)
    try:
        native.start_stdio(asyncio.get_running_loop(), {"drain_ms": 2000})
    finally:
        for descriptor, kept in enumerate(saved):
            os.dup2(kept, descriptor)
            os.close(kept)
        os.close(read)
        os.close(write)


@asynccontextmanager
async def lines(read: int, write: int) -> AsyncIterator[Any]:
    """A client transport over a pair of descriptors."""
    loop = asyncio.get_running_loop()
    received_in, received = anyio.create_memory_object_stream[SessionMessage | Exception](float("inf"))
    to_send, to_send_out = anyio.create_memory_object_stream[SessionMessage](0)
    reader = asyncio.StreamReader(limit=1 << 26)
    source, _ = await loop.connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(read, "rb", 0)
    )

    async def receive() -> None:
        async with received_in:
            while line := await reader.readline():
                message = mcp_types.jsonrpc_message_adapter.validate_json(line, by_name=False)
                await received_in.send(SessionMessage(message))

    async def send() -> None:
        async with to_send_out:
            async for item in to_send_out:
                text = item.message.model_dump_json(by_alias=True, exclude_unset=True)
                os.write(write, text.encode() + b"\n")
        os.close(write)

    async with anyio.create_task_group() as group:
        group.start_soon(receive)
        group.start_soon(send)
        try:
            yield received, to_send
        finally:
            await to_send.aclose()
            with anyio.move_on_after(5):
                await asyncio.sleep(0)
                while not reader.at_eof():
                    await asyncio.sleep(0.001)
            source.close()
            await received.aclose()
            group.cancel_scope.cancel()


@asynccontextmanager
async def connect(
    server: Any, *, spec_version: str = LATEST_HANDSHAKE_VERSION, **options: Any
) -> AsyncIterator[Client]:
    """The SDK's own client, connected to `server` on the engine."""
    adapter = adapt(server, choose(server, ROAD))
    native = NativeServer(adapter.config())
    adapter.bind(native)
    there, to_server = os.pipe()
    to_client, here = os.pipe()
    os.set_inheritable(to_server, False)
    async with adapter.lifespan():
        start(native, there, here)
        over = native.finished()
        served.append(spec_version)
        try:
            mode = spec_version if spec_version in MODERN_PROTOCOL_VERSIONS else "legacy"
            async with Client(lines(to_client, to_server), mode=mode, **options) as client:
                yield client
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(5):
                await over
            native.acknowledge()


def pytest_collection_modifyitems(session: pytest.Session) -> None:
    from tests.interaction import conftest  # type: ignore[import-not-found]  # of the SDK's own tests

    conftest._FACTORIES["in-memory"] = connect


def pytest_terminal_summary(terminalreporter: Any) -> None:
    terminalreporter.write_line(f"ferromcp: road {ROAD or 'auto'}, {len(served)} connections served")
