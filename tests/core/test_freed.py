"""Memory that was let go stays with the process, so that new arrays need no fresh pages."""

import subprocess
import sys

import pytest

AGAIN = """
import resource, sys
import numpy as np
from cfl_cli.core.process import keep_freed_memory
keep_freed_memory()
def faults():
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt
def arrays():
    return [np.ones(10**6) for _ in range(4)]  # 8,000 kB each, which are 2,000 pages
arrays(), arrays()
before = faults()
arrays()
print(faults() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the C library of others does it their way")
@pytest.mark.parametrize(
    ("variables", "argument", "kept"),
    [
        ({}, "", True),
        ({"MALLOC_TRIM_THRESHOLD_": "0"}, "", False),
        ({"MALLOC_TRIM_THRESHOLD_": "0"}, "of_dask=True", True),
        ({"MALLOC_MMAP_THRESHOLD_": "4096"}, "of_dask=True", False),
    ],
)
def test_new_arrays_take_the_memory_of_old_ones_unless_the_user_wants_it_returned(
    variables, argument, kept
):
    command = [sys.executable, "-c", AGAIN.replace("memory()", f"memory({argument})")]
    ran = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
    assert (int(ran.stdout) < 1000) == kept
