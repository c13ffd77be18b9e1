"""What all parts of a summary share: they are frozen, name every field, and numbers that do not exist are null."""

import math
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict


def _drop_nan(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


Value = Annotated[float | None, BeforeValidator(_drop_nan)]
Values = list[Value]


class Part(BaseModel):
    """A part of a summary."""

    model_config = ConfigDict(frozen=True, extra="forbid", populate_by_name=True, allow_inf_nan=False)
