"""What is run: `suites.toml` read, and the source packages unpacked."""

from __future__ import annotations

import shutil
import sys
import tarfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["Suite", "read_suites", "unpack"]


@dataclass(frozen=True)
class Suite:
    """Tests of one source package; `suites.toml` says what the fields mean."""

    package: str
    stock: tuple[str, ...]
    options: tuple[str, ...]
    tests: tuple[str, ...]
    ignore: tuple[str, ...]
    leave_out: str

    @property
    def arguments(self) -> list[str]:
        """What pytest is told in every run."""
        ignored = [f"--ignore={path}" for path in self.ignore]
        return [*self.options, *ignored, f"--peers-leave-out={self.leave_out}", *self.tests]


def read_suites(path: Path) -> list[Suite]:
    """The suites, in the order of the file."""
    tables = tomllib.loads(path.read_text(encoding="utf-8"))["suite"]
    return [Suite(**{key: _frozen(value) for key, value in table.items()}) for table in tables]


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def unpack(suite: Suite, folder: Path) -> Path:
    """The package's root, unpacked from the archive in `folder` unless that was done before."""
    root = folder / suite.package
    if root.is_dir():
        return root
    fresh = folder / "unpacking"
    shutil.rmtree(fresh, ignore_errors=True)
    with tarfile.open(folder / f"{suite.package}.tar.gz") as archive:
        archive.extractall(fresh, filter="data")
    for part in suite.stock:
        shutil.rmtree(fresh / suite.package / part)
    # At the end and at once, so that what is there is whole.
    (fresh / suite.package).rename(root)
    fresh.rmdir()
    return root
