from types import SimpleNamespace

import numpy as np
import pytest
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.workspace import Workspace
from scipy.optimize import LinearConstraint, minimize

import mercer as mc
from mercer.solvers.svm import decomposition
from mercer.solvers.svm.dual import Dual
from mercer.solvers.svm.rows import rows_of


def _solve(kernel, X, dual, tol=1e-10, values=None, max_iter=10**6, **options):
    rows = rows_of(kernel, X, 0.0)
    buffer = np.empty(len(dual.target) * 1024 if values is None else values, rows.dtype)
    return solve(rows, dual, Workspace(tol, max_iter, buffer, **options))


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((60, 3))


def _classifier(points, C=1.0):
    y = np.where(points[:, 0] + 0.5 * points[:, 1] ** 2 > 0.3, 1.0, -1.0)
    n = len(y)
    return Dual(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n), np.arange(n))


def _one_class(points, nu=0.2):
    n = len(points)
    upper = np.full(n, 1 / (nu * n))
    return Dual(np.zeros(n), np.zeros(n), upper, np.full(n, 1 / n), np.arange(n))


def _regression(points, epsilon=0.1, C=2.0):
    y, n = np.sin(points[:, 0]), len(points)
    return Dual(y, np.full(n, -C), np.full(n, C), np.zeros(n), np.arange(n), epsilon)


def _ball(points, C=0.1):
    n = len(points)
    return Dual(np.full(n, 0.5), np.zeros(n), np.full(n, C), np.full(n, 1 / n), np.arange(n))


@pytest.mark.parametrize("make", [_classifier, _one_class, _regression, _ball])
def test_every_member_of_the_family_reaches_the_optimum_of_a_general_solver(points, make):
    kernel, dual = mc.Gaussian(0.5), make(points)
    K = kernel(points)[np.ix_(dual.points, dual.points)]
    solution = _solve(kernel, points, dual)
    # the parts above and below 0 apart, so that epsilon is linear in them
    n, start = len(dual.target), np.concatenate([np.maximum(dual.coef, 0), np.maximum(-dual.coef, 0)])
    bounds = np.concatenate([np.maximum(dual.upper, 0), np.maximum(-dual.lower, 0)])

    def objective(parts):
        b = parts[:n] - parts[n:]
        return 0.5 * b @ K @ b - dual.target @ b + dual.epsilon * parts.sum()

    def slope(parts):
        g = K @ (parts[:n] - parts[n:]) - dual.target
        return np.concatenate([g, -g]) + dual.epsilon

    sign = np.repeat([1.0, -1.0], n)
    reference = minimize(
        objective,
        start,
        jac=slope,
        bounds=[(0, bound) for bound in bounds],
        constraints=LinearConstraint(sign, dual.coef.sum(), dual.coef.sum()),
        method="SLSQP",
        options={"maxiter": 1000, "ftol": 1e-13},
    )
    ours = objective(np.concatenate([np.maximum(solution.coef, 0), np.maximum(-solution.coef, 0)]))
    assert ours <= reference.fun + 1e-9 * abs(reference.fun)
    assert solution.violation <= 1e-10
    assert abs(solution.coef.sum() - dual.coef.sum()) < 1e-10
    assert ((solution.coef >= dual.lower) & (solution.coef <= dual.upper)).all()


def test_the_gradient_is_that_of_the_coefficients(points):
    kernel, dual = mc.Gaussian(0.5), _classifier(points)
    solution = _solve(kernel, points, dual)
    np.testing.assert_allclose(solution.gradient, dual.target - kernel(points) @ solution.coef, atol=1e-11)


def test_sweeps_over_parts_reach_the_same_optimum(global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((2000, 4))
    kernel, dual = mc.Gaussian(0.3), _classifier(X)
    whole = _solve(kernel, X, dual, tol=1e-6, values=2048 * 2000)
    parts = _solve(kernel, X, dual, tol=1e-6, values=600 * 768)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=2e-5)
    assert parts.violation <= 1e-6


def test_a_solution_is_a_start_that_nothing_improves(points):
    kernel, dual = mc.Gaussian(0.5), _classifier(points)
    solution = _solve(kernel, points, dual, tol=1e-8)
    again = _solve(kernel, points, Dual(dual.target, dual.lower, dual.upper, solution.coef, dual.points), tol=1e-7)
    assert again.n_iter == 0
    assert (again.coef == solution.coef).all()


def test_the_bound_on_steps_is_kept_to_the_step(points):
    solution = _solve(mc.Gaussian(0.5), points, _classifier(points), max_iter=7)
    assert solution.n_iter == 7
    assert solution.violation > 1e-10


def test_a_callback_that_returns_true_stops_the_solver(global_random_seed):
    X, seen = np.random.default_rng(global_random_seed).standard_normal((600, 3)), []
    dual = _classifier(X, C=1e4)
    solution = _solve(mc.Gaussian(0.5), X, dual, callback=lambda violation: seen.append(violation) or True)
    assert len(seen) == 1
    assert solution.violation > 1e-10


def test_an_indefinite_kernel_ends(points):
    solution = _solve(mc.Sigmoid(2.0, -1.0), points, _classifier(points, C=10.0), tol=1e-3)
    assert np.isfinite(solution.coef).all()
    assert np.isfinite(solution.violation)


@pytest.mark.parametrize("values", [16 * 256, 40 * 256, 300 * 256, 1000 * 1024])
def test_the_optimum_does_not_depend_on_the_memory(global_random_seed, values):
    X = np.random.default_rng(global_random_seed).standard_normal((1000, 4))
    dual = _classifier(X, C=5.0)
    whole = _solve(mc.Gaussian(0.5), X, dual, tol=1e-6)
    solution = _solve(mc.Gaussian(0.5), X, dual, tol=1e-6, values=values)
    assert solution.violation <= 1e-6
    objectives = [each.coef @ (dual.target + each.gradient) for each in (whole, solution)]
    assert objectives[1] == pytest.approx(objectives[0], rel=1e-8)


def test_more_free_variables_than_a_sweep_holds_take_few_sweeps(global_random_seed, caplog):
    X = np.random.default_rng(global_random_seed).standard_normal((2000, 12))
    # kernel values are small off the diagonal, so that hardly any variable meets a bound
    dual = _classifier(X, C=10.0)
    with caplog.at_level("DEBUG", logger="mercer"):
        solution = _solve(mc.Gaussian(1.0), X, dual, tol=1e-3, values=500 * 512)
    assert solution.violation <= 1e-3
    assert np.count_nonzero((solution.coef > dual.lower) & (solution.coef < dual.upper)) > 1900
    # ten at a time they were thousands
    assert sum("smo:" in record.message for record in caplog.records) < 60


def test_more_violating_variables_than_a_sweep_holds_take_few_sweeps(global_random_seed, caplog):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((3000, 4))
    y = np.where(X[:, 0] + rng.standard_normal(3000) > 0, 1.0, -1.0)
    dual = Dual(y, np.minimum(0, 5 * y), np.maximum(0, 5 * y), np.zeros(3000), np.arange(3000))
    with caplog.at_level("DEBUG", logger="mercer"):
        solution = _solve(mc.Gaussian(0.5), X, dual, tol=1e-3, values=320**2)
    assert solution.violation <= 1e-3
    # 260 to 430 for the ones that violate most
    assert sum("smo:" in record.message for record in caplog.records) < 100


def test_memory_for_less_than_a_few_rows_is_refused(points):
    with pytest.raises(ValueError, match="the buffer holds 1023 kernel values; it must hold at least 1024"):
        _solve(mc.Gaussian(0.5), points, _classifier(points), values=1023)


# --- the variables of a sweep -----------------------------------------------------------------------------------------


def _mixed():
    """Return a state of 400 variables: 100 free, 60 that should rise, 240 at rest, in this order."""
    order = np.arange(400)
    gradient = np.where(order < 100, order * 1e-6, np.where(order < 160, 1 + order * 1e-2, -1 - order * 1e-2))
    coef = np.where(order < 100, 0.5, 0.0)
    dual = Dual(gradient, np.zeros(400), np.ones(400), coef, order)
    rng = np.random.default_rng(0)
    return SimpleNamespace(coef=coef, gradient=gradient, dual=dual, bias=0.0, violation=2.59, rng=rng)


@pytest.mark.parametrize(
    ("largest", "least", "size", "covered"),
    # the 110 that are wanted are six lanes
    [(400, 0, 96, False), (200, 150, 150, True), (400, 144, 144, False), (100, 192, 100, False)],
)
def test_of_many_that_violate_or_are_free_a_sweep_takes_some_by_chance(monkeypatch, largest, least, size, covered):
    monkeypatch.setattr(decomposition, "_FIRST", 64)
    state, times = _mixed(), np.zeros(400)
    for _ in range(200):
        chosen, nearly_all = decomposition._choose(state, largest, least)
        assert nearly_all == covered
        assert len(chosen) == size
        assert (np.diff(chosen) > 0).all()
        times[chosen] += 1
    # the pair that violates most takes part in every sweep, what is at rest in none
    assert times[159] == times[0] == 200
    assert not times[160:].any()
    assert times[:160].min() > 0
    # free variables hardly violate
    assert times[100:160].mean() > 1.1 * times[:100].mean()


def test_a_sweep_over_more_than_violate_or_are_free_takes_the_nearest_of_those_at_rest(monkeypatch):
    monkeypatch.setattr(decomposition, "_FIRST", 64)
    chosen, nearly_all = decomposition._choose(_mixed(), 400, 192)
    np.testing.assert_array_equal(chosen, range(192))
    assert nearly_all


def test_all_variables_are_taken_if_they_are_few_and_an_even_sample_if_nothing_is_known(monkeypatch):
    state = _mixed()
    for first, largest, whole in ((200, 400, True), (199, 400, False), (200, 399, False)):
        monkeypatch.setattr(decomposition, "_FIRST", first)
        for bias in (0.0, None):
            state.bias = bias
            chosen, covered = decomposition._choose(state, largest, 0)
            assert (len(chosen) == 400) == whole
            if whole:
                assert covered
            elif bias is None:
                np.testing.assert_array_equal(chosen, np.linspace(0, 399, first).astype(int))
                assert not covered
    assert len(decomposition._choose(state, 50, 0)[0]) == 50


@pytest.mark.parametrize(
    ("n", "values", "largest"),
    [(1000, 1000 * 1008, 1000), (5000, 5000 * 5008, 5000), (1000, 300 * 256, 272), (1000, 89_000, 288), (1000, 10, 16)],
)
def test_sweeps_have_about_as_many_rows_as_columns_of_the_memory(n, values, largest):
    assert decomposition._largest_sweep(n, values) == largest


@pytest.mark.parametrize(
    ("part", "covered", "adjusted", "aim"),
    [
        (False, False, False, 0.2),
        (False, True, False, 0.02),
        (False, True, True, 0.2),
        (True, True, True, 0.2),
        (True, True, False, 1e-3),
    ],
)
def test_a_sweep_ends_at_a_share_of_the_violation(points, monkeypatch, part, covered, adjusted, aim):
    aims, dual = [], _classifier(points)

    class Recorded(decomposition.Sweep):
        def run(self, tol, max_iter, *, dense):
            aims.append(tol)
            return 0, False

    monkeypatch.setattr(decomposition, "Sweep", Recorded)
    monkeypatch.setattr(decomposition, "_choose", lambda *_: (np.arange(60 if part else 50), covered))
    for tol in (1e-3, 0.15):
        rows = rows_of(mc.Gaussian(0.5), points, 0.0)
        workspace = Workspace(tol, 10**6, np.empty(60 * 1024))
        # nothing moves in the first sweep, which is the last one then
        assert solve(rows, dual, workspace, (lambda dual, _: dual.epsilon) if adjusted else None).violation == 2
    # an aim just above the tolerance is lowered
    assert aims == pytest.approx([aim, 0.15 if aim == 1e-3 else 0.075])


def test_epsilon_is_adjusted_until_it_stays_or_the_violation_exceeds_the_tolerance(points):
    dual = _regression(points, epsilon=10.0)
    state, asked = decomposition._State(rows_of(mc.Gaussian(0.5), points, 0.0), dual, None), []

    def answers(*values):
        left = iter(values)
        return lambda dual, solution: asked.append((dual.epsilon, solution.epsilon)) or next(left)

    state.adjust(answers(5.0, 4.0, 4.0), 1e-3)
    assert asked == [(10.0, 10.0), (5.0, 5.0), (4.0, 4.0)]
    # nothing is within 0.1 of a constant
    state.adjust(answers(0.1, 0.05), 1e-3)
    assert state.dual.epsilon == 0.1
    assert state.violation == pytest.approx(np.ptp(dual.target) - 0.2)
