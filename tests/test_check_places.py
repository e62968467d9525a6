"""What `tools/check_places.py` takes for code: error codes in text for people are none."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest

SPEC = importlib.util.spec_from_file_location(
    "check_places", Path(__file__).parent.parent / "tools/check_places.py"
)
assert SPEC is not None
assert SPEC.loader is not None
places = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(places)

SOURCES = {
    "a.rs": "// -32600\nlet a = -32601; // -32602\n#[cfg(test)]\nlet b = -32603;\n",
    "a.cts": "/** -32600\n -32600 */\nsend(-32601); // -32602\n/* -32603 */ done();\n",
    "a.py": '"""-32600"""\n# -32600\ndef f():\n    """-32600\n    -32600"""\n'
    '    return -32601  # -32602\n\n\nTEXT = "-32603"\n',
}


@pytest.mark.parametrize(("name", "found"), [("a.rs", [2]), ("a.cts", [3]), ("a.py", [6, 9])])
def test_codes_are_found_in_code_alone(tmp_path: Path, name: str, found: list[int]) -> None:
    (tmp_path / name).write_text(SOURCES[name])
    [pattern] = [place.pattern for place in places.PLACES if place.what == "an error code as a number"]
    lines = places.code_lines(tmp_path / name)
    assert [number for number, line in lines if re.search(pattern, line)] == found
