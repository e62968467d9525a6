"""Child processes of tools: by `subprocess`, by asyncio, and by `multiprocessing` in each of its ways."""

from __future__ import annotations

import os
import signal
import time

import pytest
from programs import HOSTED, HOSTS, QUIET, SIGNALS, SYNC, is_quiet, program

from conftest import Serve

METHODS = ["fork", "spawn", "forkserver"]
KINDS = ["def", "async def"]

# What a program may take that has a child to leave behind, on a crowded machine.
BOUNDED = 8.0

WORK = """
def square(number, results):
    results.put(number * number)
def square_on_a_loop(number, results):
    async def work():
        await asyncio.sleep(0)
        square(number, results)
    asyncio.run(work())
def sleep():
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    time.sleep(600)
"""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("host", "method"), [*(("native", method) for method in METHODS), *((host, "fork") for host in HOSTED)]
)
def test_multiprocessing(run_file: Serve, host: str, method: str, kind: str) -> None:
    """Children compute, run loops of their own, and end when they are told to."""
    use = f"""
    @server.tool()
    {kind} use() -> str:
        context = multiprocessing.get_context("{method}")
        results = context.Queue()
        children = [context.Process(target=work, args=(3, results)) for work in (square, square_on_a_loop)]
        for child in children:
            child.start()
        answers = [results.get(timeout=20) for child in children]
        for child in children:
            child.join(20)
        sleeper = context.Process(target=sleep)
        sleeper.start()
        sleeper.terminate()
        sleeper.join(20)
        return str([*answers, *[child.exitcode for child in children], sleeper.exitcode])
    """
    peer = run_file(program(WORK, use, SYNC, host=host), *QUIET)
    assert peer.text("use") == str([9, 9, 0, 0, -signal.SIGTERM])
    assert peer.text("echo", text="x") == "x"
    assert peer.finish() == 0
    assert peer.line() is None
    assert is_quiet(peer.stderr)


@pytest.mark.parametrize("kind", KINDS)
def test_a_pool_of_processes(run_file: Serve, kind: str) -> None:
    use = f"""
    import concurrent.futures
    @server.tool()
    {kind} use() -> str:
        context = multiprocessing.get_context("fork")
        with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as executor:
            first = list(executor.map(abs, range(-3, 0)))
        with context.Pool(2) as pool:
            return str(first + pool.map(abs, range(-3, 0)))
    """
    peer = run_file(program(use), *QUIET)
    assert peer.text("use") == "[3, 2, 1, 3, 2, 1]"
    assert peer.finish() == 0
    assert peer.stderr == b""


@pytest.mark.parametrize("host", HOSTS)
def test_other_programs(run_file: Serve, host: str) -> None:
    """What they print goes to stderr, they have no input, and signals find them as they would elsewhere."""
    use = """
    @server.tool()
    def use() -> str:
        subprocess.run(["echo", "printed"], check=True)
        read = subprocess.run(["cat"], stdout=subprocess.PIPE, check=True).stdout
        # With a function to run in the child, which is a fork as Python sees it.
        subprocess.run(["true"], check=True, preexec_fn=os.getpid)
        sleeper = subprocess.Popen(["sleep", "600"])
        sleeper.terminate()
        return f"{read} {sleeper.wait(20)}"
    @server.tool()
    async def ause() -> str:
        child = await asyncio.create_subprocess_exec("echo", "read", stdout=subprocess.PIPE)
        read, _ = await child.communicate()
        sleeper = await asyncio.create_subprocess_exec("sleep", "600")
        sleeper.terminate()
        return f"{read} {await sleeper.wait()}"
    """
    peer = run_file(program(use, host=host), *QUIET)
    assert peer.text("use") == f"b'' {-signal.SIGTERM}"
    assert peer.text("ause") == f"b'read\\n' {-signal.SIGTERM}"
    assert peer.finish() == 0
    assert peer.line() is None
    assert b"printed\n" in peer.stderr
    assert is_quiet(peer.stderr)


LEFT = {
    "process": "context.Process(target=sleep).start()",
    "executor": """
        global executor
        executor = concurrent.futures.ProcessPoolExecutor(2, mp_context=context)
        executor.submit(time.sleep, 600)
    """,
    "stubborn": "context.Process(target=stubborn, args=(tell,)).start(); listen.recv()",
}


@pytest.mark.parametrize(("end", "code"), [("input", 0), *SIGNALS])
@pytest.mark.parametrize("what", LEFT)
def test_children_that_are_left_running_do_not_hold_the_process(
    run_file: Serve, what: str, end: str, code: int
) -> None:
    """They are ended like daemons, after a moment; nothing of the process's end is lost."""
    statements = "\n        ".join(line.strip() for line in LEFT[what].strip().splitlines())
    leave = f"""
    import concurrent.futures
    def stubborn(tell):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        tell.send("ready")
        time.sleep(600)
    atexit.register(print, "goodbye")
    @server.tool()
    def leave() -> str:
        context = multiprocessing.get_context("fork")
        listen, tell = context.Pipe()
        {statements}
        return " ".join(str(child.pid) for child in multiprocessing.active_children())
    """
    peer = run_file(program(WORK, leave), *QUIET)
    children = [int(pid) for pid in peer.text("leave").split()]
    assert children
    began = time.monotonic()
    if end == "input":
        peer.close()
    else:
        peer.kill(signal.Signals[end])
    assert peer.ended() == code
    assert time.monotonic() - began < BOUNDED
    assert peer.stderr == b"goodbye\n"
    for child in children:
        with pytest.raises(ProcessLookupError):
            os.kill(child, 0)


def test_children_that_end_by_themselves_are_waited_for(run_file: Serve) -> None:
    leave = """
    def late():
        time.sleep(0.3)
        os.write(2, b"done\\n")
    @server.tool()
    def leave() -> None: multiprocessing.get_context("fork").Process(target=late).start()
    """
    peer = run_file(program(leave), *QUIET)
    peer.call("leave")
    assert peer.finish() == 0
    assert peer.stderr == b"done\n"


def test_a_stuck_call_beside_a_child(run_file: Serve) -> None:
    """The process leaves at once then; the child does not keep exit functions from coming to their end."""
    leave = """
    atexit.register(print, "goodbye")
    @server.tool()
    def leave() -> None: multiprocessing.get_context("fork").Process(target=sleep).start()
    """
    peer = run_file(program(WORK, leave, SYNC, run="server.run(drain=0.2)"), *QUIET)
    peer.call("leave")
    peer.begin("block")
    peer.hears(b"begun")
    began = time.monotonic()
    assert peer.finish() == 0
    assert time.monotonic() - began < BOUNDED
    assert peer.stderr == b"begun\ngoodbye\n"
