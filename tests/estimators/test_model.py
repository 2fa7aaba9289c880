"""Models: read-only arrays, nothing computed of earlier ones, arrays of other libraries equal to those of NumPy."""

import copy
import operator
import pickle
from dataclasses import replace

import array_api_strict
import numpy as np
import pytest
import scipy.sparse as sp
import sklearn
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from tests.reference.arrays import as_numpy
from tests.reference.inside import place_of

import mercer as mc
from mercer.estimators import (
    PCAL1,
    SVCCV,
    SVDD,
    SVR,
    SVRCV,
    KernelFisher,
    Kernelized,
    KernelMap,
    KernelPerceptron,
    KernelRidge,
    NuSVC,
    NuSVR,
    Nystroem,
    OneClassSVM,
    VirtualSupportVectors,
)

rng = np.random.default_rng(0)
X = rng.standard_normal((24, 3))
NEW = rng.standard_normal((5, 3))
LABELS = (X[:, 0] * X[:, 1] > 0) + 2 * (X[:, 2] > 0.5)
KERNEL = mc.Gaussian(0.3)
METHODS = (
    "predict",
    "decision_function",
    "predict_proba",
    "predict_log_proba",
    "transform",
    "inverse_transform",
    "score_samples",
    "residual",
    "variance",
    "denoise",
)
ATTRIBUTES = (
    "expansion_",
    "dual_coef_",
    "intercept_",
    "support_",
    "coef_",
    "margin_",
    "eigenvalues_",
    "loo_residuals_",
)
DEVICE = array_api_strict.Device("device1")


def moved_on(X):
    return X + 0.05


ESTIMATORS = [
    mc.SVC(kernel=KERNEL),
    mc.SVC(kernel="linear", multi_class="ovr"),
    mc.SVC(kernel="precomputed"),
    NuSVC(kernel=KERNEL, nu=0.1),
    SVCCV(KERNEL, Cs=[0.1, 10.0], cv=3, calibration="sigmoid"),
    SVR(kernel=KERNEL),
    NuSVR(kernel=KERNEL),
    SVRCV(kernel=KERNEL, Cs=[0.1, 10.0], cv=3),
    OneClassSVM(kernel=KERNEL),
    SVDD(kernel=KERNEL),
    KernelRidge(0.1, kernel=KERNEL),
    KernelRidge(0.1, kernel=mc.Mapped(KERNEL, [1.0, 2.0, 0.5]), landmarks=8, random_state=0),
    mc.KernelPCA(3, kernel=KERNEL, random_state=0),
    mc.KernelPCA(3, kernel=KERNEL, landmarks=X[:9], whiten=True),
    KernelMap(KERNEL, tol=1e-3),
    Nystroem(KERNEL, n_components=6, random_state=0),
    KernelFisher(kernel=KERNEL),
    KernelPerceptron(kernel=KERNEL, random_state=0),
    Kernelized(LogisticRegression(), kernel=KERNEL),
    PCAL1(2, random_state=0),
    VirtualSupportVectors(mc.SVC(kernel=KERNEL), moves=[moved_on]),
]


def _given(estimator, dtype):
    """Return the training points and the new ones."""
    train, new = X.astype(dtype), NEW.astype(dtype)
    if getattr(estimator, "kernel", None) == "precomputed":
        return KERNEL(train), KERNEL(new, train)
    return train, new


def _equal_everywhere(estimator, put, dtype, tolerance):
    train, new = _given(estimator, dtype)
    here = clone(estimator).fit(train, LABELS)
    there = clone(estimator).fit(put(train), put(LABELS))
    place = place_of(put(train))
    for name in METHODS:
        if not hasattr(here, name):
            continue
        points = here.transform(new) if name == "inverse_transform" else new
        expected, found = getattr(here, name)(points), getattr(there, name)(put(points))
        assert place_of(found) == place, name
        found = as_numpy(found)
        assert found.dtype == expected.dtype, name
        np.testing.assert_allclose(
            found, expected, rtol=0, atol=tolerance * np.abs(expected).max(), err_msg=name
        )
    for name in ATTRIBUTES:
        expected = getattr(here, name, None)
        if (
            expected is None
            or estimator.get_params().get("kernel") == "precomputed"
            and name == "expansion_"
        ):
            continue
        found, rounded = getattr(there, name), 1.0
        assert place_of(found) == place, name
        if name == "expansion_":
            expected, found = expected(new), found(put(new))
            # coefficients multiply the rounding of kernel values
            rounded = np.abs(as_numpy(there.expansion_.coef)).sum(axis=0).max()
        size = np.abs(expected).max(initial=rounded)
        np.testing.assert_allclose(
            as_numpy(found), expected, rtol=0, atol=tolerance * size, err_msg=name
        )


# the checks of scikit-learn, which all estimators pass, use this device too
@pytest.mark.parametrize(
    "estimator",
    [
        pytest.param(
            each,
            marks=() if type(each).__name__ in ("KernelRidge", "Kernelized") else pytest.mark.slow,
        )
        for each in ESTIMATORS
    ],
    ids=lambda each: type(each).__name__,
)
def test_every_estimator_returns_arrays_on_the_device_of_x_equal_to_those_of_numpy(estimator):
    _equal_everywhere(
        estimator, lambda a: array_api_strict.asarray(a, device=DEVICE), np.float64, 1e-11
    )


@pytest.mark.torch
@pytest.mark.parametrize(("dtype", "tolerance"), [(np.float64, 1e-12), (np.float32, 1e-5)])
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda each: type(each).__name__)
def test_every_estimator_takes_tensors_of_pytorch(estimator, dtype, tolerance, tensor):
    _equal_everywhere(estimator, tensor, dtype, tolerance)


def test_products_with_the_kernel_matrix_run_on_the_device_of_x():
    asked = []

    class Told(mc.Gaussian):
        # the values are those of the profile
        scalar = "radial"

        def evaluate(self, tile):
            asked.append(place_of(tile.Z.container))
            return super().evaluate(tile)

    kernel = Told(KERNEL.gamma)
    points, labels = (array_api_strict.asarray(a, device=DEVICE) for a in (X, LABELS))
    for model in (
        KernelRidge(0.1, kernel=kernel, memory=1000),
        mc.KernelPCA(2, kernel=kernel),
        mc.SVC(kernel=kernel),
    ):
        asked.clear()
        model.fit(points, labels)
        (model.predict if hasattr(model, "predict") else model.transform)(points)
        assert asked
        assert set(asked) == {place_of(points)}


@pytest.mark.parametrize("dispatch", [False, True])
def test_the_dispatch_of_scikit_learn_changes_nothing(dispatch):
    with sklearn.config_context(array_api_dispatch=dispatch):
        model = mc.SVC(kernel=KERNEL).fit(*map(array_api_strict.asarray, (X, LABELS)))
        assert place_of(model.predict(array_api_strict.asarray(NEW))) == place_of(
            array_api_strict.asarray(X)
        )


@pytest.mark.parametrize(
    ("fitted", "new"), [(X, DEVICE), (array_api_strict.asarray(X), DEVICE), (DEVICE, X)]
)
def test_points_of_another_library_or_device_than_in_fit_are_refused(fitted, new):
    fitted, new = (
        array_api_strict.asarray(X, device=DEVICE) if each is DEVICE else each
        for each in (fitted, new)
    )
    model = mc.SVC(kernel=KERNEL).fit(fitted, LABELS)
    expected = model.predict(fitted)
    with pytest.raises(
        ValueError,
        match=r"SVC\.predict\(\) must use the same namespace.*fit\(\) had .*move X there",
    ):
        model.predict(new)
    assert place_of(model.predict(fitted)) == place_of(expected)


def test_a_model_of_other_arrays_is_copied_fitted_again_and_changed_like_any():
    points, labels = map(array_api_strict.asarray, (X, LABELS))
    model = mc.KernelPCA(2, kernel=KERNEL, landmarks=array_api_strict.asarray(X[:9])).fit(points)
    expected = as_numpy(model.transform(points))
    assert type(model.landmarks) is type(points)
    np.testing.assert_array_equal(
        as_numpy(pickle.loads(pickle.dumps(model)).transform(points)), expected
    )
    model.intercept_ = model.intercept_ + 1.0
    np.testing.assert_allclose(as_numpy(model.transform(points)), expected + 1.0, rtol=1e-14)
    model.partial_fit(points)
    assert model.n_samples_ == 48
    assert type(model.eigenvalues_) is type(points)
    scores = model.set_params(landmarks=None).fit(X, labels).transform(X)
    assert type(scores) is type(model.eigenvalues_) is np.ndarray


def test_a_certificate_and_a_failed_fit_are_those_of_numpy():
    points, labels = map(array_api_strict.asarray, (X, LABELS))
    model = mc.SVC(kernel=KERNEL).fit(points, labels)
    assert repr(mc.certify(model, points, labels)) == repr(
        mc.certify(mc.SVC(kernel=KERNEL).fit(X, LABELS), X, LABELS)
    )
    before = model.dual_coef_
    with pytest.raises(ValueError, match="Input X contains NaN"):
        model.fit(points * float("nan"), labels)
    assert model.dual_coef_ is before


@pytest.mark.parametrize(
    "model", [mc.SVC(kernel=KERNEL), KernelRidge(0.1, kernel=KERNEL)], ids=repr
)
@pytest.mark.parametrize("dispatch", [False, True])
def test_scores_on_a_device_are_those_of_numpy(model, dispatch):
    weights = np.arange(1.0, 25.0)
    points, labels, there = (
        array_api_strict.asarray(a, device=DEVICE) for a in (X, LABELS, weights)
    )
    expected = clone(model).fit(X, LABELS).score(X, LABELS, sample_weight=weights)
    with sklearn.config_context(array_api_dispatch=dispatch):
        found = clone(model).fit(points, labels).score(points, labels, sample_weight=there)
    assert found == pytest.approx(expected, rel=1e-12)


# --- read-only arrays -------------------------------------------------------------------------------------------------

K = KERNEL
Y = (X[:, 0] * X[:, 1] > 0).astype(int)
MODELS = [
    mc.SVC(kernel=K),
    SVR(kernel=K),
    OneClassSVM(kernel=K),
    SVDD(kernel=K),
    mc.KernelPCA(3, kernel=K),
    KernelRidge(kernel=K),
    KernelFisher(kernel=K),
    KernelMap(K, tol=1e-3),
    Nystroem(K, n_components=5, random_state=0),
    KernelPerceptron(K),
    PCAL1(2, random_state=0),
]


def _name(model):
    return type(model).__name__


def _values(model, X):
    return next(
        getattr(model, name)
        for name in ("decision_function", "predict", "transform")
        if hasattr(model, name)
    )(X)


def _arrays(model):
    return {
        name: each
        for name, each in vars(model).items()
        if name.endswith("_") and isinstance(each, np.ndarray)
    }


def _file(model, path):
    mc.save(model, path)
    return mc.load(path)


COPIES = {
    "fitted": lambda model, _: model,
    "copied": lambda model, _: copy.deepcopy(model),
    "pickled": lambda model, _: pickle.loads(pickle.dumps(model)),
    "loaded": lambda model, path: _file(model, path / "model"),
}


@pytest.mark.parametrize("how", COPIES)
@pytest.mark.parametrize("model", MODELS, ids=_name)
def test_public_arrays_of_a_model_are_read_only(model, how, tmp_path):
    model = COPIES[how](copy.copy(model).fit(X, Y), tmp_path)
    before, arrays = _values(model, NEW), _arrays(model)
    assert arrays
    for array in arrays.values():
        with pytest.raises(ValueError, match="read-only"):
            array[:] = array[::-1]
    np.testing.assert_array_equal(_values(model, NEW), before)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "kernel", [K, K + mc.Linear(), mc.Polynomial(2), mc.Laplacian(0.2)], ids=repr
)
@pytest.mark.parametrize("model", MODELS[:4], ids=_name)
def test_other_vectors_replace_the_earlier_ones_and_what_was_computed_of_them(model, kernel, dtype):
    model = copy.copy(model).set_params(kernel=kernel).fit(X.astype(dtype), Y)
    _values(model, NEW.astype(dtype))
    vectors = model.support_vectors_[::-1] * dtype(1.5)
    model.support_vectors_ = vectors
    changed = _values(model, NEW.astype(dtype))
    fresh = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(changed, _values(fresh, NEW.astype(dtype)))
    psi = mc.Expansion(model.kernel_, vectors, model.dual_coef_)
    if not isinstance(model, SVDD):
        expected = psi(NEW.astype(dtype))[:, 0] + (
            -model.offset_ if hasattr(model, "offset_") else model.intercept_[0]
        )
        np.testing.assert_allclose(
            changed, expected, rtol=1e-4 if dtype == np.float32 else 1e-10, atol=1e-4
        )
    # the model has a copy: the array of the user is still the user's
    vectors[:] = 0
    np.testing.assert_array_equal(_values(model, NEW.astype(dtype)), changed)


def test_sparse_vectors_are_read_only_and_replaced_too():
    rows = sp.random_array((24, 6), density=0.5, format="csr", rng=np.random.default_rng(0))
    model = mc.SVC(kernel=K).fit(rows, Y)
    before = model.decision_function(rows)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_.data[:] = 0
    model.support_vectors_ = 2 * model.support_vectors_
    assert np.abs(model.decision_function(rows) - before).max() > 0.01


def test_other_coefficients_count_at_once():
    model = mc.SVC(kernel=K).fit(X, Y)
    before = model.decision_function(NEW)
    model.dual_coef_ = 2 * model.dual_coef_
    np.testing.assert_allclose(
        model.decision_function(NEW), 2 * before - model.intercept_, rtol=1e-9
    )


def test_a_model_made_by_a_fit_that_fails_keeps_its_arrays_and_takes_others():
    model = mc.SVC(kernel=K).fit(X, Y)
    before = model.decision_function(NEW)
    with pytest.raises(ValueError, match="one class"):
        model.fit(X, np.zeros(len(X)))
    np.testing.assert_array_equal(model.decision_function(NEW), before)
    with pytest.raises(ValueError, match="read-only"):
        model.support_vectors_[0] = 0


def _ridge_coefficients(model):
    model.dual_coef_ = 2 * model.dual_coef_
    return model.predict(NEW), model.kernel_(NEW, model.expansion_.points) @ model.dual_coef_


def _ridge_expansion(model):
    model.expansion_ = 3 * model.expansion_
    return model.predict(NEW), model.kernel_(NEW, model.expansion_.points) @ model.dual_coef_


def _intercept(model):
    model.intercept_ = model.intercept_ + 0.25
    return model.decision_function(NEW), model.score_samples(NEW) + model.intercept_[0]


def _offset(model):
    model.offset_ = model.offset_ + 0.25
    return model.decision_function(NEW), model.score_samples(NEW) + model.intercept_[0]


def _radius(model):
    model.radius_ = 1.5 * model.radius_
    return model.decision_function(NEW), model.score_samples(NEW) + model.radius_**2


def _offset_of_ball(model):
    model.offset_ = model.offset_ - 0.25
    return model.decision_function(NEW), model.score_samples(NEW) + model.radius_**2


def _axes(model):
    model.expansion_ = 3 * model.expansion_
    return model.coordinates_(NEW), model.expansion_(NEW) + model.intercept_


def _origin(model):
    model.intercept_ = model.intercept_ + 0.25
    return model.coordinates_(NEW), model.expansion_(NEW) + model.intercept_


def _coordinates(model):
    own = model.coordinates_
    model.coordinates_ = replace(own, basis=own.basis * 2.0, intercept=own.intercept + 0.25)
    return model.transform(NEW), model.coordinates_(NEW)


@pytest.mark.parametrize(
    ("model", "change"),
    [
        (mc.KernelRidge(kernel=K), _ridge_coefficients),
        (mc.KernelRidge(kernel=K), _ridge_expansion),
        (mc.OneClassSVM(kernel=K), _intercept),
        (mc.OneClassSVM(kernel=K), _offset),
        (SVDD(kernel=K), _radius),
        (SVDD(kernel=K), _offset_of_ball),
        (KernelMap(K, tol=1e-3), _axes),
        (KernelMap(K, tol=1e-3), _origin),
        (KernelMap(K, tol=1e-3), _coordinates),
    ],
)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_an_assigned_attribute_counts_in_predictions_files_and_certificates_alike(
    model, change, dtype, tmp_path
):
    rows = X.astype(dtype)
    model = copy.copy(model).fit(rows, Y)
    before, certified = _values(model, NEW), mc.certify(model, rows, Y)
    values, expected = change(model)
    assert np.abs(_values(model, NEW) - before).max() > 0.01
    # the boundary of a fit is moved outwards by a margin for rounding
    np.testing.assert_allclose(values, expected, rtol=1e-4, atol=1e-4)
    np.testing.assert_allclose(_values(_file(model, tmp_path / "model"), NEW), _values(model, NEW))
    found = mc.certify(model, rows, Y)
    error = operator.attrgetter("gap" if hasattr(found, "gap") else "residuals")
    assert np.max(error(found)) > 10 * np.max(error(certified))


def test_classes_after_a_model_hear_of_its_attributes():
    heard = []

    class Listening:
        def __setattr__(self, name, value):
            heard.append(name)
            super().__setattr__(name, value)

    class Heard(SVR, Listening):
        pass

    X = np.random.default_rng(0).normal(size=(20, 2))
    model = Heard().fit(X, X[:, 0])
    assert {name for name in vars(model) if name.endswith("_")} <= set(heard)
    np.testing.assert_array_equal(model.predict(X), SVR().fit(X, X[:, 0]).predict(X))
