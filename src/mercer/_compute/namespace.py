"""The functions a kernel's profile may call, for arrays of any array-API library.

A profile is written once against these names. Arrays run it through this class; compiled code runs the same source
with the module ``mercer._compute.fastmath``, which offers the same names for one float32 or float64.
"""

import array_api_compat
import array_api_compat.numpy
import numpy as np

# What ``of`` returns for NumPy arrays: NumPy itself, with the names of the standard that old versions lack.
NUMPY = array_api_compat.numpy


class Namespace:
    """exp, log, sqrt, tanh, where, ... of the library an array belongs to.

    Parameters
    ----------
    xp : array-API namespace
    """

    inf = float("inf")

    def __init__(self, xp):
        self.exp, self.log, self.sqrt, self.tanh = xp.exp, xp.log, xp.sqrt, xp.tanh
        # Python's own takes arrays of every library, and the scalars a profile works out of its parameters
        self.abs, self.where = abs, xp.where
        self.maximum, self.minimum = xp.maximum, xp.minimum
        self._xp = xp

    @staticmethod
    def const(s, value):
        """Return ``value`` so that arithmetic with ``s`` keeps the type of ``s``: Python floats do in arrays."""
        return float(value)

    def power(self, s, exponent):
        """Return ``s ** exponent``, by repeated squaring where the exponent is a small whole number.

        ``pow`` of an array costs 40 times a product, and kernels ask for whole exponents nearly always.
        """
        exponent = float(exponent)
        if exponent != int(exponent) or not 0 <= exponent <= 64:
            return s**exponent
        result, square, left = self._xp.ones_like(s), s, int(exponent)
        while left:
            result = result * square if left & 1 else result
            left >>= 1
            square = square * square if left else square
        return result


def put_values(array, rows, columns, values):
    """Write ``values[k]`` to ``array[rows[k], columns[k]]`` for every k, in place.

    Parameters
    ----------
    array : array (n, m)
    rows, columns : integer arrays (k,)
    values : array (k,), or a number
    """
    if isinstance(array, np.ndarray) or array_api_compat.is_torch_array(array) or array_api_compat.is_cupy_array(array):
        array[rows, columns] = values
        return
    # the standard has no assignment by arrays of indices
    for k in range(rows.shape[0]):
        array[int(rows[k]), int(columns[k])] = values if isinstance(values, (int, float)) else values[k]


def namespace_of(*arrays):
    """Return the array-API namespace of the arrays (NumPy for anything that is not an array of another library)."""
    arrays = [a for a in arrays if array_api_compat.is_array_api_obj(a)]
    return array_api_compat.array_namespace(*arrays) if arrays else NUMPY
