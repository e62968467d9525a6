"""Two server processes behind nginx, which sends requests to one and the other in turn and holds answers back
as it does by default: sessions, changes and streams work all the same.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "blackbox"))

from http_peer import Endpoint  # noqa: E402

NGINX = shutil.which("nginx") or shutil.which("/usr/sbin/nginx")
SERVER = (sys.executable, str(HERE.parent / "fixtures" / "http_nodes.py"))

CONFIGURATION = """
{user}
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log stderr;
events {{ }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    upstream nodes {{
        server 127.0.0.1:{ports[0]};
        server 127.0.0.1:{ports[1]};
    }}
    server {{
        listen 127.0.0.1:{port};
        location / {{
            proxy_pass http://nodes;
            proxy_read_timeout 1s;
            proxy_next_upstream off;
        }}
    }}
}}
"""


class Proxy(Endpoint):
    """nginx, in the place of a server."""

    def __init__(self, port: int) -> None:
        self.name = "nginx"
        self.address = ("127.0.0.1", port)
        self.host = f"127.0.0.1:{port}"
        self.path = "/mcp"


class Site:
    """The proxy and what stands behind it."""

    def __init__(self, proxy: Proxy, nodes: list[Endpoint]) -> None:
        self.proxy = proxy
        self.nodes = nodes

    def touch(self, node: int) -> None:
        """Changes the note in one process."""
        self.nodes[node].peer("modern").call("touch")


@pytest.fixture
def redis(tmp_path: Path) -> Iterator[str]:
    """A Redis or Valkey server that ends with the test; its URL."""
    program = shutil.which("redis-server") or shutil.which("valkey-server")
    assert program is not None, "make system-packages installs it"
    place = tmp_path / "redis.sock"
    arguments = [program, "--port", "0", "--unixsocket", str(place), "--dir", str(tmp_path), "--save", ""]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        try:
            next(line for line in server.stdout if "ready to accept connections" in line.lower())
            yield f"unix://{place}"
        finally:
            server.kill()


@pytest.fixture
def site(tmp_path: Path, redis: str) -> Iterator[Site]:
    if NGINX is None:
        pytest.skip("nginx is not installed (make system-packages)")
    # What nginx calls the servers is the Host that it sends them.
    options = {"cluster": redis, "allowedHosts": ["nodes"], "keepAliveMs": 200}
    with ExitStack() as stack:
        nodes = []
        for number in range(2):
            nodes.append(Endpoint(f"node {number}", SERVER, options))
            stack.callback(nodes[-1].close)
        with socket.create_server(("127.0.0.1", 0)) as free:
            port: int = free.getsockname()[1]
        text = CONFIGURATION.format(
            user="user root;" if os.getuid() == 0 else "",
            folder=tmp_path,
            ports=[node.address[1] for node in nodes],
            port=port,
        )
        file = tmp_path / "nginx.conf"
        file.write_text(text)
        nginx = subprocess.Popen([NGINX, "-p", str(tmp_path), "-c", str(file)], stderr=subprocess.DEVNULL)
        stack.callback(nginx.wait)
        stack.callback(nginx.kill)
        end = time.monotonic() + 20
        while socket.socket().connect_ex(("127.0.0.1", port)) != 0:
            assert nginx.poll() is None, "nginx did not start"
            assert time.monotonic() < end, "nginx does not listen"
            time.sleep(0.01)
        yield Site(Proxy(port), nodes)


def test_every_process_serves_the_session(site: Site) -> None:
    modern = site.proxy.peer("modern")
    pids = {modern.call("node")["content"][0]["text"] for _ in range(4)}
    assert len(pids) == 2, "nginx sends requests to both"
    peer = site.proxy.peer()
    own = {peer.call("node")["content"][0]["text"] for _ in range(4)}
    assert len(own) == 1
    assert own < pids
    assert peer.delete().status == 204
    for _ in range(2):
        assert peer.post(peer.call_message("node")).status == 404


def test_changes_are_told_whichever_process_has_the_stream(site: Site) -> None:
    listeners = []
    # One after the other, nginx sends them to both.
    for _ in range(2):
        modern = site.proxy.peer("modern")
        wanted = {"notifications": {"resourceSubscriptions": ["note://1"]}}
        stream = modern.post(modern.message("subscriptions/listen", wanted))
        assert modern.next(stream)["method"] == "notifications/subscriptions/acknowledged"
        listeners.append((modern, stream))
        legacy = site.proxy.peer()
        assert legacy.result("resources/subscribe", {"uri": "note://1"}) == {}
        for _ in range(2):
            stream = legacy.get()
            assert stream.status == 200
        listeners.append((legacy, stream))
    for node in range(2):
        site.touch(node)
        for peer, stream in listeners:
            message = peer.next(stream)
            assert message["method"] == "notifications/resources/updated", message


def test_a_question_and_its_answer_take_different_ways(site: Site) -> None:
    peer = site.proxy.peer(capabilities={"elicitation": {}})
    for _ in range(2):
        stream = peer.post(peer.call_message("ask_name"))
        question = peer.next(stream)
        assert question["method"] == "elicitation/create"
        result = {"action": "accept", "content": {"value": "Ann"}}
        answer = peer.post({"jsonrpc": "2.0", "id": question["id"], "result": result})
        assert answer.status == 202
        assert "Ann" in peer.next(stream)["result"]["content"][0]["text"]


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_a_silent_call_outlives_the_patience_of_the_proxy(site: Site, era: str) -> None:
    """It reads for one second at most; comments come in between."""
    peer = site.proxy.peer(era)
    for _ in range(2):
        assert peer.call("silent", seconds=2)["content"][0]["text"] == "done"


@pytest.mark.parametrize("era", ["legacy", "modern"])
def test_progress_comes_while_the_call_runs(site: Site, era: str) -> None:
    peer = site.proxy.peer(era)
    for _ in range(2):
        message = peer.message(
            "tools/call",
            {"name": "steps", "arguments": {"count": 2, "pause": 0.7}},
            meta={"progressToken": 1},
        )
        begun = time.monotonic()
        stream = peer.post(message)
        assert peer.next(stream)["method"] == "notifications/progress"
        assert time.monotonic() - begun < 1.3, "it was held back until the call was over"
        assert peer.last(stream)["result"]["content"][0]["text"] == "done"


def test_a_process_that_is_killed_takes_its_sessions_along(site: Site) -> None:
    """2025-11-25 `basic/transports`, "Session Management", 3: the client hears 404, and begins anew."""
    victim, other = site.nodes
    peer = victim.peer()
    peer.endpoint = other
    assert peer.call("node")["content"][0]["text"] == str(victim.process.child.pid)
    stream = peer.get()
    victim.process.child.kill()
    # The stream breaks off, within seconds.
    begun = time.monotonic()
    with pytest.raises(AssertionError, match="the connection ended before the stream did"):
        list(stream.events(20))
    assert time.monotonic() - begun < 15
    assert peer.post(peer.call_message("node")).status == 404
    assert other.peer().call("node")["content"][0]["text"] == str(other.process.child.pid)
