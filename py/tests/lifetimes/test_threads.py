"""Threads: a server that is not on the main one, what tools leave running, and who holds the interpreter."""

from __future__ import annotations

import time

import pytest
from programs import ASYNC, BOTH, HOSTED, SYNC, is_quiet, program

from conftest import Serve

# What a program may take that has something to leave behind, on a crowded machine.
BOUNDED = 8.0

ON_A_THREAD = """
thread = threading.Thread(target=ferromcp.run, args=(server,))
thread.start()
thread.join()
"""


@pytest.mark.parametrize("source", BOTH)
def test_a_thread_that_is_not_the_main_one(run_file: Serve, source: str) -> None:
    peer = run_file(program(source, run=ON_A_THREAD))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == b""


@pytest.mark.parametrize("host", HOSTED)
def test_an_existing_app_on_another_thread(run_file: Serve, host: str) -> None:
    peer = run_file(program(SYNC, ASYNC, host=host, run=ON_A_THREAD))
    assert peer.text("echo", text="x") == "x"
    assert peer.text("aecho", text="x") == "x"
    assert peer.finish() == 0
    assert is_quiet(peer.stderr)


def test_another_thread_beside_signal_handlers(run_file: Serve) -> None:
    """The program has handlers for both of the server's signals, so that none would have to be set."""
    handlers = "for number in (signal.SIGTERM, signal.SIGINT): signal.signal(number, print)"
    peer = run_file(program(handlers, SYNC, run=ON_A_THREAD))
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.stderr == b""


def test_a_stuck_call_on_another_thread_leaves_the_program_alone(run_file: Serve) -> None:
    """`run()` returns, the rest of the program goes on, and its end is not held up."""
    run = ON_A_THREAD.replace("(server,)", "(server,), kwargs={'drain': 0.2}") + "print('going on')\n"
    peer = run_file(program(SYNC, "atexit.register(print, 'goodbye')", run=run))
    peer.begin("block")
    peer.hears(b"begun")
    began = time.monotonic()
    assert peer.finish() == 0
    assert time.monotonic() - began < BOUNDED
    assert peer.stderr == b"begun\ngoing on\ngoodbye\n"


# Ways to end the interpreter while a server is at work: the program's main thread comes to its end.
UNDER_WAY = {
    "daemon": """
        threading.Thread(target=ferromcp.run, args=(server,), daemon=True).start()
        ended.wait()
    """,
    "loop": """
        loop = asyncio.new_event_loop()
        serving = loop.create_task(ferromcp.serve(server))
        threading.Thread(target=lambda: (ended.wait(), loop.call_soon_threadsafe(loop.stop))).start()
        loop.run_forever()
    """,
}

END = """
ended = threading.Event()
@server.tool()
def end() -> None:
    ended.set()
@server.tool()
def spin() -> str:
    os.write(2, b"begun\\n")
    while True:
        pass
@server.tool()
def nap() -> str:
    os.write(2, b"begun\\n")
    while True:
        time.sleep(0.001)
"""


@pytest.mark.parametrize("busy", ["spin", "nap", "block", None])
@pytest.mark.parametrize("way", UNDER_WAY)
def test_the_interpreter_ends_under_the_server(run_file: Serve, way: str, busy: str | None) -> None:
    """Whatever the server's threads do in Python then, it ends in good order; exit functions run."""
    peer = run_file(program(SYNC, ASYNC, END, "atexit.register(print, 'goodbye')", run=UNDER_WAY[way]))
    if busy is not None:
        peer.begin(busy)
        peer.hears(b"begun")
    peer.begin("end")
    began = time.monotonic()
    assert peer.ended() == 0
    assert time.monotonic() - began < BOUNDED
    assert peer.stderr.count(b"goodbye") == 1
    # The loop was stopped in the middle of `serve()`, and says so.
    assert is_quiet(peer.stderr) or (way == "loop" and b"was destroyed" in peer.stderr)


def test_an_error_of_the_program_decides_the_exit_code(run_file: Serve) -> None:
    """Also when a call that is stuck in Python makes the end an abrupt one."""
    run = """
        threading.Thread(target=ferromcp.run, args=(server,), daemon=True).start()
        ended.wait()
        raise ValueError("the program's own")
    """
    peer = run_file(program(END, run=run))
    peer.begin("spin")
    peer.hears(b"begun")
    peer.begin("end")
    assert peer.ended() == 1
    assert b"ValueError: the program's own" in peer.stderr


LEFT = {
    "timer": "threading.Timer(600, print).start()",
    "thread": "threading.Thread(target=time.sleep, args=(600,), daemon=False).start()",
    "executor": "concurrent.futures.ThreadPoolExecutor().submit(time.sleep, 600)",
}


@pytest.mark.parametrize("kind", ["def", "async def"])
@pytest.mark.parametrize("what", LEFT)
def test_what_a_tool_leaves_running_does_not_hold_the_process(run_file: Serve, what: str, kind: str) -> None:
    leave = f"""
    import concurrent.futures
    @server.tool()
    {kind} leave() -> None: {LEFT[what]}
    atexit.register(print, "goodbye")
    """
    peer = run_file(program(leave, run="server.run()\nprint('after')"))
    assert peer.call("leave")["content"] == []
    began = time.monotonic()
    assert peer.finish() == 0
    assert time.monotonic() - began < BOUNDED
    assert peer.stderr == b"after\ngoodbye\n"


def test_what_ends_by_itself_is_waited_for(run_file: Serve) -> None:
    leave = """
    def late():
        time.sleep(0.2)
        print("done")
    @server.tool()
    def leave() -> None: threading.Thread(target=late, daemon=False).start()
    """
    peer = run_file(program(leave))
    peer.call("leave")
    assert peer.finish() == 0
    assert peer.stderr == b"done\n"


@pytest.mark.parametrize(
    "call", ["context.report_progress(1)", "context.info('text')", "server.resource_updated('mem://a')"]
)
def test_a_daemon_thread_that_goes_on_calling_the_server(run_file: Serve, call: str) -> None:
    """While it ends, when it has ended, and while the interpreter does."""
    source = f"""
    from ferromcp import Context
    @server.resource("mem://a")
    def a() -> str: return "a"
    def go_on(context):
        while True:
            {call}
    @server.tool()
    def start(context: Context) -> None:
        threading.Thread(target=go_on, args=(context,), daemon=True).start()
    """
    for _ in range(5):
        peer = run_file(program(source))
        peer.call("start")
        assert peer.finish() == 0
        assert peer.stderr == b""


@pytest.mark.parametrize("source", BOTH)
def test_a_function_that_holds_the_interpreter_does_not_hold_the_engine(run_file: Serve, source: str) -> None:
    """Not even the first one, when no thread has been in Python before."""
    compute = """
    @server.tool()
    def compute() -> int:
        os.write(2, b"begun\\n")
        return sum(range(2 * 10**8))
    """
    peer = run_file(program(source, compute))
    computing = peer.begin("compute")
    peer.hears(b"begun")
    asked = peer.request("tools/list")
    assert [peer.message()["id"], peer.message()["id"]] == [asked, computing]
    assert peer.finish() == 0


def test_a_call_that_comes_while_the_server_starts(run_file: Serve) -> None:
    """What it declares is served. Another thread keeps the one that starts the server from going on."""
    declare = """
    def spin():
        while True:
            pass
    @server.tool()
    def declare() -> None:
        server.add_tool(spin, name="declared")
    """
    run = """
    sys.setswitchinterval(0.02)
    threading.Thread(target=spin, daemon=True).start()
    server.run()
    """
    for _ in range(5):
        peer = run_file(program(declare, run=run))
        peer.call("declare")
        assert [tool["name"] for tool in peer.result("tools/list")["tools"]] == ["declare", "declared"]
        assert peer.finish() == 0
