"""Which servers the black-box tests run against, and how a test gets its connection.

`wire` is a connection that a run of tests shares, one for each server and era, because a Python server takes
a second to start; a test that fails, ends the process or leaves it unwell costs the next test a new one.
`start` gives a fresh process to a test that needs one.
"""

from __future__ import annotations

import shutil
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from http_peer import Endpoint
from process import Process
from wire import Wire, revision_of

# A run in the background of a shell ignores SIGINT, and so would every server that it starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

ROOT = Path(__file__).resolve().parents[2]
FIXTURES = ROOT / "tests" / "fixtures"
NODE = shutil.which("node") or "node"
SERVED = (sys.executable, "-m", "ferromcp", "run")
COMMANDS: dict[str, tuple[str, ...]] = {
    # A server written for FerroMCP.
    "native": (sys.executable, str(FIXTURES / "native.py")),
    # The same in JavaScript.
    "node": (NODE, str(ROOT / "node" / "test" / "fixtures" / "native.mjs")),
    # The same in C and in C++.
    "c": (str(ROOT / "target" / "c-tests" / "fixture" / "native-c"),),
    "cpp": (str(ROOT / "target" / "c-tests" / "fixture" / "native-cpp"),),
    # Ordinary servers of other libraries, served by FerroMCP with no change to them.
    "fastmcp": (*SERVED, str(FIXTURES / "plain_fastmcp.py")),
    "mcpserver": (*SERVED, str(FIXTURES / "plain_mcpserver.py")),
    # The same files on their own libraries' stdio: what the tests themselves are tried on, and the control
    # that they can fail.
    "stock-fastmcp": (sys.executable, str(FIXTURES / "plain_fastmcp.py")),
    "stock-mcpserver": (sys.executable, str(FIXTURES / "plain_mcpserver.py")),
}


def command_of(file: str) -> tuple[str, ...]:
    """How one of the smaller fixture servers is started: one that is not written for FerroMCP is served by
    it.
    """
    return (
        (sys.executable, str(FIXTURES / file))
        if file.endswith("_native.py")
        else (*SERVED, str(FIXTURES / file))
    )


OURS = ("native", "node", "c", "cpp", "fastmcp", "mcpserver")

NODE_FIXTURES = ROOT / "node" / "test" / "fixtures"
HTTP_C = str(ROOT / "target" / "c-tests" / "fixture" / "http-native-c")
HTTP_RUST = str(ROOT / "target" / "debug" / "ferromcp-http-fixture")
STOCK = (sys.executable, str(FIXTURES / "http_stock.py"))
APPS = (sys.executable, str(FIXTURES / "http_apps.py"))
# The same over HTTP, by who holds the sockets: the listener of our own, or another library's HTTP server.
CARRIERS: dict[str, tuple[str, ...]] = {
    "native-python": (sys.executable, str(FIXTURES / "http_native.py")),
    "asgi-python": (sys.executable, str(FIXTURES / "http_native.py"), "--asgi"),
    "native-node": (NODE, str(NODE_FIXTURES / "http_native.mjs")),
    "handler-node": (NODE, str(NODE_FIXTURES / "http_handler.mjs")),
    "native-rust": (HTTP_RUST,),
    "native-c": (HTTP_C,),
    "handler-c": (HTTP_C, "--carrier"),
    # Servers of other libraries, served by FerroMCP with no change to them.
    "http-mcpserver": (*APPS, "mcpserver"),
    "http-fastmcp": (*APPS, "fastmcp"),
    "http-mcpserver-asgi": (*APPS, "mcpserver", "--asgi"),
    "http-fastmcp-asgi": (*APPS, "fastmcp", "--asgi"),
    "stock-http-mcpserver": (*STOCK, "mcpserver"),
    "stock-http-fastmcp": (*STOCK, "fastmcp"),
}
OUR_CARRIERS = (
    "native-python",
    "asgi-python",
    "native-node",
    "handler-node",
    "native-rust",
    "native-c",
    "handler-c",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    names = ", ".join((*COMMANDS, *CARRIERS))
    parser.addoption("--servers", default=",".join((*OURS, *OUR_CARRIERS)), help=f"which of {names} to test")
    parser.addoption("--slow", action="store_true", help="also run what takes long or much memory")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "slow: takes long or much memory; runs with --slow")
    config.addinivalue_line("markers", "engine: decided by the engine alone; other servers only with --slow")
    config.addinivalue_line("markers", "eras(*names): a rule of these eras only")
    config.addinivalue_line("markers", "servers(*names): makes sense for these servers only")
    config.addinivalue_line("markers", "carriers(*names): makes sense for these carriers of HTTP only")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    wanted = metafunc.config.getoption("--servers").split(",")
    if "server" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("servers")
        fitting = [name for name in wanted if marker is None or name.removeprefix("stock-") in marker.args]
        metafunc.parametrize("server", [name for name in fitting if name in COMMANDS], scope="session")
    if "carrier" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("carriers")
        fitting = [name for name in wanted if marker is None or fits(name, marker.args)]
        metafunc.parametrize("carrier", [name for name in fitting if name in CARRIERS], scope="session")
    if "era" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("eras")
        metafunc.parametrize("era", marker.args if marker else ("legacy", "modern"), scope="session")


def fits(name: str, kinds: tuple[str, ...]) -> bool:
    """Whether a carrier is one of these: by its whole name, or by the part before the dash."""
    return name in kinds or name.partition("-")[0] in kinds


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out what takes long. A fresh Python server of another library takes seconds to come up, so what
    needs one
    and is decided below any library is shown on the native server alone."""
    if config.getoption("--slow"):
        return
    skip = pytest.mark.skip(reason="slow: run with --slow")
    for item in items:
        parameters = item.callspec.params if hasattr(item, "callspec") else {}
        hosted = parameters.get("server", "native") != "native"
        if item.get_closest_marker("slow") or (item.get_closest_marker("engine") and hosted):
            item.add_marker(skip)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    report = yield
    if report.when == "call":  # type: ignore[attr-defined]
        item.stash[FAILED] = report.failed  # type: ignore[attr-defined]
    return report


FAILED = pytest.StashKey[bool]()


class Pool:
    """The shared connections, by server and era. A server that does not come up is not tried for every test
    anew.
    """

    def __init__(self) -> None:
        self.wires: dict[tuple[str, str], Wire] = {}
        self.broken: dict[tuple[str, str], str] = {}

    def get(self, server: str, era: str) -> Wire:
        key = server, era
        if key in self.broken:
            pytest.fail(f"{server} did not come up earlier: {self.broken[key]}", pytrace=False)
        if key not in self.wires:
            wire = Wire(Process(COMMANDS[server]), revision_of(era))
            try:
                wire.open()
            except BaseException as error:
                wire.process.close()
                self.broken[key] = str(error)[-500:]
                raise
            self.wires[key] = wire
        return self.wires[key]

    def drop(self, server: str, era: str) -> None:
        if wire := self.wires.pop((server, era), None):
            wire.process.close()

    def close(self) -> None:
        for key in list(self.wires):
            self.drop(*key)


@pytest.fixture(scope="session")
def pool() -> Iterator[Pool]:
    pool = Pool()
    yield pool
    pool.close()


@pytest.fixture
def wire(server: str, era: str, pool: Pool, request: pytest.FixtureRequest) -> Iterator[Wire]:
    """A connection in working order that others have used before."""
    wire = pool.get(server, era)
    yield wire
    if request.node.stash.get(FAILED, True):
        pool.drop(server, era)
        return
    try:
        # Whatever a test left on its way is read here, so that the next one starts clean.
        wire.alive()
        wire.inbox.clear()
    except Exception:
        pool.drop(server, era)
        raise


Start = Callable[..., Wire]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts fresh processes: `start("native", "modern", open=False, env={...}, capabilities={...})`."""
    wires: list[Wire] = []

    def begin(
        server: str,
        era: str = "legacy",
        *,
        open: bool = True,
        revision: str | None = None,
        env: dict[str, str] | None = None,
        capabilities: dict[str, object] | None = None,
        options: tuple[str, ...] = (),
    ) -> Wire:
        command = COMMANDS.get(server) or command_of(server)
        wire = Wire(Process((*command, *options), env=env), revision or revision_of(era), capabilities)
        wires.append(wire)
        if open:
            wire.open()
        return wire

    yield begin
    for wire in wires:
        wire.process.close()


Serve = Callable[..., Endpoint]


class Endpoints:
    """The shared HTTP servers. One that does not come up is not tried for every test anew."""

    def __init__(self) -> None:
        self.running: dict[str, Endpoint] = {}
        self.broken: dict[str, str] = {}

    def get(self, carrier: str) -> Endpoint:
        if carrier in self.broken:
            pytest.fail(f"{carrier} did not come up earlier: {self.broken[carrier]}", pytrace=False)
        if carrier not in self.running:
            try:
                self.running[carrier] = start_http(carrier)
            except BaseException as error:
                self.broken[carrier] = str(error)[-500:]
                raise
        return self.running[carrier]

    def drop(self, carrier: str) -> None:
        if endpoint := self.running.pop(carrier, None):
            endpoint.close()


def start_http(carrier: str, options: Mapping[str, object] | None = None, *arguments: str) -> Endpoint:
    return Endpoint(carrier, (*CARRIERS[carrier], *arguments), options or {})


@pytest.fixture(scope="session")
def endpoints() -> Iterator[Endpoints]:
    endpoints = Endpoints()
    yield endpoints
    for carrier in list(endpoints.running):
        endpoints.drop(carrier)


@pytest.fixture
def http_server(carrier: str, endpoints: Endpoints, request: pytest.FixtureRequest) -> Iterator[Endpoint]:
    """A server over HTTP that others have used before. A test that fails costs the next one a new process."""
    endpoint = endpoints.get(carrier)
    yield endpoint
    if request.node.stash.get(FAILED, True) or endpoint.process.child.poll() is not None:
        endpoints.drop(carrier)


@pytest.fixture
def serve(carrier: str, endpoints: Endpoints) -> Iterator[Serve]:
    """Starts fresh servers over HTTP: `serve(keepAliveMs=200)`, `serve("--mount", "/x")`."""
    started: list[Endpoint] = []

    def begin(*arguments: str, **options: object) -> Endpoint:
        if carrier in endpoints.broken:
            endpoints.get(carrier)
        started.append(start_http(carrier, options, *arguments))
        return started[-1]

    yield begin
    for endpoint in started:
        endpoint.close()
