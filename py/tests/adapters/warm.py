"""Server processes that are forked from one that has imported the SDKs already.

Importing `fastmcp` takes longer than most of these tests. What runs in such a process is the same file or
command as in a new one, on the same standard streams; only the start and the end of the interpreter are not
its own. Tests of those, and of what is imported, start ordinary processes.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import subprocess
import sys
from collections.abc import Mapping
from multiprocessing import reduction
from pathlib import Path
from typing import Any

__all__ = ["WarmProcess"]

TESTS = Path(__file__).parent.parent
PRELOADED = [
    "fastmcp",
    "fastmcp.server.extensions",
    "fastmcp.server.middleware.caching",
    "fastmcp.server.middleware.error_handling",
    "fastmcp.server.middleware.logging",
    "fastmcp.server.middleware.response_limiting",
    "fastmcp.server.middleware.tool_injection",
    "mcp.server.mcpserver",
    "mcp.server.stdio",
]

_context = multiprocessing.get_context("forkserver")
_context.set_forkserver_preload(PRELOADED)


class WarmProcess:
    """In the place of a `subprocess.Popen` with pipes. `arguments` is what would follow the interpreter's
    name: a file, or `-m` and a module, and what is for them.
    """

    def __init__(self, arguments: list[str], *, stderr: int, environment: Mapping[str, str]) -> None:
        stdin, write = os.pipe()
        read, stdout = os.pipe()
        self._process = _context.Process(target=_Run(arguments, (stdin, stdout, stderr), environment))
        try:
            self._process.start()
        finally:
            os.close(stdin)
            os.close(stdout)
        self.stdin, self.stdout = os.fdopen(write, "wb", 0), os.fdopen(read, "rb", 0)

    def wait(self, timeout: float | None = None) -> int:
        """The exit code.

        Raises:
            subprocess.TimeoutExpired: the process has not ended in time.
        """
        self._process.join(timeout)
        code = self._process.exitcode
        if code is None:
            raise subprocess.TimeoutExpired("a warm process", timeout or 0)
        return code

    def kill(self) -> None:
        """Ends the process, if it has not ended."""
        self._process.kill()


class _Run:
    """What a forked process does."""

    def __init__(
        self, arguments: list[str], streams: tuple[int, int, int], environment: Mapping[str, str]
    ) -> None:
        self._arguments = arguments
        self._streams = streams
        self._environment = dict(environment)

    def __getstate__(self) -> dict[str, Any]:
        # Descriptors get other numbers on their way.
        return {**self.__dict__, "_streams": [reduction.DupFd(number) for number in self._streams]}

    def __call__(self) -> None:
        for number, stream in enumerate(self._streams):
            descriptor = stream.detach()  # type: ignore[attr-defined]  # see __getstate__
            os.dup2(descriptor, number)
            os.close(descriptor)
        sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115  # for the process's life
        os.environ.update(self._environment)
        # Without what pytest has put there.
        paths = [path for path in sys.path if not Path(path).is_relative_to(TESTS)]
        if self._arguments[0] == "-m":
            module, sys.argv[1:] = self._arguments[1], self._arguments[2:]
            sys.path[:] = [os.getcwd(), *paths]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        else:
            sys.argv[:] = self._arguments
            sys.path[:] = [str(Path(self._arguments[0]).parent), *paths]
            runpy.run_path(self._arguments[0], run_name="__main__")
