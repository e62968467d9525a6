"""The app of a file beside this one under uvicorn, as its own SDK makes an ASGI app of it, or as we do.

    under_uvicorn.py FILE PORT [ours]

Without uvicorn's log of accesses, which would cost the same in each.
"""

import importlib
import sys
from typing import Any

import uvicorn


def app(name: str, ours: bool) -> Any:
    module = importlib.import_module(name)
    if ours:
        import ferromcp

        return ferromcp.asgi(getattr(module, "mcp", None) or module.server)
    mcp = module.mcp
    return mcp.http_app() if hasattr(mcp, "http_app") else mcp.streamable_http_app()


if __name__ == "__main__":
    served = app(sys.argv[1], ours="ours" in sys.argv[3:])
    uvicorn.run(served, host="127.0.0.1", port=int(sys.argv[2]), access_log=False, log_level="warning")
