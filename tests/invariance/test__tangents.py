"""Tangents and their covariance: exact derivatives, one pass, weights, and clear errors for bad transformations."""

import re

import array_api_strict as xp
import numpy as np
import pytest

import mercer as mc
from mercer.invariance import image_transforms, tangent_covariance, tangents

X = np.random.default_rng(0).normal(size=(7, 2))
J = np.array([[0.0, 1.0], [-1.0, 0.0]])


def rotation(X, t):
    return X @ (np.cos(t) * np.eye(2) + np.sin(t) * J)


def growth(X, t):
    return X * np.exp(t)


def test_tangents_of_a_group_are_products_with_its_generators():
    found = tangents(X, {"rotation": rotation, "growth": growth})
    np.testing.assert_allclose(found[:, 0], X @ J, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(found[:, 1], X, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(tangents(X, rotation), found[:, :1])
    # the error of central differences is X J step^2 / 6
    np.testing.assert_allclose(
        tangents(X, [rotation], step=0.3)[:, 0], np.sin(0.3) / 0.3 * X @ J, rtol=1e-12
    )


def test_a_derivative_that_a_transformation_has_is_used_unless_a_step_is_given():
    class Odd:
        def __call__(self, X, t):
            return X + t

        def derivative(self, X):
            return 5 * np.ones(X.shape)

    np.testing.assert_array_equal(tangents(X, Odd()), 5.0)
    np.testing.assert_allclose(tangents(X, Odd(), step=0.1), 1.0)


def test_float32_rows_give_float32_tangents_computed_in_float64():
    found = tangents(X.astype(np.float32), rotation)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found[:, 0], X.astype(np.float32) @ J, rtol=1e-6, atol=1e-6)


def test_the_covariance_is_the_weighted_mean_of_outer_products_added_over_transformations(costs):
    weights = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 0.5, 1.0])
    T = tangents(X, [rotation, growth])
    expected = np.einsum("n,nad,nae->de", weights, T, T) / weights.sum()
    np.testing.assert_allclose(
        tangent_covariance(X, [rotation, growth], weights), expected, rtol=1e-12, atol=1e-12
    )
    repeated = tangent_covariance(
        np.repeat(X, 2, axis=0), [rotation, growth], np.repeat(weights / 2, 2)
    )
    np.testing.assert_allclose(repeated, expected, rtol=1e-12, atol=1e-12)
    parts = [tangent_covariance(X, g) for g in (rotation, growth)]
    np.testing.assert_allclose(
        tangent_covariance(X, [rotation, growth]), sum(parts), rtol=1e-12, atol=1e-12
    )
    costs(BLOCK=5)
    np.testing.assert_allclose(
        tangent_covariance(X, [rotation, growth], weights), expected, rtol=1e-12, atol=1e-12
    )


def test_a_transformation_may_move_a_single_column_and_round_at_0():
    rows = np.array([[0.0, 2.0], [1.0, 0.0], [3.0, 1.0]])

    def first(X, t, error=1e-6):
        return X + np.array([t + error, 0.0])

    np.testing.assert_allclose(tangents(rows, first)[:, 0], [[1.0, 0.0]] * 3, rtol=1e-9)
    np.testing.assert_allclose(tangent_covariance(rows, first), np.diag([1.0, 0.0]), rtol=1e-9)
    # an error of 1e-4 of the largest value is the largest that counts as rounding
    assert tangents(rows, lambda X, t: first(X, t, 2.9e-4)).shape == (3, 1, 2)
    with pytest.raises(
        ValueError, match="must return X at t = 0, but its rows differ by 0.00031 there"
    ):
        tangents(rows, lambda X, t: first(X, t, 3.1e-4))


def test_a_transformation_may_move_rows_of_the_first_block_only(costs):
    rows = np.array([[3.0, 0.0], [0.0, 1.0], [0.0, 2.0]])
    costs(BLOCK=2)
    found = tangent_covariance(rows, lambda X, t: X + t * (X[:, :1] > 2))
    np.testing.assert_allclose(found, 1 / 3, rtol=1e-9)


def test_a_transformation_sees_all_rows_of_a_block_at_once():
    seen = []

    def spy(X, t):
        seen.append(X.shape)
        return X + t

    tangent_covariance(X, spy)
    assert seen == [(7, 2)] * 3


BAD = {
    "not a function": (3, TypeError, "transforms must be a list or a dict of functions, got int"),
    "a list of something else": ([3], TypeError, r"transforms\[0\] must be a function, got 3 of type int"),
    "empty": ([], ValueError, r"transforms = \[\] must hold at least one function"),
    "other rows": ({"cut": lambda X, t: X[:3]}, ValueError, r"transforms\['cut'\] at t = 0 must return rows"),
    "other columns": ([lambda X, t: X[:, :1]], ValueError, r"shape \(7, 2\) of X, got shape \(7, 1\)"),
    "nan": ([lambda X, t: X + np.sqrt(t - 1e-9)], ValueError, r"must return finite numbers, got nan at \[0, 0\]"),
    "nan once": ([lambda X, t: X + [t, np.nan]], ValueError, r"return finite numbers, got nan at \[0, 1\]"),
    "nan beside 0": ([lambda X, t: X + (np.nan if t else 0)], ValueError, "at t = 6.06e-06 must return finite numbers"),
    "complex": ([lambda X, t: X + 1j * t], TypeError, "must return real numbers, got dtype complex128"),
    "moved at 0": ([lambda X, t: X + 1.0], ValueError, "must return X at t = 0, but its rows differ by 1 there"),
    "still": ([lambda X, t: X], ValueError, r"transforms\[0\] does not move any row of X: all its tangents are 0.0"),
    "error": ([lambda X, t: X / "a"], TypeError, "Raised by transforms"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("function", [tangents, tangent_covariance])
@pytest.mark.parametrize("case", BAD)
def test_bad_transformations_are_refused_by_name(function, case):
    transforms, error, message = BAD[case]
    with pytest.raises(error) as raised:
        function(X, transforms)
    text = "\n".join([str(raised.value), *getattr(raised.value, "__notes__", [])])
    assert re.search(message, text), text


def test_bad_rows_steps_and_weights_are_refused():
    with pytest.raises(ValueError, match="step = 0 must be above 0"):
        tangents(X, rotation, step=0)
    with pytest.raises(ValueError, match=r"sample_weight must have shape \(7,\)"):
        tangent_covariance(X, rotation, np.ones(3))
    with pytest.raises(ValueError, match="Input X contains NaN"):
        tangents(X * np.nan, rotation)


@pytest.mark.parametrize("speed", [1e-3, 0.5])
def test_small_tangents_are_tangents(speed):
    np.testing.assert_allclose(tangents(X, lambda X, t: X + speed * t), speed, rtol=1e-3)
    np.testing.assert_allclose(
        tangent_covariance(X, lambda X, t: X + speed * t), speed**2, rtol=1e-3
    )


def test_constant_images_have_no_tangents():
    right = {"right": image_transforms((4, 4), background=1.0)["right"]}
    with pytest.raises(
        ValueError,
        match=r"transforms\['right'\] does not move any row of X.*as for constant images",
    ):
        tangents(np.ones((3, 16)), right)
    with pytest.raises(ValueError, match="constant images"):
        mc.invariance.InvariantMap(image_transforms((4, 4))).fit(np.zeros((3, 16)))


def test_arrays_of_other_libraries_have_tangents():
    found, moved = (
        tangents(xp.asarray(X), [rotation, growth]),
        tangent_covariance(xp.asarray(X), [rotation]),
    )
    assert type(found) is type(moved) is type(xp.asarray(X))
    np.testing.assert_array_equal(np.asarray(found), tangents(X, [rotation, growth]))
    np.testing.assert_array_equal(np.asarray(moved), tangent_covariance(X, [rotation]))
