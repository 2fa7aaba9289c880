"""Calibration: the probabilities of scikit-learn's calibrators, kept as arrays."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator

import mercer as mc


class Given(ClassifierMixin, BaseEstimator):
    """A classifier whose points are their decision values."""

    def fit(self, values, y):
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, values):
        return values

    # scikit-learn asks for the method
    predict = decision_function


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.filterwarnings("ignore:Since FrozenEstimator does not appear to accept sample_weight")
def test_probabilities_are_those_of_scikit_learn_for_the_values_of_held_out_rows(
    method, n_classes, weighted, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X, names = rng.standard_normal((300, 3)), np.array(["d", "a", "c", "b"])[:n_classes]
    y = names[
        np.digitize(X[:, 0] + 0.5 * rng.standard_normal(300), [0.0, 0.5, 1.0][: n_classes - 1])
    ]
    weights = rng.uniform(0.5, 2, 300) if weighted else None
    model = mc.SVCCV(mc.Gaussian(0.3), Cs=[1.0], cv=3, calibration=method).fit(X, y, weights)
    assert len(model.calibrators_) == (1 if n_classes == 2 else n_classes)
    values = model.held_out_values_
    peer = CalibratedClassifierCV(
        FrozenEstimator(Given().fit(values, y)), method=method, ensemble=False
    ).fit(values, y, weights)
    for rows in (X, rng.standard_normal((50, 3)) * 2):
        found = model.predict_proba(rows)
        np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-12)
        expected = peer.predict_proba(model.decision_function(rows))
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_probabilities_of_classes_that_are_all_impossible_are_equal():
    X = np.random.default_rng(0).standard_normal((60, 2))
    model = mc.SVCCV(Cs=[1.0], cv=3, calibration="isotonic").fit(X, np.arange(60) % 3)
    never, always = (np.array([[at, at + 1], [0.0, 1.0]]) for at in (1e6, -1e6))
    for curves, expected in (
        ([never] * 3, [1 / 3] * 3),
        ([always, always, never], [0.5, 0.5, 0]),
    ):
        model.calibrators_ = curves
        np.testing.assert_allclose(model.predict_proba(X[:2]), [expected] * 2)


def test_probabilities_of_equal_decision_values_are_the_shares_of_the_classes():
    X, y = np.zeros((40, 1)), np.array([0, 1, 1, 1] * 10)
    model = mc.SVCCV(mc.Linear(), Cs=[1.0], cv=2, calibration="isotonic").fit(X, y)
    assert len(np.unique(model.held_out_values_)) == 1
    np.testing.assert_allclose(model.predict_proba([[-1.0], [0.0], [1.0]]), [[0.25, 0.75]] * 3)


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
