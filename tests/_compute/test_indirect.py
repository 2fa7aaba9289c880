import numpy as np
import pytest

from mercer._compute.compile import dispatcher
from mercer._compute.intrinsics import address, call_loop


def _loop(factor):
    def loop(left, right, block, start, parameters):
        if start > 2:
            raise ValueError("too far")
        for i in range(block.shape[0]):
            for j in range(right.shape[1]):
                block[i, start + j] = factor * left[i, 0] + right[0, j] * parameters[0]

    return dispatcher(loop)


def _call(where, left, right, block, start, parameters):
    call_loop(where, left, right, block, start, parameters)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_compiled_caller_calls_whichever_function_lies_at_the_address(dtype):
    left, right, parameters = (
        np.array([[5], [3]], dtype),
        np.array([[1, 2, 4]], dtype),
        np.array([10], dtype),
    )
    call = dispatcher(_call)
    for factor in (1, 100):
        loop, block = _loop(factor), np.zeros((2, 4), dtype)
        call(address(loop, left, right, block, 1, parameters), left, right, block, 1, parameters)
        np.testing.assert_array_equal(block[:, 1:], factor * left + [10, 20, 40])
        assert not block[:, 0].any()
    assert len(call.overloads) == 1


def test_an_error_of_the_function_reaches_the_caller():
    loop, one = _loop(1), np.ones((1, 1))
    with pytest.raises(ValueError, match="too far"):
        dispatcher(_call)(address(loop, one, one, one, 3, one[0]), one, one, one, 3, one[0])
