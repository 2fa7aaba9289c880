"""Learned: exact if coordinates are linear in the features, near the conditional mean with noise."""

import numpy as np
import pytest

import mercer as mc
from mercer.preimages import preimage
from mercer.preimages.learned import Learned

ANGLE = np.linspace(0, 2 * np.pi, 120, endpoint=False)
CIRCLE = np.column_stack([np.cos(ANGLE), np.sin(ANGLE)])


def gaussian(X, rng):
    return X + 0.2 * rng.standard_normal(X.shape)


def find(method, psi, start=None):
    return method.find(psi, np.zeros((len(psi), psi.points.shape[1])) if start is None else start)


def error(points, truth):
    return np.mean(np.sum((points - truth) ** 2, axis=1))


def test_linear_combinations_of_points_are_exact_for_the_linear_kernel():
    rng = np.random.default_rng(0)
    X, C = rng.standard_normal((20, 3)), rng.standard_normal((20, 4))
    found = find(Learned(ridge=1e-9), mc.features(mc.Linear(), X) @ C)
    np.testing.assert_allclose(found.points, C.T @ X, atol=1e-6)


@pytest.mark.parametrize("kernel", [mc.Gaussian(1.0), mc.Laplacian(0.5), mc.Polynomial(3)])
def test_points_are_those_of_the_ridge_formula(kernel):
    rng = np.random.default_rng(1)
    X, C = rng.standard_normal((30, 2)), rng.standard_normal((30, 5))
    K = kernel(X)
    formula = C.T @ K @ np.linalg.solve(K + 0.3 * np.eye(30), X)
    np.testing.assert_allclose(
        find(Learned(ridge=0.3), mc.features(kernel, X) @ C).points, formula, atol=1e-9
    )


def test_preimage_recomputes_the_distances():
    psi = mc.features(mc.Gaussian(1.0), CIRCLE) @ np.eye(120)[:, :5]
    answer = preimage(psi, Learned(ridge=1e-6))
    np.testing.assert_allclose(answer.points, CIRCLE[:5], atol=1e-3)
    exact = mc.sqdist(psi, mc.features(mc.Gaussian(1.0), answer.points), paired=True)
    np.testing.assert_allclose(answer.sqdist, exact, atol=1e-12)
    assert answer.converged.all()


def test_in_one_dimension_the_result_is_near_the_conditional_mean():
    # two clean points at -1 and 1 with noise of variance v: the mean of the clean point given x is tanh(x / v)
    clean = np.repeat([[-1.0], [1.0]], 100, axis=0)
    method = Learned(
        noise=lambda X, rng: X + 0.7 * rng.standard_normal(X.shape), copies=50, ridge=10.0
    )
    x = np.linspace(-1.5, 1.5, 13)[:, None]
    found = find(method, mc.features(mc.Gaussian(1.0), clean) @ np.ones((200, 13)), x)
    assert np.max(np.abs(found.points - np.tanh(x / 0.49))) < 0.1


def test_noise_on_a_circle_is_removed_better_than_by_the_linear_fit():
    rng = np.random.default_rng(2)
    noisy = gaussian(CIRCLE, rng)
    found = find(Learned(noise=gaussian), mc.features(mc.Gaussian(1.0), CIRCLE), noisy)
    # the best linear fit on a circle is a multiple: variance 1/2 against noise of variance 0.04
    linear = noisy * 0.5 / 0.54
    assert error(found.points, CIRCLE) < 0.8 * error(linear, CIRCLE)


def test_results_lie_in_the_bounding_box_of_clean_points_for_any_start():
    starts = np.array([[1e6, -1e6], [0.0, 0.0], [1.5, 1.5]])
    found = find(
        Learned(noise=gaussian), mc.features(mc.Gaussian(1.0), CIRCLE) @ np.ones((120, 3)), starts
    )
    assert np.isfinite(found.points).all()
    assert (np.abs(found.points) <= 1).all()


def test_with_noise_the_result_depends_only_on_points_and_start():
    method, phi = Learned(noise=gaussian), mc.features(mc.Gaussian(1.0), CIRCLE)
    starts = gaussian(CIRCLE[:4], np.random.default_rng(3))
    first = find(method, phi @ np.eye(120)[:, :4], starts).points
    other = mc.features(mc.Gaussian(3.0), CIRCLE) @ np.ones((120, 4))
    np.testing.assert_array_equal(first, find(method, other, starts).points)
    # in parts or at once, and again after a fit on other points
    find(method, mc.features(mc.Gaussian(1.0), CIRCLE[:50])[:, :1])
    again = np.concatenate([find(method, other[:, [i]], starts[[i]]).points for i in range(4)])
    np.testing.assert_allclose(again, first, atol=1e-12)


def test_a_noise_function_that_changed_gives_another_regression():
    level = [0.1]
    method = Learned(noise=lambda X, rng: X + level[0] * rng.standard_normal(X.shape))
    phi, start = mc.features(mc.Gaussian(1.0), CIRCLE)[:, :4], 1.3 * CIRCLE[:4]
    mild = find(method, phi, start).points
    level[0] = 3.0
    # noise that hides the point leaves the mean of all
    assert error(find(method, phi, start).points, np.zeros((4, 2))) < 0.5 * error(
        mild, np.zeros((4, 2))
    )


def test_constant_columns_and_repeated_points_are_handled():
    clean = np.column_stack([np.repeat([0.0, 1.0], 20), np.full(40, 3.0)])
    phi = mc.features(mc.Gaussian(1.0), clean)
    for size in (0.0, 0.1):
        method = Learned(
            noise=lambda X, rng, size=size: X + [size, 0.0] * rng.standard_normal(X.shape)
        )
        found = find(method, phi @ np.eye(40)[:, :2], np.array([[0.0, 3.0], [1.0, 3.0]]))
        np.testing.assert_allclose(found.points, [[0.0, 3.0], [1.0, 3.0]], atol=0.1)


def test_few_landmarks_lose_little_accuracy_on_a_smooth_set():
    noisy, phi = gaussian(CIRCLE, np.random.default_rng(4)), mc.features(mc.Gaussian(1.0), CIRCLE)
    full, few = (
        error(find(Learned(noise=gaussian, landmarks=m), phi, noisy).points, CIRCLE)
        for m in (120, 40)
    )
    assert few < 1.2 * full


@pytest.mark.parametrize(
    ("noise", "message"),
    [
        (lambda X, _: X[:, :1], r"must keep the shape \(120, 2\)"),
        (lambda X, _: X * np.nan, "NaN or infinity"),
    ],
)
def test_a_noise_function_with_a_wrong_result_is_refused(noise, message):
    with pytest.raises(ValueError, match=message):
        find(Learned(noise=noise), mc.features(mc.Gaussian(1.0), CIRCLE))


def test_inputs_that_say_which_values_are_clean_halve_the_error():
    # one number three times, and noise that sets coordinates to an extreme
    def speckle(X, rng):
        return np.where(rng.random(X.shape) < 0.4, rng.choice([-1.0, 1.0], X.shape), X)

    def known(X):
        extreme = np.abs(X) == 1
        return np.column_stack([np.where(extreme, 0, X), extreme])

    rng = np.random.default_rng(5)
    clean = rng.uniform(-1, 1, (300, 1)) @ np.ones((1, 3))
    phi, starts = mc.features(mc.Gaussian(1.0), clean), speckle(clean[:100], rng)
    plain, told = (
        find(Learned(speckle, inputs=inputs), phi, starts).points for inputs in (None, known)
    )
    assert error(told, clean[:100]) < 0.5 * error(plain, clean[:100])


def test_the_regression_takes_the_inputs_in_place_of_the_points():
    # scaled inputs are scaled back by the linear fit, whose metric has half the exponent: A = (B B')^(1/4) of 4 x is
    # half of that of x, so that A u is twice A x, as if lengths were halved
    phi, starts = (
        mc.features(mc.Gaussian(1.0), CIRCLE),
        gaussian(CIRCLE[:5], np.random.default_rng(6)),
    )
    four = Learned(gaussian, mc.Gaussian(0.25), copies=3, inputs=lambda X: 4 * X)
    np.testing.assert_allclose(
        find(four, phi[:, :5], starts).points,
        find(Learned(gaussian, mc.Gaussian(1.0), copies=3), phi[:, :5], starts).points,
        atol=1e-8,
    )


def test_inputs_in_float32_give_the_points_of_float64_within_rounding():
    phi, starts = (
        mc.features(mc.Gaussian(1.0), CIRCLE),
        gaussian(CIRCLE[:40], np.random.default_rng(7)),
    )
    wide, narrow = (
        find(
            Learned(gaussian, inputs=lambda X, dtype=dtype: X.astype(dtype)), phi[:, :40], starts
        ).points
        for dtype in (np.float64, np.float32)
    )
    difference = np.abs(narrow - wide).max()
    # another result, so the type was used
    assert 0 < difference < 1e-4


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (lambda X: X[:1], "must return 120 rows"),
        (lambda X: X[:, 0], "shape"),
        (lambda X: X * np.inf, "NaN or inf"),
    ],
)
def test_a_function_of_inputs_with_a_wrong_result_is_refused(inputs, message):
    with pytest.raises(ValueError, match=message):
        find(Learned(gaussian, inputs=inputs), mc.features(mc.Gaussian(1.0), CIRCLE))


@pytest.mark.parametrize(
    ("options", "error", "message"),
    [
        ({"noise": 0.5}, TypeError, "noise must be a function"),
        ({"noise": gaussian, "inputs": 2}, TypeError, "inputs must be a function"),
        ({"inputs": np.abs}, ValueError, "give noise=, too"),
        ({"kernel": "rbf"}, TypeError, "kernel must be a Kernel"),
        ({"copies": 0}, ValueError, "copies = 0"),
        ({"landmarks": 0}, ValueError, "landmarks = 0"),
        ({"ridge": 0.0}, ValueError, "ridge = 0.0"),
    ],
)
def test_options_are_checked_when_given(options, error, message):
    with pytest.raises(error, match=message):
        Learned(**options)


def test_a_kernel_without_a_gradient_has_learned_pre_images():
    X = np.random.default_rng(0).standard_normal((30, 2))
    phi = mc.features(mc.FeatureMap(lambda A: np.column_stack([A, A**2])), X)
    found = mc.preimage(phi[:, :3], Learned(ridge=1e-8))
    np.testing.assert_allclose(found.points, X[:3], atol=1e-5)
    np.testing.assert_allclose(found.sqdist, 0, atol=1e-8)


def test_kernels_of_histograms_give_non_negative_points():
    counts = np.random.default_rng(1).random((30, 5)) ** 4
    phi = mc.features(mc.Chi2(0.5), counts)
    answer = mc.preimage(mc.svd(phi, 3)[0], "learned")
    assert (answer.points == 0).any()
    assert (answer.points >= 0).all()


def test_defaults_are_those_documented():
    kernel = mc.Matern(length="median", nu=0.5)
    assert Learned() == Learned(
        noise=None, kernel=kernel, copies=5, landmarks=3000, ridge=0.1, random_state=0, inputs=None
    )


def test_the_denoiser_is_ridge_regression_on_scaled_corrupted_points():
    rng = np.random.default_rng(0)
    clean, start = rng.normal(size=(25, 2)), rng.normal(size=(3, 2))
    method = Learned(
        noise=gaussian, kernel=mc.Gaussian(0.7), copies=3, landmarks=9, ridge=0.4, random_state=5
    )
    found = find(method, mc.features(mc.Gaussian(1.0), clean)[:, :3], start).points
    rng = np.random.default_rng(5)
    corrupted = np.concatenate([gaussian(clean, rng) for _ in range(3)])
    mean = clean.mean(axis=0)
    targets = np.tile(clean - mean, (3, 1))
    order = rng.permutation(25)[:9]
    Z = gaussian(clean, rng)[order]
    B = np.linalg.lstsq(corrupted - corrupted.mean(axis=0), targets, rcond=None)[0]
    values, vectors = np.linalg.eigh(B @ B.T)
    A = vectors * values**0.25 @ vectors.T
    K, Kz = mc.Gaussian(0.7)(corrupted @ A, Z @ A), mc.Gaussian(0.7)(Z @ A)
    coef = np.linalg.solve(K.T @ K + 0.4 * Kz, K.T @ targets)
    expected = np.clip(
        mean + mc.Gaussian(0.7)(start @ A, Z @ A) @ coef, clean.min(axis=0), clean.max(axis=0)
    )
    np.testing.assert_allclose(found, expected, atol=1e-9)


def test_nothing_is_iterated_and_everything_converges():
    found = find(Learned(), mc.features(mc.Gaussian(1.0), CIRCLE)[:, :4])
    assert found.converged.tolist() == [True] * 4
    assert found.n_iter.tolist() == [0] * 4
    assert found.reasons == ("",) * 4
