"""Feature maps: inner products of features, gradients against differences, invalid features."""

import array_api_strict
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from tests.reference.arrays import as_numpy
from tests.reference.derivatives import assert_gradients
from tests.reference.inside import tile_of

import mercer as mc

X = np.random.default_rng(0).standard_normal((8, 3))
G = mc.Gaussian(0.5)


@pytest.mark.parametrize(
    ("phi", "message"),
    [
        (lambda Y: Y * np.nan, r"Input phi\(X\) contains NaN at \(0, 0\)"),
        (lambda Y: Y + 1j, r"phi\(X\) must hold real numbers, got dtype complex128"),
        (lambda Y: np.full((len(Y), 2), 1e200), "FeatureMap.* overflows float64; scale X"),
        (
            lambda Y: sp.csr_array(np.full((len(Y), 2), 1e200)),
            "FeatureMap.* overflows float64; scale X",
        ),
        (
            lambda Y: Y[0],
            r"phi must return one row of features per point: expected \(8, D\), got \(3,\)",
        ),
        (lambda Y: Y.tolist(), r"expected \(8, D\), got list"),
    ],
    ids=["NaN", "complex", "large", "large sparse", "shape", "list"],
)
def test_bad_features_are_refused(phi, message):
    for use in (mc.FeatureMap(phi), mc.FeatureMap(phi).diag):
        with pytest.raises(ValueError, match=message):
            use(X)


NUMBERS = np.array([[20.0, 30, 1], [0, 1, 1], [1, 0, 0], [12, 20, 1]])


TYPES = [np.uint8, np.int64, np.longdouble, bool]


@pytest.mark.parametrize(
    ("make", "dtype"),
    [
        *(
            (make, dtype)
            for make in (np.array, pd.DataFrame)
            for dtype in (*TYPES, np.float16, object)
        ),
        *((sp.csr_array, dtype) for dtype in TYPES),
    ],
)
def test_features_of_every_type_have_the_inner_products_of_their_numbers(make, dtype):
    F = NUMBERS.astype(dtype)
    kernel, F64 = mc.FeatureMap(lambda rows: make(F[rows[:, 0].astype(int)])), F.astype(np.float64)
    rows = np.arange(4.0)[:, None]
    np.testing.assert_array_equal(kernel(rows), F64 @ F64.T)
    np.testing.assert_array_equal(kernel.diag(rows), (F64**2).sum(axis=1))
    np.testing.assert_array_equal(mc.Gram(kernel, rows) @ np.ones(4), (F64 @ F64.T).sum(axis=1))
    model, expected = (
        mc.SVC(kernel=k).fit(x, [0, 1, 1, 0]) for k, x in ((kernel, rows), (mc.Linear(), F64))
    )
    np.testing.assert_allclose(
        model.decision_function(rows), expected.decision_function(F64), atol=1e-6
    )


def test_features_are_tested_one_by_one_not_by_their_sum():
    large, small = np.full((3, 1), 1e308), np.array([[1e-8]])
    np.testing.assert_allclose(mc.FeatureMap(np.asarray)(large, small), large @ small, rtol=1e-15)


def test_a_feature_map_of_objects_is_the_inner_product_of_their_features():
    words = ["ab", "b", "aab"]
    kernel = mc.FeatureMap(lambda ws: np.array([[w.count("a"), w.count("b")] for w in ws], float))
    np.testing.assert_array_equal(kernel(words), [[2, 1, 3], [1, 1, 1], [3, 1, 5]])
    np.testing.assert_array_equal(kernel.diag(words), [2, 1, 5])


def test_features_are_functions():
    with pytest.raises(TypeError, match="phi must be a function of points, got 3"):
        mc.FeatureMap(3)
    with pytest.raises(TypeError, match="jacobian must be a function of points, got 3"):
        mc.FeatureMap(np.abs, 3)


def _features(Y):
    return np.column_stack([Y, Y**2])


def _jacobian(Y):
    return np.concatenate(
        [np.broadcast_to(np.eye(3), (len(Y), 3, 3)), 2 * Y[:, :, None] * np.eye(3)], axis=1
    )


def test_gradients_are_those_of_differences(global_random_seed):
    assert_gradients(mc.FeatureMap(_features, _jacobian), X, X[:5, ::-1] + 0.1, global_random_seed)


def test_without_a_jacobian_there_is_no_gradient():
    kernel = mc.FeatureMap(_features)
    assert not kernel.tags.differentiable
    assert mc.FeatureMap(_features, _jacobian).tags.differentiable
    tile = tile_of(X, X)
    for use in (
        lambda: kernel.gradient(tile, np.ones((8, 8))),
        lambda: kernel.diagonal_gradient(tile.X, np.ones(8)),
    ):
        with pytest.raises(TypeError, match="FeatureMap has no gradient; give jacobian="):
            use()


def test_features_are_computed_once_for_each_set_of_points():
    calls = []
    kernel = mc.FeatureMap(lambda Y: calls.append(len(Y)) or _features(Y))
    kernel(X)
    assert calls == [8]
    kernel(X, X[:3].copy())
    assert sorted(calls) == [3, 8, 8]


def _letters(words):
    return np.array([[word.count(c) for c in "abcd"] for word in words], float)


WORDS = ["".join(word) for word in np.random.default_rng(1).choice(list("abcd"), (120, 6))]


@pytest.mark.parametrize(
    "make", [list, np.array, lambda words: np.array(words, object)], ids=range(3)
)
@pytest.mark.parametrize(
    "estimator",
    [
        mc.SVC,
        mc.KernelRidge,
        lambda kernel: mc.KernelPCA(2, kernel=kernel),
        lambda kernel: mc.Nystroem(kernel, n_components=4),
    ],
    ids=["SVC", "KernelRidge", "KernelPCA", "Nystroem"],
)
def test_an_estimator_maps_the_objects_once(estimator, make):
    calls = []
    kernel = mc.FeatureMap(lambda words: calls.append(len(words)) or _letters(words))
    y = np.array([word.count("a") > word.count("b") for word in WORDS]).astype(int)
    model = estimator(kernel=kernel).fit(make(WORDS), y)
    # and maps twelve of them again, in smaller blocks, to test that phi is a function of one point
    assert sum(calls) == 120 + 12 + 4 + 8
    calls.clear()
    for word in WORDS[:5]:
        getattr(model, "predict", getattr(model, "transform", None))(make([word]))
    assert sum(calls) == 5


@pytest.mark.parametrize("points", [X, WORDS], ids=["rows", "objects"])
def test_products_map_each_point_once_whatever_the_size_of_a_tile(points, costs):
    costs(BLOCK=8 * len(points))
    calls = []
    phi = _features if points is X else _letters
    G = mc.Gram(mc.FeatureMap(lambda block: calls.append(len(block)) or phi(block)), points)
    V = np.ones((len(points), 2))
    for _ in range(3):
        np.testing.assert_allclose(G @ V, phi(points) @ (phi(points).T @ V), rtol=1e-12)
    assert sum(calls) == len(points)


def test_sparse_features_give_the_values_of_dense_ones():
    dense, sparse = (
        mc.FeatureMap(_letters),
        mc.FeatureMap(lambda words: sp.csr_matrix(_letters(words))),
    )
    np.testing.assert_array_equal(sparse(WORDS), dense(WORDS))
    np.testing.assert_array_equal(sparse.diag(WORDS), dense.diag(WORDS))
    np.testing.assert_allclose(
        mc.Normalized(sparse)(WORDS, WORDS[:3]), mc.Normalized(dense)(WORDS, WORDS[:3])
    )
    np.testing.assert_array_equal((mc.Gram(sparse, WORDS) @ np.ones(120)), dense(WORDS).sum(axis=1))


@pytest.mark.parametrize(
    "make", [lambda phi: mc.FeatureMap(phi), lambda phi: mc.Mapped(mc.Linear(), phi)]
)
def test_new_points_reach_the_function_in_the_container_of_the_known_ones(make):
    kinds = []
    kernel = make(lambda block: kinds.append(type(block)) or np.asarray(block) ** 2.0)
    for known, new, kind in ((X, X[:2].tolist(), np.ndarray), (X.tolist(), X[:2], list)):
        kinds.clear()
        np.testing.assert_allclose(kernel(new, known), (X[:2] ** 2) @ (X**2).T, rtol=1e-13)
        assert set(kinds) == {kind}


def test_features_that_depend_on_the_other_points_are_refused_at_fit():
    kernel = mc.FeatureMap(lambda words: _letters(words) - _letters(words).mean(axis=0))
    for each in (kernel, kernel + 1.0, mc.Normalized(kernel)):
        with pytest.raises(ValueError, match="must depend on x and z only"):
            mc.KernelPCA(2, kernel=each).fit(WORDS)


def test_an_error_of_phi_tells_that_it_got_a_list():
    with pytest.raises(TypeError) as caught:
        mc.FeatureMap(lambda Y: Y**2)([[1.0, 2.0], [3.0, 4.0]])
    assert "phi got a list of objects" in caught.value.__notes__[0]
    with pytest.raises(ZeroDivisionError) as caught:
        mc.FeatureMap(lambda _: 1 // 0)(X)
    assert not hasattr(caught.value, "__notes__")


def test_features_in_another_library_have_a_diagonal_and_gradients():
    X, W = np.random.default_rng(0).random((4, 2)), np.ones((4, 4))

    def jacobian(X):
        doubled = np.broadcast_to(2 * np.eye(2), (4, 2, 2)).copy()
        return (
            doubled
            if isinstance(X, np.ndarray)
            else array_api_strict.asarray(doubled, device=X.device)
        )

    kernel = mc.FeatureMap(lambda X: 2 * X, jacobian)
    points = array_api_strict.asarray(X, device=array_api_strict.Device("device1"))
    np.testing.assert_allclose(as_numpy(kernel.diag(points)), kernel.diag(X), rtol=1e-14)
    for each in (
        kernel,
        mc.Normalized(kernel),
        mc.Mapped(mc.Gaussian(0.5), lambda X: 2 * X, jacobian),
    ):
        np.testing.assert_allclose(
            as_numpy(each.vjp(points, points, W)), each.vjp(X, X, W), rtol=1e-12, atol=1e-14
        )
