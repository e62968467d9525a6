"""Makes the parts that all runners in Python share importable: JSON that keeps its spelling, and patterns."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3] / "py" / "tests"))
