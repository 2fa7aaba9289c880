"""Support vector machines over landmarks: the model on the Nystroem features, and a certificate of its optimum."""

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC as LIBSVM

import mercer as mc

KERNEL = mc.Gaussian(0.1)


@pytest.fixture
def three(global_random_seed):
    return make_classification(240, 5, n_informative=4, n_redundant=0, n_classes=3, n_clusters_per_class=1,
                               random_state=global_random_seed)  # fmt: skip


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
@pytest.mark.parametrize("classes", [2, 3])
def test_it_is_the_linear_model_on_the_features_of_the_landmarks(three, multi_class, classes):
    """The outside law: features of Nystroem, whose dot products are the kernel of the projections."""
    X, y = three
    X, y = X[y < classes], y[y < classes]
    features = mc.Nystroem(KERNEL, landmarks=X[:20]).fit(X)
    options = {"C": 5.0, "tol": 1e-8, "multi_class": multi_class, "decision_function_shape": "ovo"}
    ours = mc.SVC(kernel=KERNEL, landmarks=X[:20], **options).fit(X, y)
    theirs = mc.SVC(kernel="linear", **options).fit(features.transform(X), y)
    np.testing.assert_allclose(
        ours.decision_function(X), theirs.decision_function(features.transform(X)), atol=1e-6
    )
    assert ours.certificate_.primal == pytest.approx(theirs.certificate_.primal, rel=1e-7)
    assert ours.expansion_.shape == (20, len(ours.intercept_))
    np.testing.assert_allclose(ours.expansion_(X) + ours.intercept_,
                               theirs.expansion_(features.transform(X)) + theirs.intercept_, atol=1e-6)  # fmt: skip
    np.testing.assert_allclose(ours.margin_, theirs.margin_, rtol=1e-7)


def test_newton_steps_find_the_solution_of_libsvm(global_random_seed):
    """From 1 000 rows on the linear problem is solved without kernel rows."""
    X, y = make_classification(
        1100, 5, n_informative=4, n_redundant=0, flip_y=0.1, random_state=global_random_seed
    )
    model = mc.SVC(kernel=KERNEL, landmarks=30, random_state=0, tol=1e-5).fit(X, y)
    features = mc.Nystroem(KERNEL, landmarks=model.support_vectors_).fit_transform(X)
    other = LIBSVM(kernel="linear", tol=1e-5).fit(features, y)
    np.testing.assert_allclose(
        model.decision_function(X), other.decision_function(features), atol=1e-3
    )
    found = mc.certify(model, X, y)
    assert 0 <= found.gap < 1e-3 * found.primal
    assert found.primal == pytest.approx(model.certificate_.primal, rel=1e-6)


def test_over_landmarks_an_indefinite_kernel_leaves_a_convex_problem():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((40, 3)), np.arange(40) % 2
    model = mc.SVC(10.0, kernel=mc.Sigmoid(0.5, -0.5), landmarks=X[:10])
    with pytest.warns(UserWarning, match="negative eigenvalues are not used"):
        model.fit(X, y)
    with pytest.warns(UserWarning, match="negative eigenvalues are not used"):
        found = mc.certify(model, X, y)
    assert found.convex
    assert model.certificate_.convex
    assert 0 <= found.gap + 1e-12 <= 1e-3 * found.primal


def test_a_violation_by_coefficients_stored_in_float32_is_warned_of():
    rng = np.random.default_rng(0)
    X = np.round(rng.standard_normal((20, 3)) + 10).astype(np.float32)
    y = rng.integers(0, 2, 20)
    kernel = mc.Polynomial(3, 0.3, 1.0)
    with pytest.warns(ConvergenceWarning, match=r"above tol = 0.001, .*; .*give X in float64"):
        model = mc.SVC(5.0, kernel=kernel, landmarks=X[:4]).fit(X, y)
    assert mc.certify(model, X, y).kkt > model.tol
    assert mc.certify(model, X, y) == model.certificate_


@pytest.mark.parametrize(("dtype", "error"), [(np.float64, 1e-7), (np.float32, 1e-2)])
def test_the_certificate_sees_wrong_coefficients_intercepts_and_duals(three, dtype, error):
    X, y = three[0].astype(dtype), three[1]
    # coefficients in float32 are rounded by 1e-6
    tol = 1e-7 if dtype == np.float64 else 1e-4
    model = mc.SVC(kernel=KERNEL, landmarks=20, random_state=0, tol=tol).fit(X, y)
    right = mc.certify(model, X, y)
    assert -1e-9 * right.primal <= right.gap <= error * right.primal
    for name in ("dual_coef_", "intercept_"):
        value = getattr(model, name)
        for factor in (-1, 1.1):
            setattr(model, name, (factor * value).astype(dtype))
            wrong = mc.certify(model, X, y)
            assert wrong.primal > right.dual
            assert wrong.gap > 2 * max(right.gap, 1e-6 * right.primal)
        setattr(model, name, value)
    model.restricted_dual_["coef"] = 0.9 * model.restricted_dual_["coef"]
    wrong = mc.certify(model, X, y)
    assert wrong.dual < right.primal
    assert wrong.gap > 2 * max(right.gap, 1e-6 * right.primal)


def test_sample_weights_are_repetitions(three, global_random_seed):
    X, y = three
    weights = np.random.default_rng(global_random_seed).integers(0, 3, len(X))
    rows = np.repeat(np.arange(len(X)), weights)
    options = {"kernel": KERNEL, "landmarks": X[:20], "tol": 1e-8}
    weighted = mc.SVC(**options).fit(X, y, weights)
    repeated = mc.SVC(**options).fit(X[rows], y[rows])
    np.testing.assert_allclose(
        weighted.decision_function(X), repeated.decision_function(X), atol=1e-5
    )
    assert mc.certify(weighted, X, y, weights).gap < 1e-5


def test_a_fit_over_landmarks_has_no_support_of_an_earlier_one_and_the_reverse(three):
    X, y = three
    model = mc.SVC(kernel=KERNEL).fit(X, y)
    model.set_params(landmarks=9).fit(X, y)
    assert not hasattr(model, "support_")
    assert not hasattr(model, "n_support_")
    model.set_params(landmarks=None).fit(X, y)
    assert not hasattr(model, "restricted_dual_")
    assert len(model.support_) == len(model.dual_coef_)


def test_coordinates_beyond_the_memory_are_refused_with_both_numbers(three):
    X, y = three
    with pytest.raises(
        MemoryError, match=r"SVC of 240 points .* needs 273.9 kB, the memory budget is 100.0 kB"
    ):
        mc.SVC(kernel=KERNEL, landmarks=40, memory="100kB").fit(X, y)
