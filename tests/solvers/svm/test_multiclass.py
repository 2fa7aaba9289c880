"""Several binary classifiers: which points they see, the layout of their coefficients, decision values, votes."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.svm import SVC
from sklearn.utils.multiclass import _ovr_decision_function
from tests.reference.inside import points_of

import mercer as mc
from mercer.gram import kept_product
from mercer.solvers.svm.multiclass import (
    class_signs,
    class_slices,
    class_values,
    decide,
    is_packed,
    is_paired,
    pair_columns,
    pair_places,
    pair_values,
    subproblems,
    unpack,
    votes,
)

COUNTS = np.array([2, 1, 3])


@pytest.fixture
def rng(global_random_seed):
    return np.random.default_rng(global_random_seed)


# --- layout -----------------------------------------------------------------------------------------------------------


def test_a_class_is_positive_in_pairs_that_it_begins_and_negative_in_those_that_it_ends():
    np.testing.assert_array_equal(class_signs(3, "ovo"), [[1, 1, 0], [-1, 0, 1], [0, -1, -1]])
    np.testing.assert_array_equal(class_signs(3, "ovr"), [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]])
    for multi_class in ("ovo", "ovr"):
        np.testing.assert_array_equal(class_signs(2, multi_class), [[-1], [1]])


def test_pairs_see_their_two_classes_and_share_the_points_of_each():
    found = subproblems(COUNTS, "ovo")
    assert [each.points.tolist() for each in found] == [[0, 1, 2], [0, 1, 3, 4, 5], [2, 3, 4, 5]]
    assert [each.sign.tolist() for each in found] == [
        [1, 1, -1],
        [1, 1, -1, -1, -1],
        [1, -1, -1, -1],
    ]
    assert found.runs.tolist() == [[2, 1], [2, 3], [1, 3]]


def test_one_against_the_rest_sees_all_points_as_one_part():
    found = subproblems(COUNTS, "ovr")
    assert [each.points.tolist() for each in found] == [list(range(6))] * 3
    assert [each.sign.tolist() for each in found][1] == [-1, -1, 1, -1, -1, -1]
    assert found.runs.tolist() == [[6]] * 3


def test_two_classes_make_one_classifier_in_which_the_second_is_positive():
    for multi_class in ("ovo", "ovr"):
        (found,) = subproblems([2, 1], multi_class)
        assert found.sign.tolist() == [-1, -1, 1]


def test_the_dual_of_a_classifier_bounds_each_coefficient_by_its_C_with_the_sign_of_its_class():
    dual = subproblems(COUNTS, "ovo").duals(np.array([1.0, 2.0, 9.0, 4.0, 5.0, np.inf]))[1]
    np.testing.assert_array_equal(dual.upper, [1, 2, 0, 0, 0])
    np.testing.assert_array_equal(dual.lower, [0, 0, -4, -5, -np.inf])
    np.testing.assert_array_equal(dual.target, [1, 1, -1, -1, -1])
    assert (dual.total, dual.coef.any()) == (None, False)


def test_packed_coefficients_unpack():
    found = subproblems(COUNTS, "ovo")
    coefs = [np.arange(1.0, 1 + len(each.points)) + 10 * k for k, each in enumerate(found)]
    full = np.zeros((6, 3))
    for k, each in enumerate(found):
        full[each.points, k] = coefs[k]
    packed = found.block(np.concatenate(coefs))
    # column k belongs to the k-th other class
    np.testing.assert_array_equal(packed[2], [3, 21])
    np.testing.assert_array_equal(unpack(packed, COUNTS), full)
    np.testing.assert_array_equal(pair_columns(3), [[0, 1], [0, 2], [1, 2]])
    np.testing.assert_array_equal(pair_places(3), [[0, 1, 3], [2, 4, 5]])
    np.testing.assert_array_equal(found.joined(packed), np.concatenate(coefs))
    rest = subproblems(COUNTS, "ovr")
    np.testing.assert_array_equal(rest.block(np.arange(18.0)), np.arange(18.0).reshape(3, 6).T)
    np.testing.assert_array_equal(
        rest.joined(np.arange(18.0).reshape(6, 3)), np.arange(18.0).reshape(6, 3).T.ravel()
    )


def test_only_pairs_of_three_classes_are_packed():
    assert [is_paired(c, kind) for c, kind in ((2, "ovo"), (3, "ovo"), (3, "ovr"))] == [
        False,
        True,
        False,
    ]
    assert [is_packed(c, "ovo", k) for c, k in ((2, 1), (3, 2), (3, 3), (4, 3), (4, 6))] == [
        0,
        1,
        0,
        1,
        0,
    ]
    assert not is_packed(4, "ovr", 4)
    assert class_slices([2, 0, 3]) == [slice(0, 2), slice(2, 2), slice(2, 5)]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [mc.Gaussian(0.3), mc.Polynomial(2), mc.Gaussian(0.3) + mc.Linear()], ids=repr
)
@pytest.mark.parametrize("container", [np.asarray, sp.csr_matrix], ids=["dense", "sparse"])
def test_packed_coefficients_have_the_decision_values_of_unpacked_ones(
    kernel, dtype, container, rng
):
    # a class of several tiles, one of a single vector, one without any
    counts = np.array([700, 1, 0, 40])
    X, vectors = (
        rng.standard_normal((60, 12)).astype(dtype),
        rng.standard_normal((741, 12)).astype(dtype),
    )
    packed = rng.standard_normal((741, 3)).astype(dtype)
    unpacked = unpack(packed, counts).astype(np.float64)
    exact = kernel(X.astype(np.float64), vectors.astype(np.float64)) @ unpacked
    products = kept_product(
        kernel, container(X), points_of(container(vectors)), packed, class_slices(counts)
    )
    values = pair_values(products, 4)
    assert values.dtype == dtype
    assert values.shape == (60, 6)
    bound = (
        1e2
        * np.finfo(dtype).eps
        * np.abs(kernel(X, vectors)).max()
        * np.abs(unpacked).sum(axis=0).max()
    )
    np.testing.assert_allclose(values, exact, rtol=0, atol=bound)


# --- votes ------------------------------------------------------------------------------------------------------------


def test_votes_count_pairs_won_and_a_value_of_0_is_for_the_second_class():
    values = np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 0.0], [-1.0, 1.0, 1.0]])
    np.testing.assert_array_equal(votes(values, 3), [[2, 0, 1], [0, 1, 2], [1, 2, 0]])


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_class_values_are_those_of_scikit_learn(rng, dtype):
    values = rng.standard_normal((40, 10)).astype(dtype)
    values[0] = 0
    found = class_values(values, 5)
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, _ovr_decision_function(values < 0, -values, 5), rtol=4 * np.finfo(dtype).eps
    )


def test_the_class_of_most_votes_wins_and_the_first_of_equals_unless_ties_are_broken():
    # each class wins one pair, the third by most
    tie = np.array([[1.0, -3.0, 1.0]])
    assert decide(tie, 3, "ovo") == 0
    assert decide(tie, 3, "ovo", break_ties=True) == 2
    assert decide(np.array([[0.1, 0.3, 0.2]]), 3, "ovr") == 1
    assert decide(np.array([[0.1], [-0.1], [0.0]]), 2, "ovo").tolist() == [1, 0, 0]


def test_votes_of_many_classes_are_those_counted_pair_by_pair(rng):
    values = rng.standard_normal((3, 780))
    values[0] = 0
    counted = np.zeros((3, 40), int)
    for k, (i, j) in enumerate(zip(*np.triu_indices(40, 1), strict=True)):
        counted[np.arange(3), np.where(values[:, k] > 0, i, j)] += 1
    np.testing.assert_array_equal(votes(values, 40), counted)


# --- many classes -----------------------------------------------------------------------------------------------------


def many(rng, n_classes, size=2):
    X = np.repeat(3 * rng.standard_normal((n_classes, 6)), size, axis=0)
    return X + rng.standard_normal(X.shape), np.repeat(np.arange(n_classes), size)


def test_a_model_of_many_classes_takes_memory_in_proportion_to_its_coefficients(rng):
    X, y = many(rng, 150)
    # compilation takes memory too
    model = mc.SVC().fit(X, y)
    model.predict(X[:8])
    mc.certify(model, X, y)
    packed = X.shape[0] * 149 * 8
    tracemalloc.start()
    try:
        model = mc.SVC().fit(X, y)
        fit = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        model.predict(X[:8])
        predict = tracemalloc.get_traced_memory()[1]
        tracemalloc.reset_peak()
        mc.certify(model, X, y)
        certify = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    # a table of all vectors and all pairs takes 75 times as much, one of all classes and all pairs 37 times
    assert fit < 25 * packed
    assert predict < 15 * packed
    assert certify < 25 * packed


@pytest.mark.parametrize("kind", [mc.SVC, mc.NuSVC])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_certificate_of_several_classes_is_the_sum_of_those_of_pairs(rng, kind, dtype):
    X, y = many(rng, 6, 7)
    X = X.astype(dtype)
    found = mc.certify(kind(kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    alone = []
    for i, j in zip(*np.triu_indices(6, 1), strict=True):
        own = (y == i) | (y == j)
        alone.append(mc.certify(kind(kernel=mc.Gaussian(0.1)).fit(X[own], y[own]), X[own], y[own]))
    assert found.primal == pytest.approx(sum(each.primal for each in alone), rel=1e-5)
    assert found.dual == pytest.approx(sum(each.dual for each in alone), rel=1e-5)
    assert found.dual <= found.primal * (1 + 1e-12)
    assert found.kkt <= 1e-3


def test_a_changed_coefficient_or_intercept_of_one_pair_shows_in_the_certificate(rng):
    X, y = many(rng, 6, 7)
    model = mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y)
    before = mc.certify(model, X, y)
    model.intercept_ = model.intercept_ + np.eye(15)[4] * 0.1
    moved = mc.certify(model, X, y)
    assert moved.gap > before.gap + 1e-3
    model.dual_coef_ = (
        model.dual_coef_ * np.where(np.arange(len(model.dual_coef_)) == 3, 0.5, 1.0)[:, None]
    )
    other = mc.certify(model, X, y)
    assert other.dual == -np.inf
    assert other.kkt > 0.01


@pytest.mark.parametrize("kernel", ["rbf", "linear"])
@pytest.mark.parametrize("break_ties", [False, True])
def test_predictions_of_many_classes_are_those_of_scikit_learn(rng, kernel, break_ties):
    X, y = many(rng, 40)
    new = X + 0.5 * rng.standard_normal(X.shape)
    model = mc.SVC(kernel=kernel, break_ties=break_ties, tol=1e-8).fit(X, y)
    peer = SVC(kernel=kernel, break_ties=break_ties, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.decision_function(new), peer.decision_function(new), atol=1e-4)
    assert (model.predict(new) == peer.predict(new)).mean() > 0.98
