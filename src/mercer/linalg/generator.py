"""Random number generator from a seed or a generator, never NumPy's global one."""

from typing import Any

import numpy as np
from sklearn.utils import check_random_state

from mercer._common import Seed


def generator(random_state: Seed) -> Any:
    """Return a Generator or RandomState; None is seed 0, so that runs repeat."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return check_random_state(0 if random_state is None else random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state = {random_state!r} must be a whole number from 0 to 2^32 - 1, a RandomState, a Generator or "
            "None."
        ) from None
