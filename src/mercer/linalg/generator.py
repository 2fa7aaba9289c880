"""Random numbers for algorithms: from a seed or a generator that is passed, never from NumPy's global state."""

import numpy as np
from sklearn.utils import check_random_state


def generator(random_state):
    """Return a generator of random numbers.

    Parameters
    ----------
    random_state : int, RandomState, Generator or None
        None is seed 0: the same numbers in every run, and the global state is left alone.

    Returns
    -------
    RandomState or Generator

    Examples
    --------
    >>> from mercer.linalg.generator import generator
    >>> generator(None).uniform() == generator(0).uniform()
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    return check_random_state(0 if random_state is None else random_state)
