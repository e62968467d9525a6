"""Serves one of the files here under uvicorn: by its own SDK, or by what `ferromcp.asgi` makes of it.

python over_http.py compared_fastmcp.py stock|asgi [ROAD]
"""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import uvicorn

NAMES = ("mcp", "server", "app")


def application(app: Any, by: str, road: str | None) -> Any:
    """The ASGI application of a server."""
    if by == "asgi":
        import ferromcp

        return ferromcp.asgi(app, road=road)
    return app.http_app() if hasattr(app, "http_app") else app.streamable_http_app()


class Announcing(uvicorn.Server):
    """Says where it listens."""

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        host, port = self.servers[0].sockets[0].getsockname()
        print(f"Listening on http://{host}:{port}/mcp", file=sys.stderr, flush=True)


if __name__ == "__main__":
    file, by, *road = sys.argv[1:]
    module = importlib.import_module(Path(file).stem)
    found = [vars(module).get(name) for name in NAMES]
    app = next(value for value in found if value is not None and not isinstance(value, ModuleType))
    served = application(app, by, road[0] if road else None)
    config = uvicorn.Config(
        served, host="127.0.0.1", port=0, log_level="warning", timeout_graceful_shutdown=1
    )
    Announcing(config).run()
