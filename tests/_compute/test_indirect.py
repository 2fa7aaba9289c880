import numpy as np
import pytest

from mercer._compute.compile import dispatcher
from mercer._compute.indirect import address, call_filler


def _filler(factor):
    def fill(tiles, squares, parameters, wanted, out):
        if wanted.size > 2:
            raise ValueError("too many")
        for r in range(wanted.size):
            for t in range(squares.size):
                out[r, t] = factor * tiles[0, 0, wanted[r]] + squares[t] * parameters[0]

    return dispatcher(fill)


def _call(where, tiles, squares, parameters, wanted, out):
    call_filler(where, tiles, squares, parameters, wanted, out)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_compiled_caller_calls_whichever_function_lies_at_the_address(dtype):
    tiles, squares, parameters = np.array([[[3, 5]]], dtype), np.array([1, 2, 4], dtype), np.array([10], dtype)
    arguments, call = (tiles, squares, parameters, np.array([1, 0])), dispatcher(_call)
    for factor in (1, 100):
        fill, out = _filler(factor), np.zeros((2, 3), dtype)
        call(address(fill, *arguments, out), *arguments, out)
        np.testing.assert_array_equal(out, factor * np.array([[5], [3]]) + [10, 20, 40])
    assert len(call.overloads) == 1


def test_an_error_of_the_function_reaches_the_caller():
    out, fill = np.zeros((3, 1)), _filler(1)
    arguments = np.ones((1, 1, 3)), np.ones(1), np.ones(1), np.array([0, 1, 2]), out
    with pytest.raises(ValueError, match="too many"):
        dispatcher(_call)(address(fill, *arguments), *arguments)
