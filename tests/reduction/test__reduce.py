"""reduce: limits, psi unchanged, the vector 0, interruption, and refused arguments."""

from dataclasses import dataclass

import numpy as np
import pytest

import mercer as mc
from mercer.reduction import Stage, reduce

RNG = np.random.default_rng(3)
X = RNG.normal(size=(20, 2))
C = RNG.normal(size=(20, 3))
PSI = mc.Expansion(mc.Gaussian(0.5), X, C)


@dataclass(frozen=True)
class First:
    """The first points, one after the other, and Ctrl-C after some of them."""

    interrupted: int = 100

    def require(self, psi):
        """Accept every expansion."""

    def find(self, target, n_vectors, tol):
        order = np.arange(n_vectors)
        for size in range(1, n_vectors + 1):
            if size > self.interrupted:
                raise KeyboardInterrupt
            yield Stage(target.points, order[:size])


def test_the_limit_that_is_reached_first_ends_the_run():
    assert len(reduce(PSI, 5, method=First()).sizes) == 5
    answer = reduce(PSI, tol=0.3, method=First())
    assert answer.relative_error.max() <= 0.3
    assert answer.at(len(answer.sizes) - 1).relative_error.max() > 0.3
    assert reduce(PSI, 5, tol=0.3, method=First()).expansion.shape == (5, 3)
    assert reduce(PSI, 19, tol=0.3, method=First()).expansion.shape == answer.expansion.shape


@pytest.mark.parametrize("n_vectors", [20, 21, 10**9])
def test_with_as_many_vectors_as_points_psi_is_returned_unchanged(n_vectors):
    answer = reduce(PSI, n_vectors, method=First())
    assert answer.expansion is PSI
    np.testing.assert_array_equal(answer.relative_error, 0)
    assert answer.sizes == 20
    assert answer.history == 0


def test_with_a_tolerance_that_is_not_reached_psi_is_returned_unchanged():
    answer = reduce(PSI, tol=1e-14, method=First())
    assert answer.expansion is PSI
    assert "tol" in answer.reason


@pytest.mark.parametrize("method", ["construct", "merge", "refine", "greedy", "eigenvector", "l1", "pivoted",
                                    "exhaustive", "max_norm", "variable_widths"])  # fmt: skip
def test_a_tolerance_needs_the_single_point_of_psi(method):
    for psi in (
        mc.Expansion(mc.Gaussian(0.5), X[:1], C[:1]),
        mc.Expansion(mc.Gaussian(0.5), X[:2], [[2.0], [0.0]]),
    ):
        answer = reduce(psi, tol=0.1, method=method)
        assert answer.expansion.shape[0] == 1
        assert (answer.relative_error == 0).all()
        assert answer.sizes.tolist() == [1]


def test_points_without_coefficients_are_removed_first():
    coef = np.where(np.arange(20)[:, None] % 2, C, 0)
    psi = mc.Expansion(mc.Gaussian(0.5), X, coef)
    answer = reduce(psi, 10, method=First())
    np.testing.assert_array_equal(answer.expansion.points, X[1::2])
    np.testing.assert_array_equal(answer.expansion.coef, coef[1::2])
    np.testing.assert_array_equal(reduce(psi, 3, method=First()).expansion.points, X[[1, 3, 5]])


@pytest.mark.parametrize("limits", [{"n_vectors": 5}, {"tol": 0.1}])
def test_the_vector_0_is_written_over_one_point(limits):
    answer = reduce(PSI * 0.0, **limits, method=First())
    assert answer.expansion.shape == (1, 3)
    assert (answer.sizes, answer.history, answer.method, answer.reason) == (
        [1],
        [0],
        None,
        "psi is 0",
    )
    np.testing.assert_array_equal(answer.expansion.coef, 0)
    np.testing.assert_array_equal(answer.relative_error, 0)


def test_a_column_0_among_others_stays_0():
    answer = reduce(PSI @ np.diag([1.0, 0.0, 1.0]), 5, method=First())
    np.testing.assert_array_equal(answer.expansion.coef[:, 1], 0)
    assert answer.relative_error[1] == 0


def test_an_interrupted_run_returns_the_sets_found_so_far():
    with pytest.raises(KeyboardInterrupt) as caught:
        reduce(PSI, 10, method=First(interrupted=6))
    np.testing.assert_array_equal(
        caught.value.reduction.expansion.coef, reduce(PSI, 6, method=First()).expansion.coef
    )
    with pytest.raises(KeyboardInterrupt) as caught:
        reduce(PSI, 10, method=First(interrupted=0))
    assert caught.value.reduction is None


def test_the_callback_is_called_after_every_set_and_can_end_the_run():
    seen = []
    answer = reduce(PSI, 8, method=First(), callback=lambda size, worst: seen.append((size, worst)))
    assert [size for size, _ in seen] == list(range(1, 9))
    np.testing.assert_allclose(seen[-1][1], answer.relative_error.max(), rtol=1e-9)
    assert reduce(PSI, 8, method=First(), callback=lambda size, _: size == 3).expansion.shape == (
        3,
        3,
    )


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, ValueError, "n_vectors and tol are both None"),
        ({"n_vectors": 0}, ValueError, "n_vectors = 0 must be at least 1"),
        ({"n_vectors": 2.5}, TypeError, "n_vectors must be a whole number, got 2.5"),
        ({"tol": -0.1}, ValueError, "tol = -0.1 must be at least 0 and below 1"),
        ({"tol": 1.0}, ValueError, "tol = 1.0 must be at least 0 and below 1"),
        ({"tol": float("nan")}, ValueError, "tol = nan must be finite"),
        ({"n_vectors": 3, "method": "magic"}, ValueError, "method = 'magic' must be one of"),
        ({"n_vectors": 3, "method": First}, TypeError, "method = .* must be a string or a record"),
        ({"n_vectors": 3, "callback": 5}, TypeError, "callback must be a function, or None, got 5"),
        ({"n_vectors": 3, "psi": X}, TypeError, "psi must be an Expansion"),
    ],
)
def test_wrong_arguments_are_refused_by_name(arguments, error, message):
    with pytest.raises(error, match=message):
        reduce(**{"psi": PSI, "method": First()} | arguments)


@pytest.mark.parametrize("method", ["construct", "refine", "pivoted"])
def test_a_run_without_a_set_gives_one_vector(method):
    # all squares k(z, z) near the points are negative
    psi = mc.Expansion(mc.Sigmoid(0.01, -0.3), X[:6], np.repeat([1.0, -1.0], 3))
    answer = reduce(psi, 2, method=method)
    assert answer.expansion.shape == (1, 1)
    np.testing.assert_allclose(answer.relative_error, 1)
    assert answer.reason == "the method found no further vector that lowers the error"


def test_limits_are_numbers_of_vectors_and_shares_below_1():
    assert reduce(PSI, 1, 0).sizes.tolist() == [1]
    assert reduce(PSI, tol=0.999).relative_error.max() <= 0.999
    model = mc.SVC().fit(X, X[:, 0] > 0)
    for function, name in (
        (reduce, "tol"),
        (lambda _, **limits: mc.compress(model, X, **limits), "max_loss"),
    ):
        with pytest.raises(ValueError, match=f"{name} = 1 must be at least 0 and below 1"):
            function(PSI, **{name: 1})
        with pytest.raises(ValueError, match=f"n_vectors and {name} are both None"):
            function(PSI)


@pytest.mark.parametrize("method", ["construct", "greedy", "pivoted", "refine"])
def test_the_limit_may_be_any_whole_number_of_numpy(method):
    expected = reduce(PSI, 4, method=method)
    for kind in (np.uint8, np.uint64, np.int8):
        found = reduce(PSI, kind(4), method=method)
        np.testing.assert_array_equal(found.expansion.points, expected.expansion.points)
        np.testing.assert_array_equal(found.relative_error, expected.relative_error)


@pytest.mark.parametrize("method", ["construct", "merge", "greedy", "pivoted"])
def test_a_conditionally_positive_definite_kernel_has_no_reduced_set(method):
    # coefficients of sum 0, as of a classifier; those of a set would have another sum
    psi = mc.Expansion(mc.kernels.PowerDistance(1.0) + mc.Gaussian(0.5), X, C - C.mean(axis=0))
    with pytest.raises(ValueError, match="reduced sets need a positive semidefinite kernel, but"):
        reduce(psi, 5, method=method)


def test_a_set_with_a_negative_squared_distance_is_warned_of():
    kernel, coef = mc.Sigmoid(0.1, -0.5), np.repeat([1.0, -1.0], 10)[:, None]
    psi = mc.Expansion(kernel, X[np.argsort(X[:, 0])], coef)
    with pytest.warns(UserWarning, match="1 of 1 reduced vectors have negative squared distances"):
        answer = reduce(psi, 5, method="pivoted").expansion
    points = np.vstack([psi.points, answer.points])
    difference = np.vstack([coef, -answer.coef])
    assert difference.T @ kernel(points) @ difference < 0


def test_a_set_of_a_matrix_with_the_rounding_of_float32_is_not_called_indefinite(recwarn):
    points = np.random.default_rng(3).normal(size=(20, 2))
    kernel = mc.kernels.Precomputed(mc.Gaussian(0.003)(points).astype(np.float32))
    answer = reduce(mc.Expansion(kernel, np.arange(20), np.ones((20, 1))), 8, method="pivoted")
    assert not recwarn
    assert answer.relative_error.max() < 0.01
