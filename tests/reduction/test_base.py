"""Targets, stages and results: the input of methods and the output of reduce."""

import pickle
from dataclasses import dataclass
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import mercer as mc
from mercer.kernels import Tags
from mercer.reduction import Construct, Method, Stage, Target, reduce
from mercer.reduction.base import require_new_points

RNG = np.random.default_rng(0)
X = RNG.normal(size=(20, 2))
C = RNG.normal(size=(20, 3))


@dataclass(frozen=True)
class First:
    """The first points, one after the other."""

    def require(self, psi):
        """Accept every expansion."""

    def find(self, target, n_vectors, tol):
        order = np.arange(n_vectors)
        for size in range(1, n_vectors + 1):
            yield Stage(target.points, order[:size])


def test_a_record_with_require_and_find_is_a_method():
    assert isinstance(First(), Method)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_target_is_psi_in_float64_with_its_values_and_squares(dtype):
    psi = mc.Expansion(mc.Gaussian(0.5), X.astype(dtype), C.astype(dtype))
    target = Target(psi)
    assert target.points.dtype == target.coef.dtype == np.float64
    K = mc.Gaussian(0.5)(target.points)
    np.testing.assert_allclose(target.values, K @ target.coef, atol=1e-12)
    np.testing.assert_allclose(
        target.squares, (target.coef * (K @ target.coef)).sum(axis=0), rtol=1e-12
    )
    assert target.eps == np.finfo(dtype).eps


def test_relative_errors_are_finite_for_a_vector_0_and_for_rounding():
    target = Target(mc.features(mc.Linear(), X) @ np.column_stack([C[:, 0], np.zeros(20)]))
    np.testing.assert_allclose(
        target.relative(np.array([-1e-20, 1e-20])), [1e-10 / target.squares[0] ** 0.5, 0]
    )
    np.testing.assert_allclose(target.relative(target.squares), [1, 0])


def test_a_negative_square_is_refused_with_its_column():
    psi = mc.features(mc.Sigmoid(1.0, -5.0), X[:1]) @ np.ones((1, 1))
    assert psi.kernel.diag(X[:1])[0] < 0
    with pytest.raises(ValueError, match="vector 0 of psi has the negative squared norm -"):
        _ = Target(psi).squares


def test_a_norm_whose_fourth_power_overflows_is_refused():
    phi = mc.features(mc.Gaussian(1.0), X)
    for size in (1e70, -1e70):
        result = mc.reduce(phi @ np.full((len(X), 1), size), 2)
        np.testing.assert_allclose(
            result.relative_error, mc.reduce(phi @ np.ones((len(X), 1)), 2).relative_error
        )
    with pytest.raises(ValueError, match="psi has the squared norm .* at most 1e\\+150"):
        mc.reduce(phi @ np.full((len(X), 1), 1e80), 2)


@pytest.mark.parametrize("size", [1, 4, 9])
def test_one_run_gives_the_reduced_set_of_every_size(size):
    psi = mc.Expansion(mc.Gaussian(0.5), X, C)
    run = reduce(psi, 12, method=First())
    answer, alone = run.at(size), reduce(psi, size, method=First())
    np.testing.assert_array_equal(answer.expansion.points, alone.expansion.points)
    np.testing.assert_allclose(answer.expansion.coef, alone.expansion.coef, rtol=1e-10)
    np.testing.assert_allclose(answer.relative_error, alone.relative_error, rtol=1e-10)
    np.testing.assert_allclose(answer.history, run.history[:size])
    assert run.at(12) is run
    assert run.at(100) is run
    with pytest.raises(ValueError, match="n_vectors = 0 must be at least 1"):
        run.at(0)


def test_a_pickled_result_gives_the_reduced_sets_of_other_sizes():
    run = reduce(mc.Expansion(mc.Gaussian(0.5), X, C), 12, method=First())
    again = pickle.loads(pickle.dumps(run))
    np.testing.assert_array_equal(again.at(5).expansion.coef, run.at(5).expansion.coef)


def test_points_of_every_kind_can_be_selected():
    dense = reduce(mc.Expansion(mc.Gaussian(0.5), X, C), 6, method=First())
    sparse = reduce(mc.Expansion(mc.Gaussian(0.5), sp.csr_matrix(X), C), 6, method=First())
    given = mc.Precomputed(mc.Gaussian(0.5)(X))
    indices = reduce(mc.Expansion(given, np.arange(20), C), 6, method=First())
    for other in (sparse, indices):
        np.testing.assert_allclose(other.expansion.coef, dense.expansion.coef, rtol=1e-8)
        np.testing.assert_allclose(other.relative_error, dense.relative_error, rtol=1e-8)
    np.testing.assert_array_equal(indices.expansion.points, np.arange(6))


def test_other_types_than_expansions_are_refused():
    with pytest.raises(TypeError, match="psi must be an Expansion"):
        Target(X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_features_as_a_target_have_the_identity_as_coefficients(dtype):
    target = Target(mc.features(mc.Gaussian(0.5), X.astype(dtype)))
    np.testing.assert_array_equal(target.coef, np.eye(20))
    np.testing.assert_allclose(target.values, mc.Gaussian(0.5)(target.points), atol=1e-12)
    np.testing.assert_allclose(target.squares, 1)


@pytest.mark.parametrize(
    ("points", "kind", "accepted"),
    [
        (np.ones((3, 2)), "rows", True),
        (sp.csr_matrix(np.ones((3, 2))), "rows", True),
        (np.ones((3, 2)), "objects", True),
        ([[1.0], [2.0]], "rows", False),
        (np.ones(3), "objects", False),
        (np.ones((3, 2), int), "objects", False),
        (np.ones((3, 2)), "indices", False),
    ],
)
def test_new_points_are_rows_of_numbers(points, kind, accepted):
    psi = SimpleNamespace(points=points, kernel=SimpleNamespace(tags=Tags(points=kind)))
    if accepted:
        require_new_points(Construct(), psi)
    else:
        with pytest.raises(TypeError, match=r"Construct makes new points.*method='greedy'"):
            require_new_points(Construct(), psi)


def test_new_points_need_a_gradient():
    psi = SimpleNamespace(
        points=np.ones((3, 2)), kernel=SimpleNamespace(tags=Tags(differentiable=False))
    )
    with pytest.raises(TypeError, match=r"Construct needs a gradient.*method='greedy'"):
        require_new_points(Construct(), psi)


def test_a_negative_square_is_rounding_up_to_1e_10_of_the_sum_of_its_terms():
    for ratio, refused in ((5e-11, False), (2e-10, True)):
        # the square a^2 - 1 is minus this ratio of a^2 + 1
        a = np.sqrt((1 - ratio) / (1 + ratio))
        psi = mc.Expansion(
            mc.Precomputed(np.diag([1.0, -1.0])), np.arange(2), np.array([[a], [1.0]])
        )
        if refused:
            with pytest.raises(ValueError, match="negative squared norm"):
                _ = Target(psi).squares
        else:
            np.testing.assert_array_equal(Target(psi).squares, 0)


def test_a_vector_that_is_0_up_to_rounding_has_no_negative_square():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(6, 2))
        target = Target(mc.Expansion(mc.Linear(), X - X.mean(axis=0), np.full(6, 1e8)))
        assert target.squares[0] < 100


@pytest.mark.parametrize("size", [2.5, np.nan, None, "3"])
def test_the_size_of_a_smaller_set_is_a_whole_number(size):
    run = reduce(mc.Expansion(mc.Gaussian(0.5), X, C), 5, method=First())
    with pytest.raises(TypeError, match="n_vectors must be a whole number"):
        run.at(size)
