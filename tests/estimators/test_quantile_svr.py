"""QuantileSVR: objectives of a general solver and of a linear program, shares below, the SVR that the median is."""

import numpy as np
import pytest
from scipy import optimize
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics import d2_pinball_score, mean_pinball_loss, r2_score
from sklearn.utils.estimator_checks import parametrize_with_checks

import mercer as mc
from mercer.estimators.quantile_svr import QuantileSVR

SETTINGS = [
    QuantileSVR(),
    QuantileSVR(0.2, kernel="precomputed"),
    QuantileSVR(0.8, 10.0, kernel="linear"),
    QuantileSVR(0.3, calibration="shift"),
]
LEVELS = [0.1, 0.5, 0.8]


@parametrize_with_checks(SETTINGS)
def test_scikit_learn_finds_no_fault(estimator, check):
    check(estimator)


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((120, 3))
    y = 5 + np.sin(X[:, 0]) + (0.2 + 0.2 * X[:, 1] ** 2) * rng.standard_normal(120)
    return X, y, rng.standard_normal((20, 3)), rng.integers(1, 4, 120)


@pytest.mark.parametrize("tau", LEVELS)
def test_the_optimum_is_that_of_a_general_solver(sample, tau):
    X, y, _, weights = (each[:40] for each in sample)
    kernel, C = mc.Gaussian(0.3), 2.0 * weights
    model = QuantileSVR(tau, 2.0, kernel=kernel).fit(X, y, weights)
    K = kernel(X)
    found = optimize.minimize(
        lambda b: 0.5 * b @ K @ b - y @ b,
        np.zeros(40),
        jac=lambda b: K @ b - y,
        bounds=np.column_stack([C * (tau - 1), C * tau]),
        constraints={"type": "eq", "fun": np.sum, "jac": np.ones_like},
        options={"maxiter": 1000, "ftol": 1e-12},
    )
    assert model.certificate_.dual == pytest.approx(-found.fun, rel=1e-6)
    error = y - model.predict(X)
    loss = C @ np.maximum(tau * error, (tau - 1) * error)
    assert 0.5 * model.expansion_.norms()[0] ** 2 + loss == pytest.approx(-found.fun, rel=1e-6)


@pytest.mark.parametrize("tau", LEVELS)
def test_a_large_C_gives_the_linear_program_of_quantile_regression(sample, tau):
    X, y, _, _ = sample
    C = 1e4
    model = QuantileSVR(tau, C, kernel="linear").fit(X, y)
    peer = QuantileRegressor(quantile=tau, alpha=0.0).fit(X, y)
    own, theirs = (mean_pinball_loss(y, each.predict(X), alpha=tau) for each in (model, peer))
    assert (
        theirs * (1 - 1e-9) <= own <= theirs + 0.5 * peer.coef_ @ peer.coef_ / (C * len(y)) + 1e-9
    )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_median_is_the_regression_by_half_of_C_without_a_tube(sample, dtype):
    X, y, new, weights = sample
    median = QuantileSVR(C=3.0, kernel=mc.Gaussian(0.3)).fit(X.astype(dtype), y, weights)
    regression = mc.SVR(C=1.5, epsilon=0.0, kernel=mc.Gaussian(0.3)).fit(
        X.astype(dtype), y, weights
    )
    np.testing.assert_array_equal(
        median.predict(new.astype(dtype)), regression.predict(new.astype(dtype))
    )


def test_two_hundred_random_problems_are_certified(global_random_seed):
    for seed in range(200):
        rng = np.random.default_rng([seed, global_random_seed])
        n, d, C = (
            int(rng.integers(5, 80)),
            int(rng.integers(1, 5)),
            10 ** rng.uniform(-2, 1 if seed % 2 else 3),
        )
        X = rng.standard_normal((n, d)).astype(np.float32 if seed % 2 else np.float64)
        y = 10 ** rng.uniform(-3, 3) * (
            X[:, 0] + np.round(rng.standard_normal(n), int(rng.integers(0, 3)))
        )
        levels = np.unique(rng.uniform(0.02, 0.98, int(rng.integers(1, 4))))
        model = QuantileSVR(levels, C, kernel=mc.Gaussian(10 ** rng.uniform(-2, 1))).fit(X, y)
        found = mc.certify(model, X, y)
        assert found.gap + 1e-9 * abs(found.primal) >= 0
        assert found.gap <= 1e-2 * abs(found.primal)
        assert found.kkt <= 1.01e-3 * min(1.0, np.std(y))


@pytest.mark.parametrize("C", [0.1, 10.0])
def test_the_share_below_is_at_most_the_quantile_and_the_share_at_or_below_at_least(sample, C):
    X, y, _, weights = sample
    model = QuantileSVR(LEVELS, C).fit(X, y, weights)
    error = y[:, None] - model.predict(X)
    below, not_above = (
        np.average(error < bound, axis=0, weights=weights) for bound in (-1e-3, 1e-3)
    )
    assert (below <= LEVELS).all()
    assert (not_above >= LEVELS).all()


def test_several_quantiles_are_those_fitted_one_by_one(sample):
    X, y, new, weights = sample
    together = QuantileSVR(LEVELS, kernel=mc.Gaussian(0.3)).fit(X, y, weights)
    each = [QuantileSVR(tau, kernel=mc.Gaussian(0.3)).fit(X, y, weights) for tau in LEVELS]
    np.testing.assert_allclose(
        together.predict(new), np.column_stack([one.predict(new) for one in each]), rtol=1e-9
    )
    assert together.certificate_.primal == pytest.approx(
        sum(one.certificate_.primal for one in each), rel=1e-9
    )
    assert together.n_iter_ == sum(one.n_iter_ for one in each)
    np.testing.assert_array_equal(
        together.support_, np.unique(np.concatenate([one.support_ for one in each]))
    )


def test_a_weight_is_a_repetition(sample):
    X, y, new, weights = sample
    weighted = QuantileSVR(LEVELS, kernel=mc.Gaussian(0.3)).fit(X, y, weights)
    rows = np.repeat(np.arange(len(y)), weights)
    repeated = QuantileSVR(LEVELS, kernel=mc.Gaussian(0.3)).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict(new), repeated.predict(new), atol=1e-6)


def test_the_score_is_the_share_of_pinball_loss_that_is_saved(sample):
    X, y, _, _ = sample
    levels = [0.1, 0.5, 0.9]
    model = mc.QuantileSVR(levels, 10.0, kernel=mc.Gaussian("scale")).fit(X, y)

    def loss(predicted, tau):
        return np.mean(np.maximum(tau * (y - predicted), (tau - 1) * (y - predicted)))

    shares = [
        1 - loss(own, tau) / loss(np.quantile(y, tau), tau)
        for own, tau in zip(model.predict(X).T, levels, strict=True)
    ]
    assert model.score(X, y) == pytest.approx(np.mean(shares), rel=1e-9)


def test_sorted_quantiles_ascend_and_lose_nothing(sample):
    X, y, _, _ = sample
    levels = [0.45, 0.5, 0.55]
    crossed = QuantileSVR(levels, 10.0, kernel=mc.Gaussian(0.5)).fit(X[:80], y[:80])
    ordered = QuantileSVR(levels, 10.0, kernel=mc.Gaussian(0.5), crossing="sort").fit(
        X[:80], y[:80]
    )
    assert (np.diff(crossed.predict(X[80:]), axis=1) < 0).any()
    assert (np.diff(ordered.predict(X[80:]), axis=1) >= 0).all()
    losses = [
        sum(
            mean_pinball_loss(y[80:], values, alpha=tau)
            for tau, values in zip(levels, each.predict(X[80:]).T, strict=True)
        )
        for each in (crossed, ordered)
    ]
    assert losses[1] <= losses[0]


def test_a_precomputed_matrix_gives_the_same_quantiles(sample):
    X, y, new, _ = sample
    kernel = mc.Gaussian(0.3)
    own = QuantileSVR(LEVELS, kernel=kernel).fit(X, y)
    matrix = QuantileSVR(LEVELS, kernel="precomputed").fit(kernel(X), y)
    np.testing.assert_allclose(matrix.predict(kernel(new, X)), own.predict(new), atol=1e-6)
    linear = QuantileSVR(LEVELS, kernel="linear").fit(X, y)
    np.testing.assert_allclose(
        new @ linear.coef_.T + linear.intercept_, linear.predict(new), rtol=1e-9
    )


def test_files_and_expansions_hold_all_quantiles(sample, tmp_path):
    X, y, new, _ = sample
    model = QuantileSVR(LEVELS, crossing="sort").fit(X, y)
    mc.save(model, tmp_path / "quantiles.mercer")
    np.testing.assert_array_equal(
        mc.load(tmp_path / "quantiles.mercer").predict(new), model.predict(new)
    )
    read = mc.as_expansion(model)
    np.testing.assert_allclose(
        np.sort(read.expansion(new) + read.intercept), model.predict(new), rtol=1e-9
    )


# --- shares of new targets -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("search", [False, True])
def test_a_shift_gives_the_share_of_new_targets_that_the_optimum_misses(search):
    taus = np.array([0.1, 0.5, 0.9])
    shares = []
    for seed in range(3 if search else 6):
        rng = np.random.default_rng(seed)
        X = rng.standard_normal((1500, 4))
        y = np.sin(2 * X[:, 0]) + (0.3 + 0.3 * np.abs(X[:, 1])) * rng.standard_normal(1500)
        kernel = mc.Gaussian(1.0)
        if search:
            models = [
                mc.SVRCV(kernel, Cs=[1.0], quantile=tau, calibration="shift").fit(X[:500], y[:500])
                for tau in taus
            ]
            shifts = np.array([each.best_estimator_.shift_[0] for each in models])
            values = np.column_stack([each.predict(X[500:]) for each in models])
        else:
            model = QuantileSVR(taus, kernel=kernel, calibration="shift").fit(X[:500], y[:500])
            shifts = model.shift_
            values = model.predict(X[500:])
        new = y[500:, None]
        shares.append([(new <= values).mean(axis=0), (new <= values - shifts).mean(axis=0)])
    shifted, optimal = np.abs(np.mean(shares, axis=0) - taus)
    assert (shifted < 0.03).all()
    assert (optimal[[0, 2]] > 0.045).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_shift_moves_the_optimum_by_a_number_and_keeps_its_certificate(sample, dtype, tmp_path):
    X, y, new, weights = sample
    X, new = X.astype(dtype), new.astype(dtype)
    kernel = mc.Gaussian(0.3)
    optimal = QuantileSVR(LEVELS, kernel=kernel).fit(X, y, weights)
    shifted = QuantileSVR(LEVELS, kernel=kernel, calibration="shift").fit(X, y, weights)
    np.testing.assert_array_equal(optimal.shift_, np.zeros(3))
    np.testing.assert_allclose(
        shifted.predict(new), optimal.predict(new) + shifted.shift_, rtol=10 * np.finfo(dtype).eps
    )
    assert shifted.certificate_ == optimal.certificate_
    mc.save(shifted, tmp_path / "shifted.mercer")
    found = mc.certify(mc.load(tmp_path / "shifted.mercer"), X, y, weights)
    assert found.gap == pytest.approx(
        mc.certify(optimal, X, y, weights).gap, abs=1e-6 * found.primal
    )


def test_the_shift_of_a_search_is_the_quantile_of_its_held_out_residuals(sample):
    X, y, new, weights = sample
    folds = [(np.arange(40, 120), np.arange(40)), (np.arange(80), np.arange(80, 110))]
    search = mc.SVRCV("rbf", Cs=[0.1, 1.0], quantile=0.8, cv=folds, calibration="shift")
    search.fit(X, y, weights)
    known = np.isfinite(search.held_out_values_)
    residuals = (y - search.held_out_values_)[known]
    repeated = np.sort(np.repeat(residuals, weights[known]))
    least = repeated[int(np.ceil(0.8 * len(repeated) - 1e-9)) - 1]
    assert search.best_estimator_.shift_[0] == least
    plain = QuantileSVR(0.8, search.C_, kernel="rbf").fit(X, y, weights)
    np.testing.assert_allclose(search.predict(new), plain.predict(new) + least, atol=1e-3)


def test_a_plan_counts_the_fits_of_folds():
    X = np.zeros((900, 3))
    shares = [mc.plan(QuantileSVR(calibration=each), X).seconds for each in (None, "shift")]
    assert shares[1] > 2 * shares[0]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"calibration": "shift"}, "quantile = None"),
        ({"calibration": "shift", "quantile": 0.9, "refit": False}, "refit = False"),
        ({"calibration": "cross", "quantile": 0.9}, "calibration = 'cross'"),
    ],
)
def test_a_search_shifts_refitted_quantiles_only(sample, params, message):
    X, y, _, _ = sample
    with pytest.raises(ValueError, match=message):
        mc.SVRCV(**params).fit(X, y)


@pytest.mark.parametrize(
    ("params", "kind", "message"),
    [
        ({"quantile": 0.0}, ValueError, "quantile = 0.0 must be above 0"),
        ({"quantile": [0.5, 1.0]}, ValueError, "must be below 1"),
        ({"quantile": [0.5, 0.5]}, ValueError, "must ascend"),
        ({"quantile": []}, ValueError, "at least one number"),
        ({"quantile": "0.5"}, TypeError, "quantile must be a number"),
        ({"C": np.inf}, ValueError, "C = inf must be finite"),
        ({"crossing": "forbid"}, ValueError, "crossing = 'forbid'"),
        ({"calibration": "sigmoid"}, ValueError, "calibration = 'sigmoid' must be one of"),
        ({"calibration": "shift", "cv": 1}, ValueError, "cv = 1 must be at least 2 folds"),
        ({"calibration": "shift", "cv": 121}, ValueError, "cv = 121 must be at most 120"),
    ],
)
def test_bad_parameters_are_refused(sample, params, kind, message):
    X, y, _, _ = sample
    with pytest.raises(kind, match=message):
        QuantileSVR(**params).fit(X, y)


# --- the search over C -----------------------------------------------------------------------------------------------


def test_the_search_scores_held_out_rows_by_the_pinball_loss(sample):
    X, y, new, _ = sample
    Cs, folds = (
        [0.1, 1.0, 10.0],
        [(np.arange(60, 120), np.arange(60)), (np.arange(60), np.arange(60, 120))],
    )
    search = mc.SVRCV(mc.Gaussian(0.3), Cs=Cs, quantile=0.8, cv=folds, tol=1e-6).fit(X, y)
    scores = np.empty((2, 3))
    for i, (train, test) in enumerate(folds):
        for j, C in enumerate(Cs):
            fold = QuantileSVR(0.8, C, kernel=mc.Gaussian(0.3)).fit(X[train], y[train])
            scores[i, j] = -mean_pinball_loss(y[test], fold.predict(X[test]), alpha=0.8)
    found = np.stack([search.cv_results_[f"split{i}_test_score"] for i in range(2)])
    np.testing.assert_allclose(found, scores, atol=1e-4)
    assert Cs[scores.mean(axis=0).argmax()] == search.C_
    refit = QuantileSVR(0.8, search.C_, kernel=mc.Gaussian(0.3)).fit(X, y)
    np.testing.assert_allclose(search.predict(new), refit.predict(new), atol=1e-5)


def test_a_search_scores_its_quantile_by_the_pinball_loss(sample):
    """R^2 would prefer the mean to the quantile 0.9 itself."""
    X, y, _, weights = sample
    search = mc.SVRCV(Cs=[1.0], quantile=0.9, cv=3).fit(X, y)
    for own in (None, weights):
        expected = d2_pinball_score(y, search.predict(X), sample_weight=own, alpha=0.9)
        assert search.score(X, y, sample_weight=own) == expected
    # without a quantile it is R^2
    plain = mc.SVRCV(Cs=[1.0], cv=3, scoring="neg_mean_absolute_error").fit(X, y)
    assert plain.score(X, y) == r2_score(y, plain.predict(X))


@pytest.mark.parametrize(
    ("quantile", "kind"), [([0.1, 0.9], TypeError), (1.0, ValueError), (True, TypeError)]
)
def test_the_search_takes_one_quantile(sample, quantile, kind):
    X, y, _, _ = sample
    with pytest.raises(kind, match="quantile"):
        mc.SVRCV(quantile=quantile).fit(X, y)


@pytest.mark.parametrize(
    ("fitted", "later"),
    [([0.2, 0.8], 0.8), (0.8, [0.2, 0.8]), (0.2, 0.8), ([0.2, 0.7], [0.2, 0.8])],
)
def test_quantiles_that_were_not_fitted_are_neither_predicted_nor_scored(fitted, later, tmp_path):
    X = np.linspace(0, 1, 30)[:, None]
    y = np.tile([0.0, 1.0, 2.0], 10)
    model = mc.QuantileSVR(fitted, 100.0, kernel="linear").fit(X, y)
    expected = model.predict(X)
    with pytest.raises(ValueError, match="quantile = .* must be that of the fit"):
        model.set_params(quantile=later).predict(X)
    for use in (
        lambda: model.score(X, y),
        lambda: mc.save(model, tmp_path / "model.mercer"),
        lambda: mc.compress(model, n_vectors=2).score(X, y),
    ):
        with pytest.raises(ValueError, match="quantile = .* must be that of the fit"):
            use()
    np.testing.assert_array_equal(model.set_params(quantile=fitted).predict(X), expected)
    # a fifth of the targets lies above the quantile 0.8, at most
    again = model.set_params(quantile=later).fit(X, y).predict(X).reshape(30, -1)
    assert np.mean(y > again[:, -1] + 1e-6) <= 0.2
