"""Parts shared by support vector estimators: weights of 0, checks of the solver's parameters, warnings."""

import re
import warnings
from fractions import Fraction
from operator import truediv

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVR

import mercer as mc


@pytest.mark.parametrize(
    "estimator", [mc.SVR(), mc.OneClassSVM(), mc.NuSVR(), mc.SVDD()], ids=lambda e: type(e).__name__
)
def test_rows_of_weight_0_are_ignored(estimator, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((40, 2))
    y, weight = X[:, 0] + 0.1 * rng.standard_normal(40), np.repeat([1.0, 0.0], 20)
    estimator.set_params(kernel=mc.Gaussian(0.5))
    whole, part = (type(estimator)(**estimator.get_params(deep=False)) for _ in range(2))
    values = whole.fit(X, y, sample_weight=weight).expansion_(X)
    np.testing.assert_allclose(part.fit(X[:20], y[:20]).expansion_(X), values, atol=1e-8)
    assert whole.support_.max() < 20
    assert whole.n_support_ == [len(whole.support_vectors_)]
    assert not hasattr(type(estimator)(), "n_support_")


@pytest.mark.parametrize(
    "estimator", [mc.SVR(tol=0.0), mc.OneClassSVM(max_iter=0), mc.SVDD(memory="much")]
)
def test_parameters_of_the_solver_are_checked(estimator):
    with pytest.raises(ValueError, match="tol|max_iter|memory"):
        estimator.fit(np.eye(4), np.arange(4.0))


@pytest.mark.parametrize("cls", [mc.SVC, mc.NuSVC, mc.SVR, mc.NuSVR, mc.OneClassSVM, mc.SVDD])
def test_parameters_may_be_any_real_numbers(cls, global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(30, 2))
    names = {"C", "nu", "epsilon"} & set(cls().get_params())
    given, plain = ({name: kind(1, 4) for name in names} for kind in (Fraction, truediv))
    models = [
        cls(kernel=mc.Gaussian(0.5), **options).fit(X, X[:, 0] > 0) for options in (given, plain)
    ]
    np.testing.assert_array_equal(models[0].dual_coef_, models[1].dual_coef_)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_tube_that_holds_all_points_predicts_the_constant_of_scikit_learn(dtype):
    X = np.random.default_rng(0).normal(size=(20, 2)).astype(dtype)
    y = X[:, 0] / 10
    with pytest.warns(UserWarning, match="no support vectors: all targets are within epsilon = 5"):
        model = mc.SVR(epsilon=5.0).fit(X, y)
    assert model.support_.shape == (0,)
    np.testing.assert_allclose(model.predict(X), SVR(epsilon=5.0).fit(X, y).predict(X), rtol=1e-5)


@pytest.mark.parametrize("model", [mc.SVC, mc.SVR], ids=lambda model: model.__name__)
def test_a_solver_that_stops_on_unscaled_features_blames_them(model):
    X = np.random.default_rng(0).standard_normal((40, 2))
    y = (X[:, 0] + 0.5 * np.random.default_rng(1).standard_normal(40) > 0).astype(int)
    cubic = mc.Polynomial(3, 1.0, 0.0)
    with pytest.warns(
        ConvergenceWarning,
        match=r"k\(x, x\) is up to \de\+\d+.*: scale the features .* raise max_iter",
    ):
        model(kernel=cubic, max_iter=200).fit(100 * X, y)
    with pytest.warns(ConvergenceWarning, match=r"; raise max_iter, scale the .*\(smaller C"):
        model(kernel=cubic, max_iter=5, tol=1e-9).fit(X / 3, y)


def test_a_solver_that_stops_early_names_parameters_of_its_machine_only():
    X = np.random.default_rng(0).standard_normal((200, 3))
    with pytest.warns(ConvergenceWarning, match=r"; raise max_iter, .*errors \(larger nu\)\.$"):
        mc.OneClassSVM(max_iter=5).fit(X)


FAR = {
    "SVC": mc.SVC(kernel="linear"),
    "NuSVC": mc.NuSVC(0.6, kernel="linear"),
    "SVR": mc.SVR(kernel="linear"),
    "NuSVR": mc.NuSVR(kernel="linear"),
    "SVCCV": mc.SVCCV("linear", Cs=[1.0], cv=2),
    "SVRCV": mc.SVRCV("linear", Cs=[1.0], cv=2),
    "OneClassSVM": mc.OneClassSVM(kernel="linear"),
    "SVDD": mc.SVDD(kernel="linear"),
}


@pytest.mark.filterwarnings("ignore:OneClassSVM has no half space")
@pytest.mark.parametrize("name", FAR)
@pytest.mark.parametrize("offset", [1e8, 1e9])
def test_features_far_from_the_origin_are_blamed_for_rounding(name, offset, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(float)
    model = FAR[name]
    # at the origin no warning is due, and any is an error
    model.fit(X, y)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(X + offset, y)
    assert any(
        re.search(
            "far from the origin.* subtract their mean|violation of .*StandardScaler",
            str(each.message),
        )
        for each in caught
    )


def test_an_inaccurate_classifier_warns(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((80, 4))
    y = (X[:, 0] + 0.5 * rng.standard_normal(80) > 0).astype(float)
    near = mc.SVC(kernel="linear", tol=1e-3).fit(X, y)
    for offset in 10.0 ** np.arange(1, 10):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            far = mc.SVC(kernel="linear", tol=1e-3).fit(X + offset, y)
        error = np.abs(far.decision_function(X + offset) - near.decision_function(X)).max()
        assert error < 10 * far.tol or caught, (offset, error)


def test_the_squared_loss_takes_any_weights():
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    model = mc.SVR(loss="squared_epsilon", epsilon=0.0, tol=1e-9)
    with pytest.warns(ConvergenceWarning, match="a relative gap of"):
        model.fit(X, y, sample_weight=np.full(8, 1e300))
    np.testing.assert_allclose(model.predict(X), y, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [
        mc.SVC(),
        mc.SVC(landmarks=5),
        mc.NuSVC(0.3),
        mc.SVR(),
        mc.OneClassSVM(),
        mc.SVDD(),
        mc.SVCCV(Cs=[1.0], cv=2),
    ],
    ids=repr,
)
def test_weights_that_leave_out_a_vector_of_the_fit_have_no_certificate(model, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, y = rng.standard_normal((40, 2)), np.arange(40) % 2
    model.fit(X, y)
    fitted, weights = getattr(model, "best_estimator_", model), np.ones(40)
    last = np.max(
        fitted.support_ if hasattr(fitted, "support_") else fitted.restricted_dual_["rows"]
    )
    weights[last] = 0
    with pytest.raises(
        ValueError,
        match=f"it is 0 for row {last}, a vector of .*; give sample_weight as in the fit",
    ):
        mc.certify(model, X, y, weights)
