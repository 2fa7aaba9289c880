"""Sizes of upper bounds and of regression targets: what rounding hides is refused, and units of targets are exact."""

import numpy as np
import pytest

import mercer as mc
from mercer.estimators._svm import centre_and_scale, in_range, regression_tolerance


@pytest.mark.parametrize("spread", [1e-200, 0.7, 3e9])
def test_targets_divided_by_their_scale_have_a_deviation_from_1_to_2(spread):
    y = spread * np.random.default_rng(0).standard_normal(50)
    centre, scale = centre_and_scale(y, np.ones(50) * spread, 1.0)
    assert centre == np.mean(y)
    assert np.frexp(scale)[0] == 0.5
    assert 1 <= np.std((y - centre) / scale) < 2


def test_a_tolerance_is_at_most_a_thousandth_of_the_scale_and_above_rounding():
    assert regression_tolerance(1e-3, 4.0) == (1e-3, 2.5e-4)
    assert regression_tolerance(1.0, 4.0) == (4e-3, 1e-3)
    assert regression_tolerance(1e-20, 4.0) == (1e-20, 1e-9)


@pytest.mark.parametrize(
    "model", [mc.SVR(), mc.SVR(loss="huber"), mc.NuSVR(), mc.SVRCV(Cs=[1.0], cv=2)], ids=repr
)
def test_upper_bounds_that_hide_the_targets_are_refused_and_name_C(model):
    X, y = np.arange(8.0)[:, None], np.arange(8.0)
    with pytest.raises(
        ValueError,
        match=r"C = 1, times sample_weight 1e\+300, must be at most 1e\+100 times 2\.29, ",
    ):
        model.fit(X, y, sample_weight=np.full(8, 1e300))
    with pytest.raises(
        ValueError, match="the standard deviation of y; .* multiply y by a constant"
    ):
        model.fit(X, y * 1e-120)
    # equal targets have no standard deviation
    assert model.fit(X, np.ones(8), sample_weight=np.full(8, 1e120)).predict(X) == pytest.approx(
        1.0
    )


def test_targets_whose_standard_deviation_is_below_the_smallest_number_count_as_equal():
    X, y = np.arange(8.0)[:, None], np.zeros(8)
    y[3] = 5e-324
    with pytest.warns(UserWarning, match="SVR has no support vectors"):
        model = mc.SVR().fit(X, y)
    assert np.all(model.predict(X) == 0)


SOLVERS = [
    mc.SVC(),
    mc.NuSVC(0.3),
    mc.SVCCV(Cs=[1.0], cv=2),
    mc.SVR(),
    mc.NuSVR(),
    mc.SVRCV(Cs=[1.0], cv=2),
]
SOLVERS += [mc.SVR(loss="squared_epsilon"), mc.SVR(loss="huber"), mc.OneClassSVM()]


@pytest.mark.parametrize("model", SOLVERS, ids=repr)
def test_upper_bounds_that_are_nearly_0_are_refused_and_name_their_parameter(model):
    X, y = np.arange(8.0)[:, None], np.arange(8.0) % 2
    for weight in (1e-320, 1e-300):
        with pytest.raises(
            ValueError, match=r"(C|nu) = .*, times the weights .*, must be at least 1e-290; give a"
        ):
            model.fit(X, y, sample_weight=np.full(8, weight))
    model.fit(X, y, sample_weight=np.full(8, 1e-280))
    if "Cs" in model.get_params():
        with pytest.raises(
            ValueError, match="C = 1e-320, times the weights 1e-320, must be at least 1e-290"
        ):
            model.set_params(Cs=[1.0, 1e-320]).fit(X, y)


@pytest.mark.parametrize(
    "model", [mc.SVC(), mc.SVC(landmarks=4), mc.SVR(), mc.OneClassSVM()], ids=repr
)
def test_coefficients_beyond_the_range_of_float32_are_refused(model):
    X, y = np.arange(10.0)[:, None], np.arange(10) % 2
    words = r"coefficients of up to \S+ are beyond the range of float32; give X in float64"
    with pytest.raises(ValueError, match=words):
        model.fit(X.astype(np.float32), y, sample_weight=np.full(10, 1e-60))
    assert model.fit(X, y, sample_weight=np.full(10, 1e-60)).dual_coef_.any()


def test_coefficients_keep_their_digits_or_are_refused():
    np.testing.assert_array_equal(
        in_range(np.array([0.0, -1e38]), np.float32), np.array([0.0, -1e38], np.float32)
    )
    for value in (1e39, -1e-39):
        with pytest.raises(ValueError, match="are beyond the range of float32"):
            in_range(np.array([0.0, value]), np.float32)
    assert in_range(np.array([1e300]), np.float64)[0] == 1e300
    assert in_range(np.zeros(0), np.float32).dtype == np.float32
