"""What a user can set."""

from typing import Literal, TypeAlias

MethodName: TypeAlias = Literal["graph", "boost", "net", "ipal", "observed", "commonest", "auto"]
