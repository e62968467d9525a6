"""The process round the server: its descriptors, what it costs to start. How it ends is in `lifetimes/`."""

from __future__ import annotations

import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path

from conftest import Serve
from support import Peer, write_server

ECHO = "@server.tool\ndef echo(text: str) -> str: return text\n"


def test_nothing_but_input(tmp_path: Path) -> None:
    path = write_server(tmp_path, ECHO)
    call = {
        "name": "echo",
        "arguments": {"text": "x"},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    }
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}) + "\n"
    done = subprocess.run(
        [sys.executable, path], input=line.encode(), capture_output=True, timeout=20, check=True
    )
    assert json.loads(done.stdout)["result"]["content"][0]["text"] == "x"
    done = subprocess.run(
        [sys.executable, path], stdin=subprocess.DEVNULL, capture_output=True, timeout=20, check=True
    )
    assert done.stdout == b""


def test_the_reader_is_gone(tmp_path: Path) -> None:
    path = write_server(tmp_path, ECHO)
    reader, writer = os.pipe()
    process = subprocess.Popen(
        [sys.executable, path], stdin=subprocess.PIPE, stdout=writer, stderr=subprocess.PIPE
    )
    os.close(writer)
    os.close(reader)
    try:
        assert process.wait(20) == 0
    finally:
        process.kill()
        process.communicate()


def test_what_is_printed_does_not_reach_the_peer(run_file: Serve) -> None:
    peer = run_file(
        """
        import os, subprocess, sys
        from ferromcp import Server
        server = Server("s")
        @server.tool
        def noisy(text: str) -> str:
            print("printed")
            sys.__stdout__.write("written\\n")
            os.write(1, b"raw\\n")
            subprocess.run(["echo", "child"], check=True)
            return text
        @server.tool
        def child_input() -> str:
            return subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout.decode()
        print("before", flush=False)
        server.run()
        print("after")
        """
    )
    assert peer.text("noisy", text="x") == "x"
    assert peer.text("child_input") == ""
    assert peer.finish() == 0
    assert peer.line() is None
    for word in (b"before", b"printed", b"written", b"raw", b"child", b"after"):
        assert word in peer.stderr


def test_debug_output(serve: Serve) -> None:
    peer = serve(ECHO, env={"MCP_DEBUG": "1"})
    assert peer.text("echo", text="needle") == "needle"
    assert peer.finish() == 0
    assert peer.stderr.count(b"needle") == 2


def spent(*arguments: str) -> float:
    """Processor seconds of a whole life; the clock on the wall would measure the machine's other work."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with Peer(*arguments) as peer:
        if len(arguments) == 1:
            peer.text("echo", text="x")
            peer.close()
        peer.ended()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def test_spawn_to_first_answer(tmp_path: Path) -> None:
    path = str(write_server(tmp_path, ECHO))
    spent(path)
    bare = min(spent("-c", "pass") for _ in range(10))
    ours = min(spent(path) for _ in range(10))
    assert ours - bare < 0.060


def test_import_time(tmp_path: Path) -> None:
    report = subprocess.run(
        [sys.executable, "-X", "importtime", "-c", "import ferromcp"], capture_output=True, check=True
    ).stderr.decode()
    (total,) = re.findall(r"\|\s+(\d+) \| ferromcp$", report, re.M)
    assert int(total) < 150_000  # microseconds on the wall; a fifth of it on a machine that does nothing else
