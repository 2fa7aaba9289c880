"""Problems without error or with huge bounds: hard margins and tubes, evidence that none exists, narrow valleys."""

import numpy as np
import pytest
from tests.solvers.svm import oracle
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_feasible,
    classifier,
    noisy_classes,
    regression,
    solved,
)

import mercer as mc
from mercer.solvers.svm import Infeasible

LINEAR = mc.Linear()

# --- hard margins -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("copies", [1, 60], ids=["few", "many"])
def test_a_corner_is_nearest_to_the_middle_of_an_edge(dtype, copies):
    # rows of the two classes mixed
    X = np.array([[2.0, 0.0], [0.0, 1.0], [5.0, 1.0], [0.0, -1.0], [-3.0, 0.0], [4.0, -2.0]], dtype)
    sign = np.tile([1.0, -1.0, 1.0, -1.0, -1.0, 1.0], copies)
    found = solved(LINEAR, np.tile(X, (copies, 1)), classifier(sign, np.inf), 1e-6, np.inf)
    # |w|^2 = 4 = 2 margin: w is 2, then 1 in units of the margin
    np.testing.assert_allclose(
        found.coef.reshape(copies, 6).sum(axis=0), [0.5, -0.25, 0, -0.25, 0, 0], atol=1e-9
    )
    np.testing.assert_allclose(found.gradient[:6], sign[:6] - X @ [1.0, 0.0], atol=1e-9)
    np.testing.assert_allclose([*found.bias, found.certificate.primal], [-1, 0.5], rtol=1e-9)


@pytest.mark.parametrize("n", [12, 40])
def test_classes_that_meet_are_refused_with_two_means_that_are_equal(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((n, 2))
    sign = np.tile([1.0, -1.0], n // 2)
    with pytest.raises(Infeasible) as caught:
        solved(LINEAR, X, classifier(sign, np.inf), 1e-6)
    evidence, numbers = caught.value.coef, caught.value.numbers
    np.testing.assert_allclose(
        [evidence[sign > 0].sum(), evidence[sign < 0].sum()], [1, -1], rtol=1e-12
    )
    assert (sign * evidence >= 0).all()
    assert np.linalg.norm(evidence @ X) <= 1e-4
    assert numbers["distance"] <= 1e-4 * numbers["unit"]
    # the unit is the distance of the classes' means
    means = [X[sign == label].mean(axis=0) for label in (1, -1)]
    assert numbers["unit"] == pytest.approx(np.linalg.norm(means[0] - means[1]), rel=1e-9)


@pytest.mark.parametrize("share", [0.01, 0.001])
def test_a_narrow_margin_is_no_contradiction(share, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X, sign = rng.uniform(-1, 1, (200, 2)), np.repeat([1.0, -1.0], 100)
    X[:, 0] = sign * (share + np.abs(X[:, 0]))
    # the margin is met
    X[[0, 150], 0] = share, -share
    found = solved(LINEAR, X, classifier(sign, np.inf), 1e-8)
    assert (sign * (LINEAR(X) @ found.coef + found.bias) >= 1 - 1e-6).all()
    assert found.certificate.primal == pytest.approx(found.certificate.dual, rel=1e-6)


# --- hard tubes -------------------------------------------------------------------------------------------------------


def test_a_line_through_two_points_within_epsilon_is_as_flat_as_it_can_be():
    # targets 0 and 4 at 0 and 2, epsilon 1: from 1 to 3
    found = solved(LINEAR, np.array([[0.0], [2.0]]), regression([0.0, 4.0], np.inf, 1.0), 1e-10)
    np.testing.assert_allclose(found.coef, [-0.5, 0.5], atol=1e-10)
    np.testing.assert_allclose(found.bias, 1.0, atol=1e-10)


@pytest.mark.parametrize("n", [30, 300])
def test_the_tube_is_that_of_a_large_C(n, global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((n, 2))
    y, kernel = np.sin(X[:, 0]), mc.Gaussian(5.0)
    hard, large = (solved(kernel, X, regression(y, C, 0.05), 1e-10) for C in (np.inf, 1e6))
    np.testing.assert_allclose(hard.gradient, large.gradient, atol=1e-7)
    assert hard.certificate.dual == pytest.approx(large.certificate.dual, rel=1e-9)
    assert (np.abs(y - kernel(X) @ hard.coef - hard.bias) <= 0.05 + 1e-8).all()


def test_coefficients_far_above_the_span_of_the_targets_are_found():
    # a point that bends the line: the optimum of the oracle
    X, y = np.arange(4.0)[:, None], np.array([0.0, 0.0, 0.0, 1.0])
    dual, kernel = regression(y, np.inf, 0.0), mc.Gaussian(0.01)
    best, found = oracle.optimum(dual, kernel(X)), solved(kernel, X, dual, 1e-6)
    assert np.abs(found.coef).max() > 1e3
    np.testing.assert_allclose(found.coef, best.coef.astype(float), rtol=1e-6)


def test_two_targets_of_one_point_are_the_evidence_that_no_function_is_within():
    dual = regression([0.0, 0.0, 3.0], np.inf, 1.0)
    with pytest.raises(Infeasible) as caught:
        solved(LINEAR, np.array([[0.0], [1.0], [1.0]]), dual, 1e-10)
    numbers = caught.value.numbers
    assert np.sign(caught.value.coef).tolist() == [0, -1, 1]
    np.testing.assert_allclose(numbers["difference"], 3.0)
    assert numbers["distance"] < 1e-6
    # the spread of the points is sqrt(2) / 3
    np.testing.assert_allclose(numbers["unit"], 3 / (np.sqrt(2) / 3))
    # every function within has |w| >= (difference - 2 epsilon) / distance
    np.testing.assert_allclose(numbers["needed"], (3.0 - 2.0) / numbers["distance"], rtol=1e-6)


def test_a_tube_that_steps_do_not_reach_is_reported_as_such():
    found = solved(
        LINEAR,
        np.array([[0.0], [1.0], [1.0]]),
        regression([0.0, 0.0, 3.0], np.inf, 1.0),
        1e-10,
        max_iter=0,
    )
    assert found.violation > 1e-10


# --- huge bounds and steep valleys ------------------------------------------------------------------------------------


@pytest.mark.parametrize("C", [1e3, 1e6])
def test_huge_bounds_that_are_met_leave_the_optimum_certified(C, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 100)
    # no function separates equal points
    X[::2] = X[1::2]
    dual = classifier(sign, C)
    found = solved(GAUSSIAN, X, dual, 1e-3)
    assert_feasible(dual, found.coef)
    assert found.violation <= 1e-3
    assert found.certificate.gap <= 0.01 * found.certificate.primal
    best = oracle.optimum(dual, GAUSSIAN(X)) if C < 1e4 else None
    if best is not None:
        assert found.certificate.dual == pytest.approx(best.value, rel=1e-6)


@pytest.fixture
def valley():
    """A quadratic loss on features that differ by six orders of magnitude: pairs hardly move, a Newton step does."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4)) * [1e3, 1e2, 1.0, 1e-3]
    y = np.sin(X[:, 2]) + 0.1 * rng.standard_normal(60)
    return X, regression(y, 1e4, 0.0, ridge=np.full(60, 0.1))


def test_where_steps_over_pairs_stall_the_solution_is_that_of_the_linear_system(valley):
    X, dual = valley
    found = solved(LINEAR, X, dual, 1e-3)
    system = np.ones((61, 61))
    system[:60, :60], system[60, 60] = LINEAR(X) + 0.1 * np.eye(60), 0
    solution = np.linalg.solve(system, np.append(dual.target, 0))
    assert found.violation < 1e-6
    assert found.n_iter < 10**6
    np.testing.assert_allclose(found.coef, solution[:-1], atol=1e-4)


def test_a_limit_of_steps_is_kept_and_no_newton_step_taken_beyond_it(valley):
    X, dual = valley
    # as a polynomial: the normal of the linear kernel is found in fewer steps
    found = solved(mc.Polynomial(1, 1.0, 0.0), X, dual, 1e-3, max_iter=50)
    assert found.n_iter == 50
    assert found.violation > 1e-3


def test_rounds_that_gain_nothing_end_with_the_number():
    # kernel values of 1e12 are rounded by as much as the ridge: the gradient is not known to this tolerance
    rng = np.random.default_rng(0)
    X = 100 * rng.standard_normal((80, 2))
    dual = regression(rng.standard_normal(80), 1e3, 0.0, ridge=np.full(80, 0.2))
    found = solved(mc.Polynomial(3, 0.5, 0.0), X, dual, 1e-9, max_iter=2 * 10**6)
    assert found.n_iter < 2 * 10**6
    assert found.violation > 1e-9


def test_rounds_end_where_rounding_moves_the_objective_more_than_they_do():
    # kernel values of 1e16 are rounded by 2, and the optimum is below 1
    rng = np.random.default_rng(0)
    X = 1e5 * rng.standard_normal((40, 2)) + 1e8
    dual = classifier(np.where(rng.random(40) < 0.5, -1.0, 1.0), 3.0)
    found = solved(LINEAR, X, dual, 1e-3, max_iter=10**7)
    assert found.n_iter < 10**6
    assert found.violation > 1e-3
    # about the mean there is no rounding
    assert solved(LINEAR, X - X.mean(axis=0), dual, 1e-3, max_iter=10**7).violation <= 1e-3


@pytest.mark.parametrize(
    "kernel", [mc.Polynomial(2, 1.0, 1.0), mc.Polynomial(3, 1.0, 1.0), LINEAR], ids=str
)
@pytest.mark.parametrize("C", [1e2, 1e5])
def test_kernel_matrices_of_small_rank_are_solved_at_large_bounds(kernel, C, global_random_seed):
    # two features: at most ten eigenvalues above rounding
    rng = np.random.default_rng(global_random_seed)
    X = rng.uniform(-3, 3, (200, 2))
    dual = classifier(np.where(X[:, 0] + 0.5 * rng.standard_normal(200) > 0, 1.0, -1.0), C)
    found = solved(kernel, X, dual, 1e-3)
    assert_feasible(dual, found.coef)
    assert found.violation <= 1e-3
    assert (
        oracle.violation(dual, found.coef, kernel(X))
        <= 1.1e-3 + 1e-13 * C * np.abs(kernel(X)).max()
    )
    assert found.certificate.gap <= 0.01 * found.certificate.primal


@pytest.mark.parametrize("memory", ["1GB", "200KB"], ids=["small", "large"])
@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_kernels_without_a_diagonal_have_the_optimum_of_their_sum_with_a_constant(
    beta, memory, global_random_seed
):
    # k(x, x) = 0: only with a constant is the matrix definite, which changes no function of coefficients of sum 0
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((200, 2))
    y = rng.random(200) < 0.5
    kernel = mc.PowerDistance(beta)
    found, other = (
        mc.certify(mc.SVC(1e6, kernel=each, memory=memory).fit(X, y), X, y)
        for each in (kernel, kernel + mc.Constant(10.0))
    )
    assert found.gap <= 1e-5 * found.primal
    assert found.primal == pytest.approx(other.primal, rel=1e-5)


@pytest.mark.parametrize("beta", [0.5, 1.0])
def test_two_sums_of_a_kernel_without_a_diagonal_end_at_the_optimum(beta, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.standard_normal((200, 2))
    y = rng.random(200) < 0.5
    found = mc.certify(mc.NuSVC(0.1, kernel=mc.PowerDistance(beta)).fit(X, y), X, y)
    assert found.gap <= 1e-8 * found.primal
