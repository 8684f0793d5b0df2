import subprocess
import sys

LEAVE = """
import sys, threading
from pathlib import Path
from cfl_cli.core import process as leaving

new, folder, placed = map(Path, ("new", "folder", "placed"))
folder.mkdir()
for path in (new, folder / "part", placed):
    path.touch()
for path in (new, folder, placed):
    leaving.remove_at_end(path)
leaving.keep(placed)


def leave():
    leaving.leave(130, say=lambda: print("said", flush=True))


with leaving.farewell(lambda: print("farewell", flush=True)):
    with leaving.farewell(lambda: print("not this one")):
        pass
    threading.Thread(target=leave, daemon=True).start()
    while True:  # whatever it is
        leaving.settle()
"""


def test_what_is_half_done_goes_with_the_process_and_what_is_in_its_place_stays(tmp_path):
    run = subprocess.run(
        [sys.executable, "-c", LEAVE], check=False, capture_output=True, text=True, cwd=tmp_path
    )
    assert (run.returncode, run.stderr) == (130, "")
    assert run.stdout.split() == ["farewell", "said"]
    assert [path.name for path in tmp_path.iterdir()] == ["placed"]
