"""Tuning of ridge regression: derivatives, weights as repetitions, refits without a point, scikit-learn's."""

import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

import mercer as mc
from mercer.learning import Tuning, tuning
from mercer.learning.tuning import _by_scales, _left_out, _likelihood, _with_scale, tune_ridge

CRITERIA = [_likelihood, _left_out]
KERNELS = [
    mc.Gaussian(0.3),
    mc.Matern(1.5, 2.5),
    mc.Polynomial(2, 0.5, 1.0),
    mc.Gaussian(0.2) + 0.3 * mc.Linear(),
]


def _data(seed, n=30, d=3, noise=0.1):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (n, d))
    Y = np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 0]]) + noise * rng.normal(size=(n, 2))
    return X, Y, rng.integers(1, 4, n).astype(float)


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("factor", [0.4, 1.0])
def test_derivatives_are_those_of_differences(criterion, kernel, factor, global_random_seed):
    X, Y, w = _data(global_random_seed)
    w, ridge, h = factor * w, 0.2, 1e-5

    def value(scales, ridge):
        return criterion(kernel, X * scales, Y, w, ridge)[0]

    _, W, by_ridge, _ = criterion(kernel, X, Y, w, ridge)
    ones = np.ones(3)
    moves = [np.where(np.arange(3) == c, np.exp(h), 1.0) for c in range(3)]
    expected = [(value(s, ridge) - value(1 / s, ridge)) / (2 * h) for s in moves]
    assert _by_scales(kernel, X, W) == pytest.approx(expected, rel=1e-5, abs=1e-6)
    assert by_ridge == pytest.approx(
        (value(ones, ridge * np.exp(h)) - value(ones, ridge / np.exp(h))) / (2 * h), rel=1e-5
    )


@pytest.mark.parametrize("method", ["loo", "marginal_likelihood"])
def test_a_weight_equals_that_number_of_repetitions(method, global_random_seed):
    X, Y, w = _data(global_random_seed)
    w[3] = 0
    rows = np.random.default_rng(0).permutation(np.repeat(np.arange(len(X)), w.astype(int)))
    weighted = tune_ridge(mc.Gaussian(0.3), 0.2, X, Y, w, Tuning(method), "1GB")
    repeated = tune_ridge(mc.Gaussian(0.3), 0.2, X[rows], Y[rows], None, Tuning(method), "1GB")
    assert weighted == repeated


@pytest.mark.parametrize("method", ["loo", "marginal_likelihood"])
def test_twice_all_weights_double_the_ridge_only(method, global_random_seed):
    X, Y, w = _data(global_random_seed)
    kernel, ridge = tune_ridge(mc.Gaussian(0.3), 0.2, X, Y, w, Tuning(method), "1GB")
    other, double = tune_ridge(mc.Gaussian(0.3), 0.4, X, Y, 2 * w, Tuning(method), "1GB")
    assert double == pytest.approx(2 * ridge, rel=2e-3)
    np.testing.assert_allclose(other(X), kernel(X), rtol=3e-3, atol=1e-3)


@pytest.mark.parametrize(
    ("method", "exponents"), [("loo", (-600, 400)), ("marginal_likelihood", (-400, 400))]
)
def test_the_unit_of_targets_is_the_root_of_that_of_the_kernel(method, exponents):
    X, Y, w = _data(0)
    kernel, ridge = tune_ridge(mc.Gaussian(0.3), 0.2, X, Y, w, Tuning(method), "1GB")
    for exponent in exponents:
        other, multiple = tune_ridge(
            mc.Gaussian(0.3), 0.2, X, 2.0**exponent * Y, w, Tuning(method), "1GB"
        )
        unit = 1.0 if method == "loo" else 4.0**exponent
        assert multiple == unit * ridge
        np.testing.assert_array_equal(other(X), unit * kernel(X))


def test_the_leave_one_out_error_is_that_of_refits(global_random_seed):
    X, Y, w = _data(global_random_seed, n=12)
    kernel, ridge, errors = mc.Gaussian(0.3), 0.2, []
    for i in range(len(X)):
        rest = np.delete(np.arange(len(X)), i)
        model = mc.KernelRidge(ridge, kernel=kernel).fit(X[rest], Y[rest], w[rest])
        errors.append(w[i] * np.sum((Y[i] - model.predict(X[i : i + 1])) ** 2))
    assert _left_out(kernel, X, Y, w, ridge)[0] == pytest.approx(
        0.5 * np.log(np.sum(errors)), rel=1e-8
    )


def test_the_likelihood_is_that_of_scikit_learn(global_random_seed):
    X, Y, _ = _data(global_random_seed)
    y, gamma, ridge = Y[:, :1], 0.3, 0.2
    value, _, _, size = _likelihood(mc.Gaussian(gamma), X, y, np.ones(len(X)), ridge)
    kernel = ConstantKernel(size) * RBF(np.sqrt(1 / (2 * gamma))) + WhiteKernel(size * ridge)
    theirs = (
        GaussianProcessRegressor(kernel, optimizer=None)
        .fit(X, y[:, 0])
        .log_marginal_likelihood_value_
    )
    n = len(X)
    # the constant: N log(2 pi) / 2 + N / 2
    assert -value - n / 2 * np.log(2 * np.pi) - n / 2 == pytest.approx(theirs, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("own", [False, True], ids=["one scale", "a scale for each column"])
def test_the_optimum_is_that_of_scikit_learn(seed, own):
    X, Y, _ = _data(seed, n=60, d=2)
    start = ConstantKernel(1.0) * RBF(np.ones(2) if own else 1.0) + WhiteKernel(0.1)
    with warnings.catch_warnings():
        # of length scales at their bounds
        warnings.simplefilter("ignore")
        theirs = GaussianProcessRegressor(start).fit(X, Y[:, 0])
    kernel = mc.Mapped(mc.Gaussian(0.5), np.ones(2)) if own else mc.Gaussian(0.5)
    tuned, ridge = tune_ridge(kernel, 0.1, X, Y[:, :1], None, Tuning("marginal_likelihood"), "1GB")
    inner = tuned.kernel
    ours = inner.A if own else np.sqrt(2 * inner.gamma)
    product, white = theirs.kernel_.k1, theirs.kernel_.k2
    assert tuned.factor == pytest.approx(product.k1.constant_value, rel=0.02)
    # length scales of a thousand and more are infinite
    assert np.minimum(1 / ours, 1e3) == pytest.approx(
        np.minimum(product.k2.length_scale, 1e3), rel=0.02
    )
    assert ridge == pytest.approx(white.noise_level, rel=0.02)


def test_a_search_with_some_of_the_points_first_ends_at_the_same_optimum(monkeypatch, limits):
    X, Y, w = _data(0, n=120)
    start, sizes = mc.Mapped(mc.Gaussian(0.5), np.ones(3)), []
    whole = tune_ridge(start, 0.1, X, Y, w, Tuning("loo"), "1GB")
    limits(first_points=40)
    monkeypatch.setattr(
        tuning,
        "_left_out",
        lambda kernel, X, *rest: sizes.append(len(X)) or _left_out(kernel, X, *rest),
    )
    few = tune_ridge(start, 0.1, X, Y, w, Tuning("loo"), "1GB")
    assert {*sizes} == {40, 120}
    np.testing.assert_allclose(few[0].A, whole[0].A, rtol=0.01)
    assert few[1] == pytest.approx(whole[1], rel=0.01)


@pytest.mark.parametrize("method", ["loo", "marginal_likelihood"])
def test_scales_that_fit_some_of_the_points_by_chance_do_not_decide(method, limits):
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, (120, 8))
    Y = np.sin(X @ np.linspace(0.1, 0.7, 8))[:, None] + 0.1 * rng.standard_normal((120, 1))
    start = mc.Mapped(mc.Gaussian(0.1), np.ones(8))
    whole = tune_ridge(start, 0.1, X, Y, None, Tuning(method), "1GB")
    limits(first_points=20)
    assert tune_ridge(start, 0.1, X, Y, None, Tuning(method), "1GB") == whole


@pytest.mark.parametrize("factor", [0.05, 4.0], ids=["all points near", "all points far"])
def test_scales_from_which_all_points_look_alike_lead_to_the_optimum(factor):
    # the likelihood of scales at which no point has a neighbour is that of noise, whose slope is nearly 0
    X, Y, _ = _data(1, n=80, d=6)
    likelihoods = []
    for scale in (0.5, factor):
        start = mc.Mapped(mc.Gaussian(0.5), np.full(6, scale))
        tuned, ridge = tune_ridge(
            start, 0.1, X, Y[:, :1], None, Tuning("marginal_likelihood"), "1GB"
        )
        likelihoods.append(
            _likelihood(tuned.kernel, X, Y[:, :1], np.ones(80), ridge / tuned.factor)[0]
        )
    assert likelihoods[1] < likelihoods[0] + 0.1


@pytest.mark.parametrize(("seed", "d"), [(5, 5), (0, 8), (2, 8), (4, 8)])
def test_the_likelihood_in_many_dimensions_is_at_least_that_of_scikit_learn(seed, d):
    # a search with long first steps ends in noise, 4 to 9 below
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (100, d))
    y = np.sin(X @ rng.normal(size=d)) + 0.1 * rng.standard_normal(100)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = GaussianProcessRegressor(
            ConstantKernel() * RBF(np.full(d, d**0.5)) + WhiteKernel(0.1)
        ).fit(X, y)
    start = mc.Mapped(mc.Gaussian(0.5 / d), np.ones(d))
    tuned, ridge = tune_ridge(start, 0.1, X, y[:, None], None, Tuning("marginal_likelihood"), "1GB")
    found = _likelihood(tuned.kernel, X, y[:, None], np.ones(100), ridge / tuned.factor)[0]
    assert -found - 50 * np.log(2 * np.pi) - 50 > theirs.log_marginal_likelihood_value_ - 0.1


def test_a_search_that_ends_in_noise_is_not_the_result():
    rng = np.random.default_rng(9)
    X, slopes = rng.uniform(-2, 2, (150, 5)), np.linspace(0.2, 2, 5)
    Y = (np.sin(X @ slopes) + 0.1 * rng.standard_normal(150))[:, None]
    tuned, ridge = tune_ridge(
        mc.Mapped(mc.Gaussian(0.1), np.ones(5)),
        0.1,
        X,
        Y,
        None,
        Tuning("marginal_likelihood"),
        "1GB",
    )
    found = _likelihood(tuned.kernel, X, Y, np.ones(150), ridge / tuned.factor)[0]
    # the best of the starts leads there: every point has its own value
    noise = 0.5 * len(Y) * np.log(np.mean(Y**2))
    assert found < noise - 40


@pytest.mark.parametrize("method", ["loo", "marginal_likelihood"])
def test_no_neighbour_of_the_optimum_is_better(method, global_random_seed):
    X, Y, w = _data(global_random_seed, n=60, d=2, noise=0.5)
    tuned, ridge = tune_ridge(mc.Matern(1.0, 2.5), 0.1, X, Y, w, Tuning(method), "1GB")
    criterion = _likelihood if method == "marginal_likelihood" else _left_out
    factor = 1.0 if method == "loo" else tuned.factor
    kernel = tuned if method == "loo" else tuned.kernel
    best = criterion(kernel, X, Y, w, ridge / factor)[0]
    for scale in (0.9, 1.1):
        assert criterion(_with_scale(kernel, np.full(2, scale)), X, Y, w, ridge / factor)[0] > best
        assert criterion(kernel, X, Y, w, scale * ridge / factor)[0] > best


@pytest.mark.parametrize(
    "kernel",
    [
        mc.Gaussian(0.4),
        mc.Cauchy(0.4),
        mc.Laplacian(0.4),
        mc.Matern(0.7, 1.5),
        mc.RationalQuadratic(0.7, 2.0),
        mc.Linear(),
    ],
    ids=repr,
)
def test_a_scale_of_the_columns_is_one_of_the_kernel(kernel):
    X = _data(0)[0]
    np.testing.assert_allclose(_with_scale(kernel, np.full(3, 1.7))(X), kernel(1.7 * X), rtol=1e-12)


def test_columns_that_say_nothing_get_small_scales():
    X, Y, _ = _data(1, n=120, d=6)
    tuned, _ = tune_ridge(
        mc.Mapped(mc.Gaussian(0.5), np.ones(6)),
        0.1,
        X,
        Y,
        None,
        Tuning("marginal_likelihood"),
        "1GB",
    )
    scales = tuned.kernel.A
    assert scales[:2].min() > 5 * scales[2:].max()


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda X, y: tune_ridge(mc.Gaussian(1.0), 0.0, X, y, None, Tuning("loo"), "1GB"),
            ValueError,
            "alpha = 0.0 must be above 0",
        ),
        (
            lambda X, y: tune_ridge(mc.Gaussian(1.0), 0.1, X, y, None, Tuning("loo"), "1kB"),
            MemoryError,
            "tuning on 30 points needs",
        ),
        (
            lambda X, y: tune_ridge(
                mc.Gaussian(1.0), 0.1, X, 1e-160 * y, None, Tuning("marginal_likelihood"), "1GB"
            ),
            ValueError,
            "must be at least 1e-145 for tune='marginal_likelihood'",
        ),
        (
            lambda X, y: tune_ridge(mc.Sigmoid(1.0, 0.0), 1e-6, X, y, None, Tuning("loo"), "1GB"),
            ValueError,
            "make_positive",
        ),
        (
            lambda X, y: tune_ridge(mc.strings.Spectrum(2), 0.1, X, y, None, Tuning("loo"), "1GB"),
            TypeError,
            r"KernelRidge\(tune=.loo.\) needs a gradient.*use tune=None",
        ),
    ],
)
def test_errors_name_the_argument(call, error, message):
    with pytest.raises(error, match=message):
        call(*_data(0)[:2])


@pytest.mark.parametrize(("gamma", "alpha"), [(1e-4, 1e6), (1e4, 1e-6), (1e3, 1e3), (1e-4, 1e-4)])
def test_bad_starts_end_where_a_good_start_does(gamma, alpha, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-2, 2, (120, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=120)

    def evidence(gamma, alpha):
        model = mc.KernelRidge(alpha, kernel=mc.Gaussian(gamma), tune="marginal_likelihood").fit(
            X, y
        )
        C = model.kernel_(X) + model.alpha_ * np.eye(120)
        return -(y @ np.linalg.solve(C, y) + np.linalg.slogdet(C)[1]) / 2

    assert evidence(gamma, alpha) == pytest.approx(evidence(0.3, 0.1), abs=0.1)


@pytest.mark.parametrize("method", ["marginal_likelihood", "loo"])
def test_a_matrix_is_refused_and_columns_are_tuned(method):
    X = np.random.default_rng(0).standard_normal((30, 3))
    with pytest.raises(ValueError, match=r"not a matrix of shape \(2, 3\)"):
        mc.KernelRidge(0.1, kernel=mc.Mapped(mc.Gaussian(1.0), np.ones((2, 3))), tune=method).fit(
            X, X[:, 0]
        )
    model = mc.KernelRidge(0.1, kernel=mc.Mapped(mc.Gaussian(1.0), np.ones(3)), tune=method).fit(
        X, X[:, 0]
    )
    assert model.score(X, X[:, 0]) > 0.99


def _scaled(tune, X, y):
    kernel = mc.Mapped(mc.Gaussian(0.5), np.array([0.3, 1.0, 2.0]))
    return mc.KernelRidge(0.1, kernel=kernel, tune=tune).fit(X, y)


@pytest.mark.parametrize("method", ["marginal_likelihood", "loo"])
def test_a_prior_holds_scales_together_and_the_optimum_is_that_of_both(method, global_random_seed):
    X, Y, _ = _data(global_random_seed)
    y = Y[:, 0]
    given, spread = np.array([0.3, 1.0, 2.0]), []

    def objective(model, prior, factors=1.0):
        scales = model.kernel_.kernel.A if method == "marginal_likelihood" else model.kernel_.A
        size = model.kernel_.factor if method == "marginal_likelihood" else 1.0
        logs = np.log(factors * scales / given)
        penalty = prior / 2 * np.sum((logs - logs.mean()) ** 2)
        C = size * mc.Gaussian(0.5)(X * scales * factors) + model.alpha_ * np.eye(len(X))
        inverse = np.linalg.inv(C)
        if method == "loo":
            errors = inverse @ y / np.diag(inverse)
            return len(X) / 2 * np.log(np.sum(errors**2)) + penalty, logs
        value = len(X) / 2 * np.log(y @ inverse @ y) + np.linalg.slogdet(C)[1] / 2
        return value + penalty, logs

    for prior in (0.0, 1.0, 1e4):
        model = _scaled(Tuning(method, prior=prior), X, y)
        best, logs = objective(model, prior)
        spread.append(np.ptp(logs))
        for move in np.exp(0.1 * np.vstack([np.eye(3), -np.eye(3)])):
            assert objective(model, prior, move)[0] >= best - 1e-3
    assert spread[0] >= spread[1] - 1e-2 > spread[2]
    assert spread[2] < 0.05


def test_a_limit_of_steps_ends_a_search_with_a_warning():
    X, Y, _ = _data(0)
    whole = _scaled("loo", X, Y)
    assert _scaled(Tuning("loo"), X, Y).alpha_ == whole.alpha_
    with pytest.warns(ConvergenceWarning, match="after 1 steps; start nearer to it, or raise"):
        short = _scaled(Tuning("loo", max_steps=1), X, Y)
    assert np.sum(short.loo_residuals_**2) > np.sum(whole.loo_residuals_**2)


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"method": "gcv"}, ValueError, "method = 'gcv' must be one of"),
        ({"max_steps": 0}, ValueError, "max_steps = 0 must be"),
        ({"prior": -1.0}, ValueError, "prior = -1.0 must be at least 0"),
        ({"prior": "wide"}, TypeError, "prior"),
    ],
)
def test_a_tuning_refuses_what_it_cannot_do(options, error, message):
    with pytest.raises(error, match=message):
        Tuning(**options)
