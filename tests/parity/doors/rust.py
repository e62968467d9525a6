"""The Rust door, as rustdoc shows it: what the crate `ferromcp` exports, and the engine under `engine`.

So it is the compiler that decides what is public, whatever module it stands in. Values are those of constants
and of the defaults that the sources write out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]
PAGES = ROOT / "target" / "doc"
CRATES = {"": "ferromcp", "engine::": "ferromcp_engine"}
# Where each struct with defaults of its own is written, and what its literal follows.
DEFAULTS = {
    "http::HttpOptions": (ROOT / "core" / "runtime" / "src" / "http" / "options.rs", r"fn default\(\)"),
    "engine::http::HttpConfig": (ROOT / "core" / "engine" / "src" / "http" / "config.rs", r"fn default\(\)"),
    "ServeOptions": (ROOT / "core" / "runtime" / "src" / "options.rs", r"fn default\(\)"),
    "engine::Limits": (ROOT / "core" / "engine" / "src" / "limits.rs", r"fn default\(\)"),
    "engine::TasksConfig": (
        ROOT / "core" / "engine" / "src" / "server" / "tasks" / "config.rs",
        r"fn default\(\)",
    ),
    "engine::ServerConfig": (
        ROOT / "core" / "engine" / "src" / "server" / "config.rs",
        r"pub fn new\(name: ",
    ),
}
UNITS = {"micros": "microseconds", "millis": "milliseconds", "secs": "seconds"}
# Folders of pages that are looked into; of the others the module's name alone counts.
OPEN_FOLDERS = ("error/", "jsonrpc/", "middleware/", "store/", "apps/", "http/")

ITEM = re.compile(r'<a href="((?:\w+/)*)(struct|enum|trait|fn|type|constant)\.(\w+)\.html">')
MEMBER = re.compile(
    r'id="(?:method|tymethod|variant|structfield|associatedconstant)\.(\w+)" class="([\w -]*)"'
)
CONSTANT = re.compile(r" = ([^;<]+);")


def surface() -> dict[str, object]:
    """Everything that both crates' pages list."""
    names: dict[str, object] = {}
    for prefix, crate in CRATES.items():
        for folder, kind, name in ITEM.findall((PAGES / crate / "all.html").read_text()):
            if folder and not folder.startswith(OPEN_FOLDERS):
                names[prefix + folder.split("/")[0]] = None
                continue
            path = prefix + folder.replace("/", "::") + name
            page = (PAGES / crate / folder / f"{kind}.{name}.html").read_text()
            names[path] = _value(page) if kind == "constant" else None
            names.update((f"{path}::{member}", None) for member in _members(page))
    for path, (file, start) in DEFAULTS.items():
        names.update((f"{path}::{field}", value) for field, value in _defaults(file, start))
    return names


def _members(page: str) -> Iterator[str]:
    """Methods, fields and variants of the type's own: none of a trait's or of what it dereferences to."""
    own = page.split('id="deref-methods-')[0].split('id="trait-implementations"')[0]
    for name, classes in MEMBER.findall(own):
        if "trait-impl" not in classes and not name.isdigit():
            yield name


def _value(page: str) -> object:
    found = CONSTANT.search(unescape(re.sub(r"<[^>]+>", "", page.split('item-decl">')[1].split("</pre>")[0])))
    return int(found[1]) if found and re.fullmatch(r"-?\d+", found[1]) else None


def _defaults(file: Path, start: str) -> Iterator[tuple[str, object]]:
    """The fields of the struct literal that follows `start`."""
    body = re.search(start + r".*?^ +Self \{\n(.*?)^ +\}\n", file.read_text(), re.M | re.S)
    assert body, f"{file} has no literal behind {start}"
    for field, text in re.findall(r"^ +(\w+)(?:: (.+))?,$", body[1], re.M):
        yield field, _literal(text)


def _literal(text: str) -> object:
    """What a literal of Rust stands for; None where that is nothing, or takes a compiler to know."""
    if shifted := re.fullmatch(r"([\d_]+)(?: << (\d+))?", text):
        return int(shifted[1]) << int(shifted[2] or 0)
    if duration := re.fullmatch(r"Duration::from_(micros|millis|secs)\((\d+)\)", text):
        return timedelta(**{UNITS[duration[1]]: int(duration[2])})
    if variant := re.fullmatch(r"[A-Z]\w+::([A-Z]\w+)", text):
        return variant[1].lower()
    return {"true": True, "false": False, "Vec::new()": []}.get(text)
