"""Compiled loops of a profile: orders, parameters beyond the type, profiles that cannot be compiled, kinds."""

import numpy as np
import pytest

from mercer._compute import loops
from mercer._compute.profile import compile_profile


def tile(*formula, order=0):
    return loops.tile(loops.Formula(*formula), order)


def gaussian(xp, s, gamma, order=0):
    value = xp.exp(-gamma * s)
    return value if order == 0 else (-gamma) ** order * value


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["plain", "clamped"])
def test_scalars_in_some_columns_of_a_block_are_replaced_and_negative_ones_are_0_where_they_are_distances(
    kind, dtype
):
    block = np.linspace(-1, 2, 21, dtype=dtype).reshape(3, 7)
    before, nothing = block.copy(), np.empty((0, 4), dtype)
    compile_profile(gaussian, 0, kind, dtype, 1)(nothing, nothing, block, 2, np.array([0.7], dtype))
    scalars = np.maximum(before, 0) if kind == "clamped" else before
    np.testing.assert_allclose(
        block[:, 2:6], np.exp(-dtype(0.7) * scalars[:, 2:6]), rtol=8 * np.finfo(dtype).eps
    )
    np.testing.assert_array_equal(block[:, [0, 1, 6]], before[:, [0, 1, 6]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("d", [4, 8, 12])
def test_distances_of_padded_rows_are_computed_in_the_loop(d, dtype):
    rng = np.random.default_rng(d)
    left, right = rng.normal(size=(3, d)).astype(dtype), rng.normal(size=(d, 5)).astype(dtype)
    block = np.empty((3, 5), dtype)
    compile_profile(gaussian, 0, "direct", dtype, 1)(left, right, block, 0, np.array([0.1], dtype))
    exact = np.exp(-0.1 * ((left[:, :, None].astype(float) - right) ** 2).sum(axis=1))
    np.testing.assert_allclose(block, exact, rtol=8 * d * np.finfo(dtype).eps)


def test_a_profile_that_compiled_code_cannot_run_is_named():
    def profile(xp, s, order=0):
        return open(xp.exp(s), order)

    X, Z = np.zeros((2, 2)), np.ones((3, 2))
    with pytest.raises(
        TypeError, match="profile must use only arithmetic and the functions of its argument xp"
    ):
        tile(profile, "radial", (), X, Z)


def test_orders_of_a_profile_are_separate_loops():
    X, Z = np.zeros((1, 3)), np.arange(15.0).reshape(5, 3) / 10
    for order in range(3):
        expected = (-0.7) ** order * np.exp(-0.7 * (Z**2).sum(axis=1))
        np.testing.assert_allclose(
            tile(gaussian, "radial", (0.7,), X, Z, order=order)[0], expected, rtol=1e-12
        )


def test_parameters_beyond_the_type_are_its_largest_number():
    X = np.array([[0.0], [1.0]], np.float32)
    np.testing.assert_array_equal(
        tile(gaussian, "radial", (1e300,), X, X), np.eye(2, dtype=np.float32)
    )
