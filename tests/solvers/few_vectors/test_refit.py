"""refit: few vectors are recovered, and outputs count less than labels only if held-out rows show fewer errors."""

import numpy as np
import pytest
from tests.solvers.few_vectors.fitting import exact, problem

import mercer as mc
from mercer.solvers.few_vectors import refit as module
from mercer.solvers.few_vectors.objective import Objective, Rows
from mercer.solvers.few_vectors.refit import Effort, Limits, refit

COSTS = {
    "plain": mc.Gaussian(1.0),
    "twice": 2 * mc.Gaussian(1.0) + mc.Linear(),
    "local": mc.Local(mc.Polynomial(2), (3, 3), 3) ** 2,
    "coordinatewise": mc.Normalized(mc.Laplacian(1.0)),
}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_vectors_of_given_outputs_are_recovered(dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-1, 1, size=(400, 2)).astype(dtype)
    Z, B = np.array([[0.5, 0.5], [-0.5, 0.3], [0.1, -0.6]]), rng.normal(size=(3, 2)) + 2
    kernel = mc.Gaussian(2.0)
    F = kernel(X.astype(float), Z) @ B + 0.3
    found = refit(kernel, Z + 0.1 * rng.normal(size=Z.shape), Rows(X, F))
    S = kernel(X.astype(float), found.points) @ found.coef + found.intercept
    assert np.abs(S - F).max() < 2e-3 * np.abs(F).max()


def test_the_units_of_the_outputs_change_only_the_coefficients(global_random_seed):
    _, X, F, _, Z, _ = problem(global_random_seed)
    plain = refit(mc.Gaussian(0.3), Z, Rows(X, F), effort=Effort(passes=(5, 0)))
    scaled = refit(
        mc.Gaussian(0.3), Z, Rows(X, F * 64, scale=np.full(2, 64.0)), effort=Effort(passes=(5, 0))
    )
    np.testing.assert_array_equal(plain.points, scaled.points)
    np.testing.assert_allclose(64 * plain.coef, scaled.coef, rtol=1e-12)


def test_without_passes_the_points_stay_and_the_coefficients_are_the_best():
    _, X, F, _, Z, _ = problem(0)
    found = refit(mc.Gaussian(0.3), Z, Rows(X, F), effort=Effort(passes=(0, 0)))
    np.testing.assert_array_equal(found.points, Z)
    _, B = exact(mc.Gaussian(0.3), X, F, Z, 0.0)
    np.testing.assert_allclose(np.vstack([found.coef, found.intercept]), B, rtol=1e-4, atol=1e-5)


def _points(start, rows):
    return refit(
        mc.Gaussian(1.0), start, rows, effort=Effort(passes=(10, 128)), random_state=0
    ).points


def test_kernels_that_take_longer_get_fewer_passes(monkeypatch):
    for name in ("_FIRST", "_SECOND"):
        monkeypatch.setattr(module, name, Limits(120, 16, 6e5))
    X, start = np.random.default_rng(0).random((100, 9)), np.zeros((5, 9))
    part = {
        name: Objective(kernel, Rows(X, X[:, :1], labels=np.ones((100, 1))))
        for name, kernel in COSTS.items()
    }
    found = {
        name: module._affordable(each, each, start.shape, Effort(longest=1))
        for name, each in part.items()
    }
    # 500 values of 2 * 9 multiplications each, and those of the coefficients
    assert found["plain"] == (int(6e5 / (500 * (18 + 3))), int(6e5 / (500 * (18 + 3))))
    assert found["twice"] == (int(6e5 / (500 * (36 + 3))), int(6e5 / (500 * (36 + 3))))
    assert found["local"] == found["coordinatewise"] == (16, 16)


def test_short_passes_are_up_to_five_times_as_many():
    # 500 values of 18 + 5 + 3 multiplications, or 4e5 times as many
    limits = Limits(120, 16, 3.4e11)
    assert limits.passes(500, 26, module.LONGEST) == 600
    assert limits.passes(5e5, 60, module.LONGEST) == int(1e10 / 3e7)
    assert limits.passes(2e8, 26, module.LONGEST) == 120


def test_only_the_first_of_two_descents_has_fewer_rows():
    assert module._drawn(30_000, 10, False, 0) == slice(None)
    assert len(set(module._drawn(30_000, 10, True, 0))) == 10_000
    assert module._drawn(8192, 10, True, 0) == slice(None)


def test_fits_over_few_rows_may_take_five_times_as_many_passes():
    X, most = np.linspace(-1, 1, 20)[:, None], []
    rows = Rows(X, mc.Gaussian(1.0)(X, X[:1]))
    for effort in (Effort(longest=1.0), Effort()):
        refit(mc.Gaussian(1.0), X[:1], rows, effort=effort, callback=lambda _, k: most.append(k))
    assert sorted(set(most)) == [300, 1500]
    # two and a half pairs of rows for each of four coordinates
    refit(mc.Gaussian(1.0), X[:4], rows, callback=lambda _, k: most.append(k))
    assert most[-1] == 750


def test_outputs_far_from_the_boundary_are_missed_where_that_lowers_held_out_errors(
    limits, global_random_seed
):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-3, 3, size=(4000, 2))
    U = np.where(np.sum(X**2, axis=1, keepdims=True) < 3, 1.0, -1.0)
    # outputs with the right signs and a peak on one half of the disc: one vector fits the peak or the disc
    problem = np.array([[0.1, 0.2]]), Rows(X, np.where((X[:, :1] > 0) & (U > 0), 10.0, U), labels=U)
    selected = _points(*problem)
    limits(standard_errors=-1e9)
    low = _points(*problem)
    np.testing.assert_array_equal(selected, low)


def test_outputs_that_few_vectors_can_meet_are_kept(limits, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-3, 3, size=(600, 2))
    Z, F = X[:8], 5 * mc.Gaussian(1.0)(X, X[:8]) @ rng.normal(size=(8, 1))
    outside = np.abs(F[:, 0]) > 1
    problem = Z, Rows(X[outside], F[outside], labels=np.sign(F[outside]))
    selected = _points(*problem)
    limits(standard_errors=1e9)
    first = _points(*problem)
    np.testing.assert_array_equal(selected, first)


def test_copies_of_a_row_are_held_out_together():
    held = module._held_out(30, 3, 0).reshape(3, 10)
    assert (held == held[0]).all()
    assert held[0].sum() == 5


@pytest.mark.parametrize("kernel", [mc.Chi2(0.5), mc.Intersection()], ids=repr)
@pytest.mark.parametrize("labelled", [False, True])
def test_points_of_kernels_of_histograms_stay_non_negative(kernel, labelled, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = np.maximum(rng.normal(size=(80, 5)), 0)
    F = kernel(X, X[:30]) @ rng.normal(size=(30, 1))
    F -= F.mean()
    start = X[:4] - 1e-17
    rows = Rows(X, F, labels=np.sign(F) if labelled else None)
    found = refit(kernel, start, rows)
    still = refit(kernel, start, rows, effort=Effort(passes=(0, 0)))
    assert found.points.min() >= 0

    def missed(answer):
        return np.square(F - kernel(X, answer.points) @ answer.coef - answer.intercept).sum()

    assert labelled or missed(found) < missed(still)


def test_a_large_mean_of_the_outputs_changes_only_the_intercept(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, kernel = rng.normal(size=(300, 2)), mc.Gaussian(0.5)
    F = np.sin(2 * X[:, :1]) + X[:, 1:] ** 2
    # rounding decides which local minimum a start reaches
    near, far = (
        [
            np.std(kernel(X, fit.points) @ fit.coef - F)
            for fit in (
                refit(kernel, X[k : k + 8], Rows(X, F + mean), random_state=0) for k in (0, 8, 16)
            )
        ]
        for mean in (0.0, 2.0**23)
    )
    assert min(far) < 1.1 * max(near)
