"""Array namespaces: the functions that a kernel's profile may call, for arrays of any array-API library.

Compiled code runs the same profiles with the module ``mercer._compute.fastmath``, which has the same names.
"""

import math

import array_api_compat
import array_api_compat.numpy
import numpy as np

# The namespace of NumPy arrays: NumPy with the standard's names that old versions lack.
NUMPY = array_api_compat.numpy


class Namespace:
    """exp, log, sqrt, tanh, where, ... of an array-API namespace ``xp``."""

    inf = float("inf")

    def __init__(self, xp):
        self.exp = xp.exp
        self.sqrt = xp.sqrt
        self.tanh = xp.tanh
        # Python's own abs takes arrays of every library, and scalars that a profile computes from its parameters
        self.abs = abs
        self.where = xp.where
        self.maximum = xp.maximum
        self.minimum = xp.minimum
        self._xp = xp

    def __getattr__(self, name):
        functions = sorted({*vars(self), *vars(Namespace)})
        known = ", ".join(each for each in functions if not each.startswith("_"))
        raise AttributeError(f"xp has no {name!r}; a profile may use {known}, and arithmetic.")

    @staticmethod
    def const(s, value):
        """Return ``value`` as a Python float: arithmetic with it keeps the type of the array s."""
        return float(value)

    def log(self, s):
        """Return the natural logarithm of an array, or of a parameter of the profile."""
        return math.log(s) if type(s) is float else self._xp.log(s)

    def power(self, s, exponent):
        """Return ``s ** exponent``; whole exponents from 0 to 64 by repeated squaring, 40 times faster than ``pow``."""
        exponent = float(exponent)
        if exponent != int(exponent) or not 0 <= exponent <= 64:
            return s**exponent
        if exponent == 0:
            return self._xp.ones_like(s)
        result = None
        square = s
        left = int(exponent)
        while left:
            if left & 1:
                result = square if result is None else result * square
            left >>= 1
            square = square * square if left else square
        return result


def put_values(array, rows, columns, values):
    """Write ``values[k]``, or one number, to ``array[rows[k], columns[k]]`` for every k."""
    if (
        isinstance(array, np.ndarray)
        or array_api_compat.is_torch_array(array)
        or array_api_compat.is_cupy_array(array)
    ):
        array[rows, columns] = values
        return
    # the standard has no assignment by arrays of indices
    for k in range(rows.shape[0]):
        array[int(rows[k]), int(columns[k])] = (
            values if isinstance(values, (int, float)) else values[k]
        )


def namespace_of(*arrays):
    """Return the array-API namespace of the arrays; NumPy for all other objects."""
    for array in arrays:
        if type(array) is not np.ndarray:
            break
    else:
        return NUMPY
    arrays = [a for a in arrays if array_api_compat.is_array_api_obj(a)]
    return array_api_compat.array_namespace(*arrays) if arrays else NUMPY
