"""Imported first in every worker of a local cluster: what Dask says there is not for the user.

Errors of kernels travel to the driver; what a worker writes at its end would only alarm.
"""

import os

_nowhere = os.open(os.devnull, os.O_WRONLY)
for _handle in (1, 2):
    os.dup2(_nowhere, _handle)
os.close(_nowhere)
