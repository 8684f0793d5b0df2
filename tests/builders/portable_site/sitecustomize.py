"""Python loads this when it starts: see `portable`, which stands a folder above."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1]))
sys.path.append(str(Path(__file__).parents[3]))

import portable

portable.hide()
sys.path.pop()
