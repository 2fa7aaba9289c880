"""Calibration: the probabilities of scikit-learn's calibrators, kept as arrays."""

import numpy as np
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

import mercer as mc
from mercer.estimators._calibration import calibrated, fit_calibration


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_probabilities_are_those_of_scikit_learn_for_given_decision_values(
    method, n_classes, weighted, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, names = rng.standard_normal((300, 3)), np.array(["d", "a", "c", "b"])[:n_classes]
    y = names[
        np.digitize(X[:, 0] + 0.5 * rng.standard_normal(300), [0.0, 0.5, 1.0][: n_classes - 1])
    ]
    weights = rng.uniform(0.5, 2, 300) if weighted else None
    model = LogisticRegression().fit(X, y)
    peer = CalibratedClassifierCV(FrozenEstimator(model), method=method, ensemble=False)
    # its weights are those of the calibration alone, of which it warns
    peer = peer.fit(X, y) if weights is None else None
    curves = fit_calibration(method, model.decision_function(X), y, weights)
    new = model.decision_function(rng.standard_normal((50, 3)) * 2)
    found = calibrated(curves, new)
    assert len(curves) == (1 if n_classes == 2 else n_classes)
    np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
    if weights is None:
        # with the same values as points
        np.testing.assert_allclose(
            calibrated(curves, model.decision_function(X)),
            peer.predict_proba(X),
            rtol=1e-9,
            atol=1e-12,
        )
        return
    twice = fit_calibration(method, model.decision_function(X), y, 2 * weights)
    if method == "isotonic":
        np.testing.assert_allclose(calibrated(twice, new), found, atol=1e-9)


def test_probabilities_of_classes_that_are_all_impossible_are_equal():
    curves = [np.array([[0.0, 1.0], [0.0, 1.0]])] * 3
    np.testing.assert_allclose(
        calibrated(curves, np.array([[-1.0, -2, -3], [1, 1, -1]])), [[1 / 3] * 3, [0.5, 0.5, 0]]
    )


def test_probabilities_of_equal_decision_values_are_the_shares_of_the_classes():
    curves = fit_calibration("isotonic", np.zeros(4), np.array([0, 1, 1, 1]), None)
    np.testing.assert_allclose(calibrated(curves, np.array([-1.0, 0.0, 1.0])), [[0.25, 0.75]] * 3)


@pytest.mark.parametrize(
    "model", [mc.SVC(), mc.NuSVC(), mc.KernelPerceptron()], ids=lambda model: type(model).__name__
)
def test_classifiers_without_probabilities_say_how_to_get_them(model):
    X, y = np.array([[0.0], [0.1], [0.9], [1.0]]), [0, 0, 1, 1]
    name = type(model).__name__
    with pytest.raises(AttributeError, match=rf"{name} has no attribute 'predict_proba'") as caught:
        model.fit(X, y).predict_proba(X)
    for remedy in ("mercer.SVCCV(calibration='sigmoid')", "CalibratedClassifierCV(model)"):
        assert remedy in str(caught.value)
    assert not hasattr(model, "predict_proba")
    assert "predict_proba" not in dir(model)
    np.testing.assert_array_equal(
        CalibratedClassifierCV(model, ensemble=False, cv=2).fit(X, y).predict(X), y
    )
