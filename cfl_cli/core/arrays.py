"""The kinds of arrays that the numeric core takes and gives."""

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Ints: TypeAlias = npt.NDArray[np.int64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Singles: TypeAlias = npt.NDArray[np.float32]
Places: TypeAlias = npt.NDArray[np.int32]  # numbers of rows, many of them
