"""Targets that cannot be read are refused by all estimators with the name y, and without their data."""

import numpy as np
import pytest

import mercer as mc

X = np.random.default_rng(0).standard_normal((6, 2))
BAD = {
    "complex": (np.arange(6) + 1j, ValueError, "got dtype complex128: Complex data not supported"),
    "dates": (np.arange(6).astype("M8[D]"), TypeError, r"got dtype datetime64\[D\]"),
    "text": ("labels", TypeError, "got an object of type str"),
    "dict": ({"a": 1}, TypeError, "got an object of type dict"),
    "number": (3.5, TypeError, "got an object of type float"),
    "missing": (np.array(["a", None] * 3, object), ValueError, r"y\[1\] = None must be a label"),
    "mixed": (np.array(["a", 1] * 3, object), TypeError, "labels of one type, got 3 texts of type str among 6"),
    "nan": (np.array([0, 1, np.nan, 0, 1, 0]), ValueError, r"Input y contains NaN\. y\[2\] = nan must be finite"),
    "infinity": (np.array([0, 1, np.inf, 0, 1, 0]), ValueError, r"y\[2\] = inf must be finite"),
}
ESTIMATORS = [
    mc.SVC,
    mc.NuSVC,
    mc.SVCCV,
    mc.SVR,
    mc.NuSVR,
    mc.SVRCV,
    mc.KernelPerceptron,
    mc.KernelFisher,
    mc.KernelRidge,
]


@pytest.mark.parametrize("bad", BAD)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_all_estimators_name_y_and_say_what_it_must_be(estimator, bad):
    y, error, message = BAD[bad]
    with pytest.raises(error, match=message) as caught:
        estimator().fit(X, y)
    assert "y" in str(caught.value)
    assert len(str(caught.value)) < 250


@pytest.mark.parametrize("bad", BAD)
def test_functions_of_fitted_models_refuse_the_same_targets(bad):
    y, error, message = BAD[bad]
    fitted = mc.SVC().fit(X, np.arange(6) % 2)
    for call in (mc.capacity.model, mc.capacity.leave_one_out, mc.capacity.span_score, mc.compress, mc.certify):
        options = {"n_vectors": 2} if call is mc.compress else {}
        with pytest.raises(error, match=message):
            call(fitted, X, y, **options)


def test_certificates_of_regressions_read_y_as_the_fit_does():
    y = X[:, 0]
    for fitted in (mc.SVR().fit(X, y), mc.NuSVR().fit(X, y)):
        assert mc.certify(fitted, X, y.tolist()) == mc.certify(fitted, X, y)
        with pytest.raises(ValueError, match=r"y\[2\] = nan must be finite"):
            mc.certify(fitted, X, BAD["nan"][0])
