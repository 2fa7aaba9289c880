"""Shared parts of selection: the Gram matrix, its null space, nested stages; and claims on all selections."""

import numpy as np
import pytest

import mercer as mc
from mercer.reduction import L1, Eigenvector, Greedy, MaxNorm, Method, Pivoted, Target, reduce
from mercer.reduction.subset import gram, independent

RNG = np.random.default_rng(0)
X = RNG.normal(size=(12, 3))


def test_the_gram_matrix_is_that_of_the_points():
    kernel = mc.Gaussian(0.3)
    target = Target(mc.Expansion(kernel, X, RNG.normal(size=(12, 2))))
    np.testing.assert_allclose(gram(target, "1MB", 1), kernel(X, X), rtol=1e-14)


def test_a_matrix_beyond_the_budget_is_refused_with_both_numbers():
    target = Target(mc.mean(mc.features(mc.Gaussian(0.3), X)))
    with pytest.raises(
        MemoryError,
        match=r"3 matrices of 12 x 12 points needs 3\.5 kB, the memory budget is 1\.0 kB",
    ):
        gram(target, "1kB", 3)


def test_an_indefinite_matrix_is_refused_and_a_given_semidefinite_one_accepted():
    K, coef = X @ X.T, np.ones((12, 1))
    semidefinite = Target(mc.Expansion(mc.Precomputed(K), np.arange(12), coef))
    np.testing.assert_allclose(gram(semidefinite, "1GB", 1), K)
    shifted = mc.Precomputed(K - 0.5 * np.eye(12))
    with pytest.raises(
        ValueError,
        match=r'Precomputed is indefinite on these points: its.*from -0\.5 .*"construct"',
    ):
        gram(Target(mc.Expansion(shifted, np.arange(12), coef)), "1GB", 1)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_independent_features_span_all_and_write_the_vectors_with_themselves(dtype):
    repeated = np.vstack([X, X[:5]])
    coef = RNG.normal(size=(17, 2))
    K = mc.Gaussian(0.3)(repeated, repeated).astype(dtype)
    basis = independent(K, coef)
    assert len(basis.rows) == 12
    wide = K.astype(np.float64)
    tol = 1e2 * np.finfo(dtype).eps
    np.testing.assert_allclose(
        basis.factor @ basis.factor.T, wide[np.ix_(basis.rows, basis.rows)], atol=tol
    )
    # inner products with the features, and squares
    np.testing.assert_allclose(
        basis.factor @ basis.coordinates, (wide @ coef)[basis.rows], atol=1e2 * tol
    )
    np.testing.assert_allclose(
        (basis.coordinates**2).sum(axis=0), np.einsum("ij,ij->j", coef, wide @ coef), rtol=1e2 * tol
    )


def test_nested_stages_share_the_points_of_the_target():
    # the term that goes first has the shortest feature
    target = Target(mc.features(mc.Linear(), np.diag([2.0, 1.0, 3.0])))
    stages = list(Greedy().find(target, 3, 0.0))
    assert [stage.rows.tolist() for stage in stages] == [[2], [2, 0], [2, 0, 1]]
    assert all(stage.points is stages[0].points for stage in stages)


SELECTIONS = {
    "eigenvector": Eigenvector,
    "greedy": Greedy,
    "l1": L1,
    "max_norm": MaxNorm,
    "pivoted": Pivoted,
}


@pytest.mark.parametrize("name", SELECTIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_selection_returns_points_of_psi_exactly_and_has_all_sizes(name, dtype):
    psi = mc.Expansion(
        mc.Matern(1.0),
        RNG.normal(size=(30, 4)).astype(dtype),
        RNG.normal(size=(30, 2)).astype(dtype),
    )
    answer = reduce(psi, 12, method=name)
    assert answer.method == SELECTIONS[name]()
    assert isinstance(answer.method, Method)
    assert hash(answer.method) == hash(SELECTIONS[name]())
    assert answer.expansion.points.dtype == answer.expansion.coef.dtype == dtype
    assert {point.tobytes() for point in answer.expansion.points} <= {
        point.tobytes() for point in psi.points
    }
    assert answer.expansion.shape == (12, 2)
    np.testing.assert_array_equal(answer.sizes, np.arange(1, 13))
    assert answer.history[-1] < answer.history[0] < 1


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_tolerance_ends_the_run_at_the_first_set_that_reaches_it(name):
    psi = mc.Expansion(mc.Gaussian(0.5), X, RNG.normal(size=(12, 2)))
    answer = reduce(psi, tol=0.5, method=name)
    assert answer.relative_error.max() <= 0.5
    assert answer.at(len(answer.sizes) - 1).relative_error.max() > 0.5


@pytest.mark.parametrize("name", SELECTIONS)
def test_a_zero_column_and_a_point_without_coefficients_change_no_selection(name):
    coef = RNG.normal(size=(12, 1))
    zero = mc.Expansion(
        mc.Gaussian(0.5),
        np.vstack([X, X[:1] + 9]),
        np.vstack([np.pad(coef, ((0, 0), (0, 1))), [[0, 0]]]),
    )
    ours, plain = (
        reduce(psi, 5, method=name) for psi in (zero, mc.Expansion(mc.Gaussian(0.5), X, coef))
    )
    np.testing.assert_array_equal(ours.expansion.points, plain.expansion.points)


def test_matrices_that_exceed_the_memory_by_a_byte_are_refused():
    target = Target(mc.mean(mc.features(mc.Gaussian(0.3), X)))
    with pytest.raises(MemoryError, match=r"2 matrices of 12 x 12 points needs? 2\.304 kB"):
        gram(target, 2303, 2)
    assert gram(target, 2304, 2).shape == (12, 12)


@pytest.mark.parametrize("method", [mc.Greedy, mc.Eigenvector, mc.L1, mc.MaxNorm, mc.Exhaustive])
def test_a_memory_that_is_no_size_is_refused_when_the_record_is_made(method):
    with pytest.raises(ValueError, match="memory = 'lots' must be"):
        method(memory="lots")
