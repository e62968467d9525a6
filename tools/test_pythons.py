"""Runs the tests of the Python package under every Python that is there: one module is built for all of them.

Run by `make test-pythons`, which has built the module with the oldest stable interface that is supported.
Arguments are handed to pytest; without any, all of `py/tests` is run. Each interpreter gets an environment in
`target/pythons`, in which the package is used where it lies. A version that is not installed is skipped, and
said to be. Ends with 1 when a test failed anywhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENTS = ROOT / "target" / "pythons"
REQUIREMENTS = [ROOT / "requirements-dev.txt", ROOT / "constraints.txt"]
VERSIONS = ("3.10", "3.11", "3.12", "3.13", "3.14")

# Compared with the versions that these tests know by heart; Python 3.10 gets an older one.
ADAPTERS = "py/tests/adapters"
COMPARED = "fastmcp"


def find(version: str) -> Path | None:
    """An interpreter of this version: the newest one of pyenv, or the one on the path."""
    root = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    installed = sorted(
        root.glob(f"versions/{version}.*/bin/python3"),
        key=lambda path: [int(part) if part.isdigit() else -1 for part in path.parts[-3].split(".")],
    )
    for found in (*reversed(installed), shutil.which(f"python{version}")):
        # pyenv puts a name on the path for every version that it could have.
        if found is not None and asked(Path(found), "sys.version_info[:2]") == repr(numbers(version)):
            return Path(found)
    return None


def numbers(version: str) -> tuple[int, ...]:
    """`3.10` as it compares."""
    return tuple(map(int, version.split(".")))


def asked(python: Path, expression: str, *modules: str) -> str | None:
    """What an expression gives in an interpreter; None when it does not run."""
    code = f"import {', '.join(('sys', *modules))}; print({expression})"
    done = subprocess.run([str(python), "-c", code], check=False, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def environment(version: str, interpreter: Path) -> Path:
    """The Python of an environment with what the tests need, made anew when the requirements are newer."""
    place = ENVIRONMENTS / version
    python = place / "bin" / "python"
    ready = place / ".ready"
    if ready.exists() and all(ready.stat().st_mtime > needed.stat().st_mtime for needed in REQUIREMENTS):
        return python
    subprocess.run([str(interpreter), "-m", "venv", "--clear", str(place)], check=True)
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    needs, constraints = map(str, REQUIREMENTS)
    subprocess.run([*install, "-r", needs, "-c", constraints], check=True)
    packages = asked(python, "sysconfig.get_path('purelib')", "sysconfig")
    assert packages is not None, f"{python} does not run"
    (Path(packages) / "ferromcp.pth").write_text(f"{ROOT / 'py' / 'python'}\n")
    ready.touch()
    return python


def leaves_out(python: Path) -> list[str]:
    """What can't be compared there, as options of pytest."""
    version = f"importlib.metadata.version({COMPARED!r})"
    if asked(python, version, "importlib.metadata") == asked(
        Path(sys.executable), version, "importlib.metadata"
    ):
        return []
    print(f"{ADAPTERS} is left out: it is written for another version of {COMPARED}", flush=True)
    return [f"--ignore={ROOT / ADAPTERS}"]


def run(version: str, arguments: list[str]) -> str:
    """Tests one version; what came of it, in a word."""
    interpreter = find(version)
    if interpreter is None:
        return "skipped: not installed"
    python = environment(version, interpreter)
    print(f"\n=== {asked(python, 'sys.version')}", flush=True)
    command = [str(python), "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [*command, *leaves_out(python), *(arguments or ["py/tests"])], check=False, cwd=ROOT
    )
    return "ok" if done.returncode == 0 else "FAILED"


def main() -> int:
    """Tests all versions and ends with a table."""
    rows = []
    for version in VERSIONS:
        began = time.monotonic()
        rows.append((version, run(version, sys.argv[1:]), time.monotonic() - began))
    print()
    for version, result, seconds in rows:
        print(f"Python {version:8}{result:24}{seconds:8.1f} s")
    return int(any(result == "FAILED" for _, result, _ in rows))


if __name__ == "__main__":
    sys.exit(main())
