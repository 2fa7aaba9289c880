"""Random number generator from a seed or a generator, never NumPy's global one."""

import numpy as np
from sklearn.utils import check_random_state
from sklearn.utils.random import sample_without_replacement

from mercer._common import Array, Seed, shown


def generator(random_state: Seed) -> np.random.Generator | np.random.RandomState:
    """Return a Generator or RandomState; None is seed 0, so that runs repeat."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    try:
        return check_random_state(0 if random_state is None else random_state)
    except (ValueError, TypeError):
        raise ValueError(
            f"random_state = {shown(random_state)} must be a whole number from 0 to 2^32 - 1, a RandomState, a "
            "Generator or None."
        ) from None


def check_seed(random_state: Seed) -> None:
    """Raise unless a generator can be made; whole numbers cost nothing."""
    if not (random_state is None or (type(random_state) is int and 0 <= random_state < 2**32)):
        generator(random_state)


def without_generator(random_state: Seed) -> int | np.random.RandomState:
    """Return a RandomState or whole number for functions of scikit-learn, which take no Generator."""
    random = generator(random_state)
    return int(random.integers(2**32)) if isinstance(random, np.random.Generator) else random


def drawn_seed(random_state: Seed) -> int:
    """Return a whole number below 2^31 - 1, drawn."""
    random = generator(random_state)
    return int(
        (random.integers if isinstance(random, np.random.Generator) else random.randint)(2**31 - 1)
    )


def sorted_sample(n: int, size: int, random_state: Seed) -> Array:
    """Return ``size`` of the numbers below n, distinct and sorted, in O(size) memory."""
    return np.sort(
        sample_without_replacement(n, size, random_state=without_generator(random_state))
    )
