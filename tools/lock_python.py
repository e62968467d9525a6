"""Writes constraints.txt: the versions that requirements-dev.txt brought along into the running environment.

Run by `make lock-python` after a change of requirements-dev.txt, with an environment just made without
constraints.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
HEAD = """\
# Versions of what requirements-dev.txt brings along, so that two clones get the same tree.
# Written by `make lock-python`. Python 3.10 resolves for itself: several of these packages have left it.
"""


def normal(name: str) -> str:
    """The spelling under which package names are compared."""
    return re.sub(r"[-_.]+", "-", name).lower()


def main() -> None:
    """Reads the direct needs and what is installed, and writes the difference."""
    direct = {"ferromcp", "pip", "setuptools"}
    for line in (ROOT / "requirements-dev.txt").read_text().splitlines():
        if match := re.match(r"[A-Za-z0-9._-]+", line):
            direct.add(normal(match[0]))
    freeze = [sys.executable, "-m", "pip", "freeze", "--exclude-editable"]
    installed = subprocess.run(freeze, check=True, capture_output=True, text=True).stdout.split("\n")
    rows = [row for row in installed if "==" in row and normal(row.split("==")[0]) not in direct]
    text = HEAD + "".join(f'{row}; python_version >= "3.11"\n' for row in rows)
    (ROOT / "constraints.txt").write_text(text)


if __name__ == "__main__":
    main()
