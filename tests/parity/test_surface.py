"""The list is read as its head says, and the comparison notices what does not agree."""

from __future__ import annotations

from datetime import timedelta

import pytest
from surface import Malformed, read, word_of
from test_parity import absent, different, unlisted

CHAPTER = """
[reasons]
reason = "A reason."

[context]
none = { cpp = "reason" }

[context.names]
rust = "Context::{snake}"
python = "Context.{snake}"
node = "Context.{camel}"
c = "fmcp_call_{snake}"

[context.rows]
"""


def test_names_are_spelt_as_each_language_does() -> None:
    surface = read(
        CHAPTER + 'report_progress = { value = 3, c = { as = "fmcp_call_tell", why = "reason" } }\n'
    )
    (row,) = surface.rows
    assert row.cells["rust"].names == ["Context::report_progress"]
    assert row.cells["node"].names == ["Context.reportProgress"]
    assert row.cells["c"].names == ["fmcp_call_tell"]
    assert (row.cells["cpp"].names, row.cells["cpp"].why) == ([], "reason")


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("Context.reportProgress", "report_progress"),
        ("FerroMCPError", "ferro_mcp_error"),
        ("fmcp_call_cancel_reason", "cancel_reason"),
        ("fmcp_server_add_tool", "add_tool"),
        ("fmcp_message", "message"),
        ("FMCP_LOG_LEVEL_INFO", "info"),
        ("engine::Event::Call", "call"),
        ("Server.run(max_threads)", "max_threads"),
        ("ToolResult._meta", "_meta"),
    ],
)
def test_the_word_of_a_name(name: str, word: str) -> None:
    assert word_of(name) == word


@pytest.mark.parametrize(
    ("row", "fault"),
    [
        ('log = { python = { as = "Context.write" } }', "another word"),
        ('log = { python = { as = ["Context.log", "Context.write"] } }', "another word"),
        ('log = { python = { as = "Other.log", why = "reason" } }', "for nothing"),
        ('log = { perl = { as = "log" } }', "perl"),
        ('log = { python = { none = "reason", as = "Context.log" } }', "python"),
        ("log = { default = 3 }", "default"),
    ],
)
def test_a_list_that_is_not_as_it_should_be(row: str, fault: str) -> None:
    with pytest.raises(Malformed, match=fault):
        read(CHAPTER + row)


def test_a_door_without_a_name_needs_a_reason() -> None:
    with pytest.raises(Malformed, match="neither"):
        read(CHAPTER.replace('none = { cpp = "reason" }', "") + "log = {}")


def test_what_does_not_agree_is_noticed() -> None:
    surface = read(CHAPTER + 'log = { value = 5, unit = "ms" }\n[only.python]\nreason = ["Context.native"]\n')
    found = {"Context.log": 5, "Context.native": None}
    assert (absent(surface, "python", found), unlisted(surface, "python", found)) == ([], [])
    assert different(surface, "python", found) == []
    assert absent(surface, "python", {"Context.log": 5}) == ["Context.native"]
    assert absent(surface, "python", {"Context.native": None}) == ["Context.log"]
    assert unlisted(surface, "python", found | {"Context.new": None}) == ["Context.new"]
    assert different(surface, "python", {"Context.log": 6}) == ["Context.log: 6, listed 5"]
    assert different(surface, "python", {"Context.log": True})
    assert different(surface, "python", {"Context.log": timedelta(seconds=5)})
    assert different(surface, "python", {"Context.log": timedelta(milliseconds=5)}) == []
