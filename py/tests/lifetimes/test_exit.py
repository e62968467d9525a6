"""Tools that end the program: by `sys.exit()`, by an interrupt, or at once."""

from __future__ import annotations

import time

import pytest
from programs import HOSTED, HOSTS, SYNC, is_quiet, program

from conftest import Serve

KINDS = ["def", "async def"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("statement", "code", "said"),
    [
        ("sys.exit(3)", 3, b""),
        ("raise SystemExit(4)", 4, b""),
        ("sys.exit()", 0, b""),
        ("sys.exit('that is all')", 1, b"that is all\n"),
    ],
)
def test_a_tool_that_exits(run_file: Serve, kind: str, statement: str, code: int, said: bytes) -> None:
    """The call is answered, and the process ends as it would without a server."""
    peer = run_file(program(f"@server.tool()\n{kind} leave() -> str: {statement}\n"))
    assert peer.failure("leave").startswith("Error calling tool 'leave': SystemExit")
    assert peer.ended() == code
    assert peer.stderr == said


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", HOSTED)
def test_a_tool_of_an_existing_app_that_exits(run_file: Serve, host: str, kind: str) -> None:
    peer = run_file(program(f"@server.tool()\n{kind} leave() -> str: sys.exit(3)\n", host=host))
    answer = peer.answer(peer.begin("leave"))
    assert "error" in answer or answer["result"]["isError"] is True
    assert peer.ended() == 3
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_exit_can_be_caught(run_file: Serve, kind: str, loop: str) -> None:
    """`run()` raises what the tool raised, on either kind of loop."""
    if loop == "uvloop":
        pytest.importorskip("uvloop")
    source = f"""
    @server.tool()
    {kind} leave() -> str: raise KeyboardInterrupt("by hand")
    @server.tool()
    async def other(): pass
    """
    run = f"""
    try:
        server.run(loop="{loop}")
    except KeyboardInterrupt as error:
        print(error)
        sys.exit(7)
    """
    peer = run_file(program(source, run=run))
    assert peer.failure("leave") == "Error calling tool 'leave': KeyboardInterrupt: by hand"
    assert peer.ended() == 7
    assert peer.stderr == b"by hand\n"


def test_an_exit_with_other_calls_in_flight(run_file: Serve) -> None:
    """The code is the tool's, whoever is left behind; a thread that was left running holds nothing up."""
    source = """
    @server.tool()
    def leave() -> str:
        threading.Timer(600, print).start()
        sys.exit(3)
    atexit.register(print, "goodbye")
    """
    peer = run_file(program(SYNC, source))
    peer.begin("block")
    peer.hears(b"begun")
    began = time.monotonic()
    peer.failure("leave")
    assert peer.ended() == 3
    assert time.monotonic() - began < 8
    assert peer.stderr == b"begun\ngoodbye\n"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("host", HOSTS)
def test_a_tool_that_ends_the_process_at_once(run_file: Serve, host: str, kind: str) -> None:
    source = f"atexit.register(print, 'goodbye')\n@server.tool()\n{kind} leave() -> str: os._exit(5)\n"
    peer = run_file(program(source, host=host))
    peer.begin("leave")
    assert peer.ended() == 5
    assert peer.line() is None
    assert b"goodbye" not in peer.stderr
