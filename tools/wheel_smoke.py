"""Builds the wheel as for publishing, but in the dev profile, and uses it where nothing else is installed.

Run by `make test-wheel`. Proves what an editable install can't: that the wheel holds every file, declares no
dependency that it needs at once, and brings its command.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PLACE = ROOT / "target" / "wheel-smoke"

PROGRAM = """
from ferromcp import Server

server = Server("smoke")

@server.tool
def add(a: int, b: int) -> int:
    return a + b

server.run()
"""

CALL = {
    "jsonrpc": "2.0",
    "id": "smoke",
    "method": "tools/call",
    "params": {
        "name": "add",
        "arguments": {"a": 2, "b": 40},
        "_meta": {
            "io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": {},
        },
    },
}


def main() -> int:
    """Builds, installs, calls; 1 when the answer is not 42."""
    shutil.rmtree(PLACE, ignore_errors=True)
    maturin = Path(sys.executable).with_name("maturin")
    build = [str(maturin), "build", "--quiet", "-m", str(ROOT / "py" / "Cargo.toml"), "--out", str(PLACE)]
    subprocess.run([*build, *sys.argv[1:]], check=True)
    (wheel,) = PLACE.glob("*.whl")
    venv.create(PLACE / "venv", with_pip=True)
    python = PLACE / "venv" / "bin" / "python"
    install = [str(python), "-m", "pip", "install", "--quiet", "--no-index", str(wheel)]
    subprocess.run(install, check=True)
    ask = [str(python.with_name("ferromcp")), "--version"]
    version = subprocess.run(ask, check=True, capture_output=True, text=True)
    command = [str(python), "-I", "-c", PROGRAM]
    ended = subprocess.run(command, input=json.dumps(CALL) + "\n", capture_output=True, text=True, timeout=60)
    if ended.returncode != 0 or json.loads(ended.stdout)["result"]["content"][0]["text"] != "42":
        print(ended.stdout, ended.stderr, sep="\n")
        return 1
    print(f"{wheel.name}: {version.stdout.strip()} serves from an empty environment")
    return 0


if __name__ == "__main__":
    sys.exit(main())
