"""Public functions that take data, as calls."""

from tests.trust.functions import capacity, expansions, files, invariance, kernels, learning, spaces


def all_calls():
    """Yield all calls of functions."""
    yield from [
        *expansions.EXPANSIONS,
        *expansions.METHODS,
        *spaces.MAPS,
        *spaces.MANIFOLD,
        *capacity.CAPACITY,
    ]
    yield from [*invariance.INVARIANCE, *learning.LEARNING, *files.FILES]
    yield from kernels.all_calls()
