"""Prediction intervals of ridge regression: those of refits without each point, and the shares of targets inside."""

import numpy as np
import pytest

import mercer as mc

KERNEL, ALPHA = mc.Gaussian(0.5), 0.1
OPTIONS = [(method, scaled) for method in ("conformal", "jackknife+") for scaled in (False, True)]


@pytest.fixture
def sample(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((40, 2))
    return X, np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(40), 2 * rng.standard_normal((6, 2))


def _deviation(x, X, landmarks):
    """Return the posterior standard deviation of a target at x, of the process in the span of the landmarks."""
    K = _inner(X, X, landmarks) + ALPHA * np.eye(len(X))
    k = _inner(X, x[None], landmarks)
    return np.sqrt(_inner(x[None], x[None], landmarks) + ALPHA - k.T @ np.linalg.solve(K, k)).item()


def _inner(X, Z, landmarks):
    if landmarks is None:
        return KERNEL(X, Z)
    return KERNEL(X, landmarks) @ np.linalg.solve(KERNEL(landmarks), KERNEL(landmarks, Z))


def _value(x, X, y, landmarks):
    """Return the prediction at x of a fit."""
    K = _inner(X, X, landmarks) + ALPHA * np.eye(len(X))
    return (_inner(x[None], X, landmarks) @ np.linalg.solve(K, y)).item()


def _residuals(X, y, landmarks, scaled):
    """Return the size of the residual of each point after a refit without it."""
    found = []
    for i in range(len(y)):
        others = np.arange(len(y)) != i
        unit = _deviation(X[i], X[others], landmarks) if scaled else 1.0
        found.append(abs(y[i] - _value(X[i], X[others], y[others], landmarks)) / unit)
    return np.array(found)


def _refitted_jackknife(x, X, y, landmarks, scaled, outside):
    """Return the jackknife+ interval by a refit without each point."""
    low, high = [], []
    for i, residual in enumerate(_residuals(X, y, landmarks, scaled)):
        others = np.arange(len(y)) != i
        value = _value(x, X[others], y[others], landmarks)
        unit = _deviation(x, X[others], landmarks) if scaled else 1.0
        low.append(value - residual * unit)
        high.append(value + residual * unit)
    return np.sort(low)[outside - 1], np.sort(high)[-outside]


def _is_conformal(value, x, X, y, landmarks, scaled, outside):
    """Return whether a target at x conforms to the training points, by a refit without each point."""
    sizes = _residuals(np.vstack([X, x]), np.append(y, value), landmarks, scaled)
    return np.count_nonzero(sizes >= sizes[-1]) > outside


@pytest.mark.parametrize("spanned", [False, True], ids=["all points", "landmarks"])
@pytest.mark.parametrize("scaled", [False, True])
def test_jackknife_intervals_are_those_of_refits(sample, spanned, scaled):
    X, y, new = sample
    landmarks = X[::3] if spanned else None
    model = mc.KernelRidge(ALPHA, kernel=KERNEL, landmarks=landmarks).fit(X, y)
    found = model.predict_interval(new, 0.85, "jackknife+", scaled=scaled)
    # 0.15 * 41 = 6.15
    expected = [_refitted_jackknife(x, X, y, landmarks, scaled, 6) for x in new]
    np.testing.assert_allclose(found, expected, rtol=1e-8)


@pytest.mark.parametrize("spanned", [False, True], ids=["all points", "landmarks"])
@pytest.mark.parametrize("scaled", [False, True])
def test_conformal_intervals_end_where_targets_cease_to_conform(sample, spanned, scaled):
    X, y, new = sample
    landmarks = X[::3] if spanned else None
    model = mc.KernelRidge(ALPHA, kernel=KERNEL, landmarks=landmarks).fit(X, y)
    for x, (low, high) in zip(
        new[:3], model.predict_interval(new[:3], 0.85, scaled=scaled), strict=True
    ):
        step = 1e-6 * (high - low)
        for value, inside in (
            (low + step, True),
            (high - step, True),
            (low - step, False),
            (high + step, False),
        ):
            assert _is_conformal(value, x, X, y, landmarks, scaled, 6) == inside
        for far in (0.1, 1.0, 10.0):
            assert not _is_conformal(low - far, x, X, y, landmarks, scaled, 6)
            assert not _is_conformal(high + far, x, X, y, landmarks, scaled, 6)


def test_an_interval_contains_all_parts_of_a_conformal_set_with_gaps(global_random_seed):
    """A row far out that follows the new target, times a factor above 1, conforms again far from the other targets."""
    gaps = 0
    for seed in range(20):
        rng = np.random.default_rng([seed, global_random_seed])
        x, y, alpha = rng.standard_t(2, 9), rng.standard_normal(9), 0.1
        model = mc.KernelRidge(alpha, kernel="linear").fit(x[:8, None], y[:8])
        # 0.15 * 9 = 1.35
        low, high = model.predict_interval(x[8:, None], 0.85)[0]
        values = (
            model.predict(x[8:, None]) + np.outer([[-1], [1]], np.geomspace(1e-3, 1e6, 500)).ravel()
        )
        targets = np.column_stack([np.tile(y[:8], (1000, 1)), values])
        # least squares through the origin without each row
        slopes = ((targets @ x)[:, None] - targets * x) / (x @ x + alpha - x**2)
        sizes = np.abs(targets - slopes * x)
        conforming = np.sort(values[np.count_nonzero(sizes >= sizes[:, 8:], axis=1) > 1])
        inside = np.sort(values[(values > low) & (values < high)])
        np.testing.assert_array_equal(conforming[[0, -1]], inside[[0, -1]])
        gaps += len(conforming) < len(inside)
    assert gaps > 0


@pytest.mark.parametrize(("method", "scaled"), OPTIONS)
@pytest.mark.parametrize(
    "landmarks", [None, np.linspace(-2, 2, 5)[:, None]], ids=["all points", "landmarks"]
)
def test_intervals_contain_the_share_of_new_targets_that_is_guaranteed(
    method, scaled, landmarks, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    model, inside = mc.KernelRidge(0.01, kernel=mc.Gaussian(2.0), landmarks=landmarks), []
    for _ in range(400):
        X = rng.standard_normal((20, 1))
        y = X[:, 0] + np.abs(X[:, 0]) * rng.standard_t(3, 20)
        low, high = model.fit(X[:19], y[:19]).predict_interval(X[19:], 0.8, method, scaled=scaled)[
            0
        ]
        inside.append(low <= y[19] <= high)
    # of 20 points 4 may lie outside; three standard errors
    assert np.mean(inside) >= (0.8 if method == "conformal" else 0.6) - 3 * np.sqrt(0.16 / 400)
    assert np.mean(inside) <= 0.9


@pytest.mark.parametrize(("method", "scaled"), OPTIONS)
def test_each_target_has_its_interval_and_types_are_kept(sample, method, scaled):
    X, y, new = sample
    Y = np.column_stack([y, X[:, 1] ** 2])
    both = (
        mc.KernelRidge(ALPHA, kernel=KERNEL)
        .fit(X, Y)
        .predict_interval(new, method=method, scaled=scaled)
    )
    assert both.shape == (6, 2, 2)
    for k in range(2):
        one = mc.KernelRidge(ALPHA, kernel=KERNEL).fit(X, Y[:, k])
        np.testing.assert_allclose(
            one.predict_interval(new, method=method, scaled=scaled), both[:, :, k], rtol=1e-10
        )
        single = mc.KernelRidge(ALPHA, kernel=KERNEL).fit(X.astype(np.float32), Y[:, k])
        found = single.predict_interval(new.astype(np.float32), method=method, scaled=scaled)
        np.testing.assert_allclose(found, both[:, :, k], atol=1e-4)


def test_many_new_points_have_the_intervals_of_each(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, new = rng.standard_normal((700, 3)), rng.standard_normal((2000, 3))
    model = mc.KernelRidge(1.0, kernel=KERNEL).fit(X, X[:, 0] + rng.standard_normal(700))
    np.testing.assert_allclose(
        model.predict_interval(new)[1500:1600], model.predict_interval(new[1500:1600])
    )


@pytest.mark.parametrize(("method", "scaled"), OPTIONS)
def test_a_matrix_gives_the_intervals_and_variances_of_its_kernel(sample, method, scaled):
    X, y, new = sample
    own = mc.KernelRidge(ALPHA, kernel=KERNEL).fit(X, y)
    matrix = mc.KernelRidge(ALPHA, kernel="precomputed").fit(KERNEL(X), y)
    found = matrix.predict_interval(KERNEL(new, X), method=method, scaled=scaled)
    np.testing.assert_allclose(
        found, own.predict_interval(new, method=method, scaled=scaled), rtol=1e-9
    )
    np.testing.assert_allclose(matrix.variance(KERNEL(new, X)), own.variance(new), rtol=1e-9)


@pytest.mark.parametrize("method", ["conformal", "jackknife+"])
def test_intervals_of_too_few_points_are_infinite(sample, method):
    X, y, new = sample
    few, enough = (mc.KernelRidge(ALPHA, kernel=KERNEL).fit(X[:n], y[:n]) for n in (8, 9))
    assert (few.predict_interval(new, 0.9, method) == [-np.inf, np.inf]).all()
    assert np.isfinite(enough.predict_interval(new, 0.9, method)).all()


def test_what_has_no_intervals_is_refused(sample, tmp_path):
    X, y, new = sample
    model = mc.KernelRidge(ALPHA, kernel=KERNEL)
    with pytest.raises(ValueError, match="without sample_weight"):
        model.fit(X, y, np.full(40, 2.0)).predict_interval(new)
    model.fit(X, y)
    for confidence in (0.0, 1.0):
        with pytest.raises(ValueError, match="confidence = .* must be between 0 and 1"):
            model.predict_interval(new, confidence)
    with pytest.raises(ValueError, match="method = 'bootstrap'"):
        model.predict_interval(new, method="bootstrap")
    with pytest.raises(ValueError, match="raise alpha"):
        mc.KernelRidge(1e-14, kernel=KERNEL).fit(
            np.vstack([X, X]), np.append(y, y)
        ).predict_interval(new)
    spanned = mc.KernelRidge(ALPHA, kernel=KERNEL, landmarks=5, random_state=0).fit(X, y)
    assert spanned.predict_interval(new).shape == (6, 2)
    mc.save(spanned, tmp_path / "spanned.mercer")
    with pytest.raises(AttributeError, match="fit again"):
        mc.load(tmp_path / "spanned.mercer").predict_interval(new)
    with pytest.raises(AttributeError, match="one alpha"):
        mc.KernelRidge([1.0, 2.0]).fit(X, np.column_stack([y, y])).predict_interval(new)
