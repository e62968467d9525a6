"""The command `ferromcp`: serves the server object of a Python file.

Decides how a file is loaded and which of its objects is meant. Serving it is `run`'s work. Whatever goes
wrong before that is one line on stderr and exit code 2.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import sys
import traceback
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from ._native import __version__, loads
from .adapters.kinds import SUPPORTED, kind_of
from .errors import ConfigurationError, TaskStoreError

__all__ = ["main"]

# The names that people give to the one server of a file, as the SDKs' own commands look for them.
_USUAL_NAMES = ("mcp", "server", "app")


def main(arguments: list[str] | None = None) -> int:
    """Runs the command; returns its exit code."""
    parser = _parser()
    options = parser.parse_args(arguments)
    try:
        app = load(options.target, options.arguments)
        return int(options.action(app, options) or 0)
    except (ConfigurationError, TaskStoreError) as error:
        print(f"ferromcp: {error}", file=sys.stderr)
        return 2


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="ferromcp", description="MCP servers on the FerroMCP engine.")
    parser.add_argument("--version", action="version", version=f"ferromcp {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    run = commands.add_parser("run", help="serve a server object over stdio, or over HTTP")
    explain = commands.add_parser("explain", help="say how a server object would be served")
    for command, action in ((run, _run), (explain, _explain)):
        command.set_defaults(action=action)
        command.add_argument(
            "target",
            metavar="FILE[:OBJECT]",
            help="a Python file, and in it the server object or a function that makes it; "
            f"without OBJECT the only server of the file, or the one named {', '.join(_USUAL_NAMES)}",
        )
        command.add_argument(
            "--road", help="take a certain road: direct, middleware, handler, dispatcher or streams"
        )
    run.add_argument(
        "--drain", type=float, default=5.0, metavar="SECONDS", help="what calls get at the end of input (5)"
    )
    run.add_argument("--debug", action="store_true", default=None, help="write every message to stderr")
    run.add_argument(
        "--ask",
        choices=("held",),
        help="let an app of another SDK ask modern clients in the middle of a call, which waits for them",
    )
    run.add_argument(
        "--task-store",
        default="memory",
        metavar="URL",
        help="where tasks are kept: memory, sqlite:PATH, redis://...",
    )
    run.add_argument(
        "--policy",
        metavar="FILE",
        help="a JSON file: rates, calls at once, times that tools may take, the audit log",
    )
    run.add_argument("--http", action="store_true", help="serve over HTTP, until a signal comes")
    run.add_argument("--host", help="with --http: the address or name to listen on (127.0.0.1)")
    run.add_argument("--port", type=int, help="with --http: the port, 0 for any that is free (8000)")
    run.add_argument("--path", help="with --http: the path of the endpoint (/mcp)")
    run.add_argument("--loop", default="auto", choices=("auto", "asyncio", "uvloop"), help="the event loop")
    for command in (run, explain):
        command.add_argument(
            "arguments", nargs="*", metavar="ARGUMENT", help="what the file finds in sys.argv"
        )
    return parser


def _run(app: Any, options: argparse.Namespace) -> None:
    from .run import run

    policy = None if options.policy is None else _policy(options.policy)

    http = {name: getattr(options, name) for name in ("host", "port", "path")}
    http = {name: value for name, value in http.items() if value is not None}
    if http and not options.http:
        raise ConfigurationError(f"--{next(iter(http))}: only with --http")
    try:
        run(
            app,
            "http" if options.http else "stdio",
            road=options.road,
            ask=options.ask,
            drain=options.drain,
            debug=options.debug,
            loop=options.loop,
            task_store=options.task_store,
            policy=policy,
            **http,
        )
    except OSError as error:
        if not options.http:
            raise
        raise ConfigurationError(error.strerror or str(error)) from None


def _policy(file: str) -> dict[str, Any]:
    """The object in a JSON file; what it says is looked at when the server starts."""
    try:
        policy = loads(Path(file).read_bytes())
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"policy {file}: {error}") from None
    if not isinstance(policy, dict):
        raise ConfigurationError(f"policy {file}: must be a JSON object")
    return policy


def _explain(app: Any, options: argparse.Namespace) -> None:
    from .run import explain

    print(explain(app, road=options.road))


def load(target: str, arguments: list[str]) -> Any:
    """The server object that `FILE[:OBJECT]` names.

    Raises:
        ConfigurationError: there is no such file or object, or the file fails to load.
    """
    file, _, name = _split(target)
    path = Path(file)
    if not path.is_file():
        raise ConfigurationError(f"there is no file {file}")
    sys.argv = [file, *arguments]
    with _stdout_on_stderr():
        module = _import(path.resolve())
        app = _named(module, file, name) if name else _only(module, file)
        return app if kind_of(app) is not None else _made(app, file, name)


def _split(target: str) -> tuple[str, str, str]:
    """File and object; a drive letter's colon separates nothing."""
    head, separator, name = target.rpartition(":")
    if separator and re.fullmatch(r"[A-Za-z_][\w.]*", name) and len(head) > 1:
        return head, separator, name
    return target, "", ""


@contextlib.contextmanager
def _stdout_on_stderr() -> Iterator[None]:
    """What a file prints while it loads must not reach the peer, who reads this process' stdout."""
    sys.stdout.flush()
    wire = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(wire, 1)
        os.close(wire)


def _import(path: Path) -> ModuleType:
    """Loads a file as a module under its own name, so that its `__main__` block does not run."""
    root, name = path.parent, path.stem
    while (root / "__init__.py").is_file():
        name = f"{root.name}.{name}"
        root = root.parent
    # As for a script: its neighbours can be imported by name.
    sys.path.insert(0, str(root))
    try:
        if "." in name:
            return importlib.import_module(name)
        if name in sys.modules:
            # A file called like something that is imported already; it must not be mistaken for it.
            name = f"{name}_server"
        spec = importlib.util.spec_from_file_location(name, path)
        if spec is None or spec.loader is None:
            raise ConfigurationError(f"{path.name} is no Python file")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
        return module
    except ConfigurationError:
        raise
    except (Exception, SystemExit) as error:
        _failed(path, error)


def _failed(path: Path, error: BaseException) -> NoReturn:
    """One line about what went wrong in the file, and where in it."""
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == str(path)]
    where = f"{path.name}:{lines[-1]}" if lines else path.name
    if isinstance(error, SyntaxError) and error.filename == str(path):
        where = f"{path.name}:{error.lineno}"
    text = str(error).splitlines()
    detail = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
    raise ConfigurationError(f"can't load {where}: {detail}") from error


def _named(module: ModuleType, file: str, name: str) -> Any:
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            raise ConfigurationError(f"{file} has no {name}")
    return found


def _only(module: ModuleType, file: str) -> Any:
    """The server of a file that names none."""
    servers = {name: value for name, value in vars(module).items() if kind_of(value) is not None}
    if len({id(server) for server in servers.values()}) == 1:
        return next(iter(servers.values()))
    for name in _USUAL_NAMES:
        if name in servers:
            return servers[name]
    if servers:
        names = ", ".join(f"{file}:{name}" for name in servers)
        raise ConfigurationError(f"{file} has {len(servers)} servers; name one: {names}")
    foreign = [name for name in _USUAL_NAMES if _looks_like_a_server(vars(module).get(name))]
    if foreign:
        cls = type(vars(module)[foreign[0]])
        raise ConfigurationError(
            f"{file}:{foreign[0]} is a {cls.__module__}.{cls.__qualname__}, which can't be served: "
            f"supported are {SUPPORTED}"
        )
    raise ConfigurationError(
        f"{file} makes no server when it is imported. If a function makes it, name the function "
        f'({file}:make); if it is made under `if __name__ == "__main__"`, move that above'
    )


def _looks_like_a_server(value: Any) -> bool:
    return callable(getattr(value, "run", None)) and not inspect.ismodule(value)


def _made(found: Any, file: str, name: str) -> Any:
    """The server that a factory makes."""
    if not callable(found):
        cls = type(found)
        raise ConfigurationError(
            f"{file}:{name} is a {cls.__module__}.{cls.__qualname__}, which can't be served: "
            f"supported are {SUPPORTED}"
        )
    try:
        app = found()
        if inspect.isawaitable(app):
            app = asyncio.run(_wait_for(app))
    except Exception as error:
        text = str(error).splitlines()
        detail = f"{type(error).__name__}: {text[0]}" if text else type(error).__name__
        raise ConfigurationError(f"{file}:{name}() failed: {detail}") from error
    if kind_of(app) is None:
        cls = type(app)
        raise ConfigurationError(
            f"{file}:{name}() returned a {cls.__module__}.{cls.__qualname__}: supported are {SUPPORTED}"
        )
    return app


async def _wait_for(awaitable: Any) -> Any:
    return await awaitable
