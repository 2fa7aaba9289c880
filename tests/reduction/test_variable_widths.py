"""VariableWidths: exact gradients, exact recovery, errors below one width, and reduced sets that are models."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.datasets import make_moons

import mercer as mc
from mercer.reduction.base import Target
from mercer.reduction.refine import CapturedByWidths


def _psi(seed, d, n=60, m=2, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X, coef = rng.normal(size=(n, d)).astype(dtype), rng.normal(size=(n, m)).astype(dtype)
    return mc.Expansion(mc.Gaussian(1.0 / d), X, coef)


@pytest.mark.parametrize("d", [1, 3])
def test_the_objective_is_the_projection_and_its_gradients_are_those_of_differences(
    d, global_random_seed
):
    rng, psi = np.random.default_rng(global_random_seed), _psi(global_random_seed, d)
    square = d / 2
    kernel = mc.VariableWidthGaussian(1.0 / d, d)
    # points of psi with widths of their own
    given = np.column_stack([psi.points, np.sqrt(square * (0.7 + rng.random(len(psi.points))))])
    captured = CapturedByWidths(given, psi.coef * np.sqrt(kernel.diag(given))[:, None], square)
    Z, A = rng.normal(size=(4, d)), square * (0.7 + rng.random(4))
    value, in_points, in_squares = captured(Z, A)
    points = np.column_stack([Z, np.sqrt(A)])
    target = mc.Expansion(kernel, given, psi.coef)
    projection = mc.project(target, mc.features(kernel, points))
    assert -value == pytest.approx(np.sum(projection.norms() ** 2), rel=1e-7)
    step = 1e-6
    for i in range(4):
        for k in range(d):
            move = np.zeros((4, d))
            move[i, k] = step
            slope = (captured(Z + move, A)[0] - captured(Z - move, A)[0]) / (2 * step)
            assert in_points[i, k] == pytest.approx(slope, rel=1e-5, abs=1e-6)
        move = np.zeros(4)
        move[i] = step
        slope = (captured(Z, A + move)[0] - captured(Z, A - move)[0]) / (2 * step)
        assert in_squares[i] == pytest.approx(slope, rel=1e-5, abs=1e-6)


def test_a_reduced_set_with_several_widths_is_reduced_again(global_random_seed):
    psi = _psi(global_random_seed, 2)
    first = mc.reduce(psi, 12, method="variable_widths").expansion
    again = mc.reduce(first, 5, method=mc.VariableWidths())
    chi = again.expansion
    assert chi.kernel == first.kernel
    assert chi.points.shape == (5, 3)
    # the error is the distance in the space, and below that of points of the first set
    np.testing.assert_allclose(
        again.relative_error, np.sqrt(mc.sqdist(first, chi, paired=True)) / first.norms(), rtol=1e-6
    )
    selected = mc.reduce(first, 5, method="greedy")
    assert again.history[-1] < 0.9 * selected.history[-1]


def test_two_wide_functions_among_narrow_ones_of_an_expansion_are_recovered():
    kernel = mc.VariableWidthGaussian(4.0, 1)
    points = np.array([[-1.0, 0.9], [-1.0, 0.9], [1.2, 0.6], [1.2, 0.6 + 1e-9]])
    psi = mc.Expansion(kernel, points, np.array([[0.4], [0.6], [-0.3], [-0.4]]))
    found = mc.reduce(psi, 2, method=mc.VariableWidths(max_iter=500, tol=1e-14))
    order = np.argsort(found.expansion.points[:, 0])
    np.testing.assert_allclose(found.expansion.points[order], points[[0, 2]], atol=1e-3)
    np.testing.assert_allclose(found.expansion.coef[order, 0], [1.0, -0.7], atol=1e-3)


def test_two_functions_of_other_widths_are_recovered():
    # psi is the combination of narrow functions that is nearest to two wide ones
    kernel = mc.VariableWidthGaussian(4.0, 1)
    wide = mc.Expansion(kernel, np.array([[-1.0, 0.9], [1.2, 0.6]]), np.array([[1.0], [-0.7]]))
    grid = np.linspace(-4, 4, 80)[:, None]
    psi = mc.project(wide, mc.features(kernel, grid))
    psi = mc.Expansion(mc.Gaussian(4.0), grid, psi.coef)
    found = mc.reduce(psi, 2, method=mc.VariableWidths(max_iter=500, tol=1e-14))
    points = found.expansion.points[np.argsort(found.expansion.points[:, 0])]
    np.testing.assert_allclose(points, wide.points, atol=1e-2)
    assert found.history[-1] < 1e-2
    assert mc.reduce(psi, 2, method="refine").history[-1] > 0.3


@pytest.mark.parametrize("dtype", [np.float32, np.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("d", [1, 2, 8])
@pytest.mark.parametrize("start", [mc.Construct(), mc.Greedy(), mc.Refine(mc.Greedy())], ids=repr)
def test_the_error_is_at_most_that_of_one_width_from_the_same_start(
    d, dtype, start, global_random_seed
):
    psi = _psi(global_random_seed, d, dtype=dtype)
    options = {"max_iter": 60, "tol": 1e-8}
    several = mc.reduce(psi, 5, method=mc.VariableWidths(start, **options))
    one = mc.reduce(
        psi, 5, method=start if isinstance(start, mc.Refine) else mc.Refine(start, **options)
    )
    assert several.history[-1] <= one.history[-1] * (1 + 1e-6)
    assert several.history[-1] < 0.999 * one.history[-1] or isinstance(start, mc.Refine)
    chi = several.expansion
    assert chi.kernel == mc.VariableWidthGaussian(1.0 / d, d)
    assert chi.points.shape == (5, d + 1)
    assert chi.points.dtype == chi.coef.dtype == dtype


def test_the_error_is_the_distance_in_the_space_and_the_values_are_sums_of_gaussians(
    global_random_seed,
):
    psi = _psi(global_random_seed, 2)
    answer = mc.reduce(psi, 4, method="variable_widths")
    chi = answer.expansion
    same = mc.Expansion(chi.kernel, psi.points, psi.coef)
    np.testing.assert_allclose(
        answer.relative_error, np.sqrt(mc.sqdist(same, chi, paired=True)) / psi.norms(), rtol=1e-6
    )
    X = np.random.default_rng(1).normal(size=(7, 2))
    distance = ((X[:, None] - chi.points[:, :2]) ** 2).sum(axis=2)
    np.testing.assert_allclose(
        chi(X), np.exp(-distance / (2 * chi.points[:, 2] ** 2)) @ chi.coef, rtol=1e-10
    )
    # smaller sets of the history have one width
    assert np.allclose(answer.at(2).expansion.points[:, 2], 1.0)


def test_many_dimensions_neither_overflow_nor_lose_points(global_random_seed):
    psi = _psi(global_random_seed, 200, n=40, m=1)
    answer = mc.reduce(psi, 6, method=mc.VariableWidths(max_iter=30))
    assert np.isfinite(answer.expansion.coef).all()
    assert np.count_nonzero(answer.expansion.coef) == 6
    assert answer.history[-1] <= mc.reduce(psi, 6, method="refine").history[-1] * (1 + 1e-6)


def test_with_as_many_vectors_as_points_psi_is_unchanged():
    psi = _psi(0, 2, n=5)
    assert mc.reduce(psi, 5, method=mc.VariableWidths()).expansion is psi
    target = Target(mc.VariableWidths().embed(psi))
    np.testing.assert_allclose(target.squares, psi.norms() ** 2, rtol=1e-12)


def test_sparse_points_give_the_same_reduced_set():
    psi = _psi(1, 3)
    sparse = mc.Expansion(psi.kernel, sp.csr_matrix(psi.points), psi.coef)
    dense, found = (mc.reduce(each, 3, method="variable_widths") for each in (psi, sparse))
    np.testing.assert_allclose(found.history, dense.history, rtol=1e-4)


@pytest.mark.parametrize(
    "model",
    [mc.SVC(kernel=mc.Gaussian(0.5)), mc.KernelRidge(kernel=mc.Gaussian(0.5)), mc.KernelPCA(2, kernel=mc.Gaussian(0.5)),
     mc.OneClassSVM(kernel=mc.Gaussian(0.5))], ids=lambda model: type(model).__name__,
)  # fmt: skip
def test_models_of_several_widths_predict_and_are_stored(model, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = (
        None
        if hasattr(model, "transform") or hasattr(model, "nu")
        else ((X**2).sum(axis=1) > 1.5).astype(float)
    )
    model = model.fit(X, y)
    small = mc.compress(model, X, y, n_vectors=6, method=mc.VariableWidths())
    answer = (
        small.transform
        if hasattr(small, "transform")
        else getattr(small, "decision_function", small.predict)
    )
    values = small.expansion_(X) + small.intercept_
    np.testing.assert_allclose(np.reshape(answer(X), values.shape), values, atol=1e-12)
    assert small.expansion_.points.shape == (6, 3)
    assert small.kernel == small.expansion_.kernel
    assert small.report_.relative_error.max() < 1
    mc.save(small, tmp_path / "model")
    loaded = mc.load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.expansion_(X) + loaded.intercept_, values)
    chi = mc.reduce(model.expansion_, 6, method=mc.VariableWidths()).expansion
    again = mc.from_expansion(chi, small.intercept_, like=model)
    np.testing.assert_allclose(again.expansion_(X) + again.intercept_, values, atol=1e-9)


def test_models_of_several_widths_are_compressed_again_and_have_gradients_and_distances(
    global_random_seed,
):
    X = np.random.default_rng(global_random_seed).normal(size=(80, 2))
    y = (X**2).sum(axis=1)
    model = mc.KernelRidge(kernel=mc.Gaussian(0.5), alpha=0.1).fit(X, y)
    small = mc.compress(model, X, y, n_vectors=8, method=mc.VariableWidths())
    psi, h = small.expansion_, 1e-6
    for k, step in enumerate(h * np.eye(2)):
        slope = (psi(X + step) - psi(X - step)) / (2 * h)
        np.testing.assert_allclose(psi.gradient(X)[:, :, k], slope, atol=1e-7)
    error = mc.sqdist(model.expansion_, psi, paired=True) ** 0.5 / model.expansion_.norms()
    np.testing.assert_allclose(error, small.report_.relative_error, rtol=1e-4)
    np.testing.assert_allclose(
        mc.sqdist(psi, model.expansion_), mc.sqdist(model.expansion_, psi).T, rtol=1e-9
    )
    # vectors that data move have the width of the kernel
    again = mc.compress(small, X, y, n_vectors=6, random_state=0)
    widths = mc.compress(small, n_vectors=6)
    assert again.expansion_.points.shape == (6, 2)
    assert widths.expansion_.points.shape == (6, 3)
    chosen = mc.reduce(psi, 6, method=mc.VariableWidths())
    np.testing.assert_array_equal(widths.expansion_.points, chosen.expansion.points)
    np.testing.assert_array_equal(mc.reduce(psi, 6).expansion.points, chosen.expansion.points)
    assert again.score(X, y) > 0.9
    assert widths.score(X, y) > 0.5


@pytest.mark.parametrize(("dtype", "rtol"), [(np.float64, 1e-9), (np.float32, 1e-3)])
def test_few_vectors_for_several_widths_fit_as_many_rows_as_few_vectors_for_all(
    dtype, rtol, global_random_seed
):
    X, y = make_moons(400, noise=0.2, random_state=global_random_seed)
    X = X.astype(dtype)
    whole = mc.SVC(10.0, kernel=mc.Gaussian("scale")).fit(X, y)
    model = mc.compress(whole, X, y, n_vectors=20, method=mc.VariableWidths())
    small = mc.compress(model, X, y, n_vectors=4, random_state=0)
    chi, psi = small.expansion_, model.expansion_
    assert chi.points.dtype == dtype
    assert chi.points.shape == (4, 2)
    assert small.score(X, y) > model.score(X, y) - 0.02
    # the difference is a vector of Gaussian functions, whose inner products are those of the formula of the class
    s, gamma = 0.5 / psi.kernel.gamma, chi.kernel.gamma
    Z = np.vstack([psi.points[:, :2], chi.points]).astype(float)
    c = np.concatenate([psi.coef, -chi.coef])[:, 0].astype(float)
    a = np.append(psi.points[:, 2].astype(float) ** 2, np.full(4, 0.5 / gamma))
    t = a[:, None] + a - s
    K = a[:, None] * a / (s * t) * np.exp(-cdist(Z, Z, "sqeuclidean") / (2 * t))
    own = slice(0, len(psi.points))
    error = np.sqrt(c @ K @ c / (c[own] @ K[own, own] @ c[own]))
    assert small.report_.relative_error[0] == pytest.approx(error, rel=rtol)


def test_the_mean_of_components_of_several_widths_is_projected_onto_few_vectors(global_random_seed):
    X = np.random.default_rng(global_random_seed).normal(size=(60, 2))
    whole = mc.KernelPCA(2, kernel=mc.Gaussian(0.5)).fit(X)
    model = mc.compress(whole, X, n_vectors=12, method=mc.VariableWidths())
    small = mc.compress(model, X, n_vectors=8, random_state=0)
    span = mc.features(small.kernel_, small.expansion_.points)
    np.testing.assert_allclose(
        span.inner(small.mean_)[:, 0], model.mean_(span.points)[:, 0], atol=1e-8
    )
    assert small.transform(X) == pytest.approx(model.transform(X), abs=0.1)


def test_each_classifier_may_have_its_own_points_and_widths():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = np.digitize((X**2).sum(axis=1), [0.8, 2.2])
    model = mc.SVC(kernel=mc.Gaussian(0.5), multi_class="ovr").fit(X, y)
    few = int(np.count_nonzero(model.expansion_.coef, axis=0).min())
    small = mc.compress(
        model, X, y, n_vectors=few, method=mc.VariableWidths(max_iter=5), shared=False
    )
    # the column with the fewest vectors is kept, over points of the width of the kernel
    assert small.expansion_.points.shape[1] == 3
    assert small.report_.relative_error.min() < 1e-6


@pytest.mark.parametrize(
    ("kernel", "message"),
    [
        (mc.Laplacian(1.0), "VariableWidths needs a Gaussian kernel, got Laplacian"),
        (mc.Linear(), "use method='refine'"),
    ],
)
def test_other_kernels_are_refused(kernel, message):
    psi = mc.features(kernel, np.eye(3)) @ np.ones(3)
    with pytest.raises(TypeError, match=message):
        mc.reduce(psi, 2, method=mc.VariableWidths())
    with pytest.raises(TypeError, match="must be a record such as"):
        mc.VariableWidths(start="construct")
    with pytest.raises(ValueError, match="max_iter = 0 must be at least 1"):
        mc.VariableWidths(max_iter=0)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_sets_before_the_last_are_those_of_refine_in_both_types(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, coef = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    psi = mc.Expansion(mc.Gaussian(0.7), X.astype(dtype), coef.astype(dtype))
    one, several = (
        mc.reduce(psi, 3, method=method)
        for method in (mc.Refine(max_iter=200), mc.VariableWidths())
    )
    np.testing.assert_allclose(several.history[:-1], one.history[:-1], rtol=1e-5)
    assert several.history[-1] <= one.history[-1] * (1 + 1e-6)
