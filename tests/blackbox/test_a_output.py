"""Cases A1 to A3 and the sender's half of A12: whatever host code does, the wire carries messages and nothing
else.

Every line that any test here reads is held to be one JSON-RPC object by the harness itself, so these tests
only have to provoke the noise and look where it went.
"""

from __future__ import annotations

from wire import Wire, text_of


# requirement: stdio-stdout-only-messages
def test_a1_print_in_a_tool(wire: Wire) -> None:
    result = wire.call("noisy", text="printed")
    assert text_of(result) == "printed"
    wire.process.await_stderr("noise: printed")
    wire.alive()


def test_a1_noise_ahead_of_and_between_messages(wire: Wire) -> None:
    wire.raw("Server ready")
    wire.raw("")
    wire.raw(" ")
    wire.raw("\t \r")
    assert text_of(wire.call("echo", text="still here")) == "still here"
    # One complaint for the banner at most: blank lines are nothing to complain about.
    complaints = [message for message in wire.quiet(0.05) if "error" in message]
    assert len(complaints) <= 1
    assert all(message["error"]["code"] == -32700 for message in complaints)


# requirement: stdio-stdout-only-messages
def test_a2_descriptor_one_and_a_child_process(wire: Wire) -> None:
    result = wire.call("rawnoise", text="quiet")
    assert text_of(result) == "quiet"
    wire.process.await_stderr("raw noise")
    wire.process.await_stderr("child noise")
    wire.alive()


def test_a3_child_does_not_inherit_the_clients_bytes(wire: Wire) -> None:
    cat = wire.start("childcat")
    assert wire.alive(timeout=2) < 2
    result = wire.answer(cat, timeout=5)["result"]
    assert text_of(result) == "0"
    wire.alive()


def test_a12_lines_end_with_a_bare_newline(wire: Wire) -> None:
    wire.raw(b'{"jsonrpc":"2.0","id":"crlf","method":"nothing/such"}', end=b"\r\n")
    wire.raw(b"", end=b"\r\n")
    response = wire.answer("crlf")
    assert "error" in response
    assert b"\r" not in wire.process.rest()
    # A valid call with Windows line ends, in the bytes that a text-mode peer would send.
    frame = wire.call_frame("echo", {"text": "windows"}, id="crlf-call")
    wire.process.write(frame.rstrip(b"\n") + b"\r\n\r\n")
    assert text_of(wire.answer("crlf-call")["result"]) == "windows"
