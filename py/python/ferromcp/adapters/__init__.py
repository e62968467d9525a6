"""Existing servers on the engine, unchanged.

An app of another SDK is served by its own code; the engine does the protocol in front of it. `roads` decides
how much of the SDK's code runs for a request, `kinds` what an object is; `mcp2` and `fastmcp4` know the SDKs.
Nothing here imports an SDK that the app has not imported itself.
"""

from __future__ import annotations

from .base import Adapter, adapt
from .kinds import Kind, kind_of, require_kind
from .roads import Explanation, Road, choose

__all__ = ["Adapter", "Explanation", "Kind", "Road", "adapt", "choose", "kind_of", "require_kind"]
