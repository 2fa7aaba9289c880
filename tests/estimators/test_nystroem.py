"""Nystroem: scikit-learn's features up to a rotation, any kernel, any landmarks."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.kernel_approximation import Nystroem as Reference
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators import Nystroem

SETTINGS = [
    Nystroem(n_components=5),
    Nystroem(mc.Matern(length="median"), n_components=6, landmarks="k_means", random_state=0),
    Nystroem("linear", n_components=1, landmarks="greedy"),
    Nystroem(
        mc.Gaussian("median") + mc.Linear(),
        n_components=4,
        landmarks="randomly_pivoted",
        random_state=0,
    ),
]


@parametrize_with_checks(SETTINGS)
def test_it_passes_the_checks_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 4))


@pytest.mark.parametrize(
    ("kernel", "parameters"),
    [
        (mc.Gaussian(0.3), {"kernel": "rbf", "gamma": 0.3}),
        (mc.Laplacian(0.3), {"kernel": "laplacian", "gamma": 0.3}),
        (mc.Polynomial(2, 0.5, 1.0), {"kernel": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0}),
    ],
)
def test_features_are_those_of_scikit_learn_up_to_a_rotation(points, kernel, parameters):
    theirs = Reference(n_components=12, random_state=0, **parameters).fit(points)
    ours = Nystroem(kernel, landmarks=theirs.components_).fit(points)
    new = points[::-1] + 0.2
    Z, expected = ours.transform(new), theirs.transform(new)
    np.testing.assert_allclose(
        Z @ Z.T, expected @ expected.T, atol=1e-10 * np.max(expected @ expected.T)
    )


@pytest.mark.parametrize("rule", ["uniform", "k_means", "greedy", "leverage", "randomly_pivoted"])
def test_dot_products_are_kernel_values_on_the_landmarks_and_never_exceed_them_elsewhere(
    points, rule
):
    kernel = mc.Gaussian(0.3)
    model = Nystroem(kernel, n_components=15, landmarks=rule, random_state=0).fit(points)
    Z = model.transform(model.landmarks_)
    np.testing.assert_allclose(Z @ Z.T, kernel(model.landmarks_), atol=1e-12)
    Z = model.transform(points)
    assert np.linalg.eigvalsh(kernel(points) - Z @ Z.T).min() > -1e-12


def test_all_points_as_landmarks_are_exact(points):
    for kernel in (mc.Gaussian(0.5), mc.Matern(nu=2.5)):
        Z = Nystroem(kernel, n_components=60).fit_transform(points)
        np.testing.assert_allclose(Z @ Z.T, kernel(points), atol=1e-11)


def test_precomputed_rows_and_sparse_rows_give_the_features_of_the_points(points):
    kernel, dense = mc.Gaussian(0.3), np.where(points > -1, points, 0.0)
    direct = Nystroem(kernel, n_components=10, random_state=0).fit(dense)
    given = Nystroem("precomputed", n_components=10, random_state=0).fit(kernel(dense))
    sparse = Nystroem(kernel, n_components=10, random_state=0).fit(sp.csr_matrix(dense))
    new = dense[:7] + 0.2
    expected = direct.transform(new)
    np.testing.assert_allclose(given.transform(kernel(new, dense)), expected, atol=1e-10)
    np.testing.assert_allclose(sparse.transform(sp.csr_matrix(new)), expected, atol=1e-8)


def test_given_landmarks_give_as_many_features_as_their_rank(points, recwarn):
    model = Nystroem(mc.Gaussian(0.3), n_components=3, landmarks=points[:7]).fit(points)
    np.testing.assert_array_equal(model.landmarks_, points[:7])
    assert model.n_components_ == 7
    assert not recwarn.list


def test_float32_stays_float32(points):
    wide, narrow = (
        Nystroem("rbf", n_components=9, random_state=0).fit(points.astype(t)) for t in ("f8", "f4")
    )
    Z, expected = narrow.transform(points.astype(np.float32)), wide.transform(points)
    assert Z.dtype == np.float32
    np.testing.assert_allclose(Z @ Z.T, expected @ expected.T, atol=1e-4)


def test_a_rank_below_the_number_of_landmarks_is_a_warning(points):
    with pytest.warns(UserWarning, match="n_components = 10 exceeds the numerical rank 4"):
        model = Nystroem("linear", n_components=10).fit(points)
    assert model.transform(points).shape == (60, 4)
    assert list(model.get_feature_names_out()) == [f"nystroem{i}" for i in range(4)]


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components = 0 must be at least 1"),
        ({"landmarks": 5}, TypeError, "n_components is their number"),
        ({"landmarks": None}, TypeError, "landmarks = None must be a rule or points"),
        ({"landmarks": "best"}, ValueError, "landmarks = 'best' must be one of"),
        ({"landmarks": np.ones((2, 3))}, ValueError, "landmarks have 3 features, but X has 4"),
        (
            {"memory": 100},
            MemoryError,
            r"Nystroem of 60 points .* needs 148.3 kB, the memory budget is 100 B",
        ),
    ],
)
def test_bad_parameters_are_named(points, parameters, error, message):
    with pytest.raises(error, match=message):
        Nystroem(**{"n_components": 60} | parameters).fit(points)


def test_its_certificate_compares_dot_products_of_features_with_kernel_values_of_landmarks(points):
    model = Nystroem(mc.Gaussian(0.5), n_components=12, random_state=0).fit(points)
    K, Z = model.kernel_(model.landmarks_), model.transform(model.landmarks_)
    expected = np.linalg.norm(K - Z @ Z.T, axis=0) / np.linalg.norm(K, axis=0).max()
    np.testing.assert_allclose(mc.certify(model, points).residuals, expected, atol=1e-14)
    assert expected.max() < 1e-13
    model.expansion_ = model.expansion_[:, 1:]
    assert mc.certify(model, points).residuals.max() > 1e-3


def test_its_certificate_shows_the_negative_part_of_an_indefinite_kernel():
    X = np.random.default_rng(0).standard_normal((30, 3))
    with (
        pytest.warns(UserWarning, match="numerical rank"),
        pytest.warns(UserWarning, match="indefinite"),
    ):
        model = Nystroem(mc.Sigmoid(1.0, -1.0), n_components=30).fit(X)
    assert mc.certify(model, X).residuals.max() > 1e-3


@pytest.mark.parametrize(
    "parameters", [{"landmarks": "best"}, {"landmarks": 5}, {"n_components": 0}], ids=repr
)
def test_parameters_are_checked_before_the_points(parameters):
    with pytest.raises((TypeError, ValueError), match=f"{next(iter(parameters))} = "):
        Nystroem(**parameters).fit(np.full((3, 2), np.nan))
