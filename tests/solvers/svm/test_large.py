"""Problems whose kernel values memory does not hold: the same optimum, few steps more, starts from parts."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.solvers.svm.duals import (
    GAUSSIAN,
    assert_feasible,
    assert_optimal,
    classifier,
    noisy_classes,
    noisy_curve,
    regression,
    solved,
    sum_of_one,
)

import mercer as mc

# the least memory that is used: 16 384 values in float64
LEAST = 140_000
KERNELS = [
    mc.Matern(1.0),
    mc.Polynomial(2, 0.5, 1.0),
    mc.Gaussian(0.1) + mc.Linear(),
    mc.Laplacian(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=str)
def test_rows_that_come_and_go_are_those_of_any_kernel(kernel, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 400)
    dual = classifier(sign, np.linspace(0.5, 1.5, 400))
    found = solved(kernel, X, dual, 1e-6, memory=LEAST)
    assert_optimal(dual, found, kernel(X), 1e-6, rounding=1e-9)


@pytest.mark.parametrize(
    "kind", ["classifier", "regression", "one class", "ball", "squared loss", "hard tube"]
)
def test_every_machine_has_its_optimum_with_little_memory(kind, global_random_seed):
    n = 350
    X, y = noisy_curve(global_random_seed, n)
    dual = {
        "classifier": lambda: classifier(np.sign(y), 3.0),
        "regression": lambda: regression(y, 1.0, 0.1),
        "one class": lambda: sum_of_one(np.zeros(n), 1 / (0.3 * n)),
        "ball": lambda: sum_of_one(np.full(n, 0.5), 0.01),
        "squared loss": lambda: regression(y, np.inf, 0.1, ridge=np.ones(n)),
        "hard tube": lambda: regression(np.sin(X[:, 0]), np.inf, 0.2),
    }[kind]()
    found = solved(GAUSSIAN, X, dual, 1e-6, memory=LEAST)
    if kind == "hard tube":
        assert (np.abs(dual.target - GAUSSIAN(X) @ found.coef - found.bias) <= 0.2 + 1e-5).all()
        assert found.certificate.gap <= 1e-4 * found.certificate.primal
    else:
        assert_optimal(dual, found, GAUSSIAN(X), 1e-6, rounding=1e-9)


@pytest.mark.parametrize("memory", [LEAST, 400_000, 2_000_000])
def test_the_optimum_does_not_depend_on_the_memory(memory, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 700, d=4)
    whole, parts = (
        solved(GAUSSIAN, X, classifier(sign, 5.0), 1e-6, memory=each) for each in ("1GB", memory)
    )
    assert parts.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-9)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=2e-5)
    np.testing.assert_allclose(parts.gradient, sign - GAUSSIAN(X) @ parts.coef, atol=1e-9)
    assert parts.violation <= 1e-6


@pytest.mark.parametrize(
    ("d", "noise", "C", "gamma", "memory"),
    # nearly all variables are free, or many violate: more than are solved for together
    [(12, 0.3, 10.0, 1.0, 500_000), (4, 1.0, 5.0, 0.5, 250_000)],
    ids=["free", "violating"],
)
def test_little_memory_takes_at_most_a_few_times_the_steps(
    d, noise, C, gamma, memory, global_random_seed
):
    X, sign = noisy_classes(global_random_seed, 1000, d, noise)
    dual = classifier(sign, C)
    whole, parts = (
        solved(mc.Gaussian(gamma), X, dual, 1e-3, np.inf, memory=each) for each in ("1GB", memory)
    )
    assert parts.violation <= 1e-3
    assert parts.n_iter <= 5 * whole.n_iter
    assert parts.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-4)


@pytest.mark.parametrize("memory", ["1GB", LEAST])
def test_a_solution_is_a_start_that_nothing_improves(memory, global_random_seed):
    X, sign = noisy_classes(global_random_seed, 300)
    dual = classifier(sign, 2.0)
    best = solved(GAUSSIAN, X, dual, 1e-8, memory=memory)
    again = solved(GAUSSIAN, X, replace(dual, coef=best.coef), 1e-7, memory=memory)
    assert again.n_iter == 0
    np.testing.assert_allclose(again.coef, best.coef, atol=1e-12)
    # half of it leads to the same optimum
    other = solved(GAUSSIAN, X, replace(dual, coef=0.5 * best.coef), 1e-8, memory=memory)
    assert other.certificate.dual == pytest.approx(best.certificate.dual, rel=1e-9)


@pytest.mark.parametrize("kind", ["rows", "any kernel", "nu regression", "several", "folds"])
def test_memory_is_far_from_that_of_all_kernel_values(kind):
    n, memory = 1000, 1_000_000
    X, y = noisy_curve(0, n, d=3)
    labels, options = np.digitize(y, [-0.5, 0.5]), {"memory": memory}
    run = {
        "rows": lambda: solved(GAUSSIAN, X, classifier(np.sign(y)), 1e-3, **options),
        "any kernel": lambda: solved(
            GAUSSIAN + mc.Linear(), X, classifier(np.sign(y)), 1e-3, **options
        ),
        "nu regression": lambda: solved(
            GAUSSIAN, X, regression(y, 1.0, 0.0, total=0.4 * n), 1e-3, **options
        ),
        "several": lambda: mc.SVC(kernel=GAUSSIAN, **options).fit(X, labels),
        "folds": lambda: mc.SVCCV(GAUSSIAN, Cs=[0.1, 1.0], cv=3, refit=False, **options).fit(
            X, labels
        ),
    }[kind]
    run()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # all values take eight times the memory, Newton steps as much as it
    assert peak < 4 * memory


# --- starts of large problems -----------------------------------------------------------------------------------------


def large(seed, n=6400):
    X, sign = noisy_classes(seed, n, d=2)
    return X, classifier(sign, 5.0)


@pytest.mark.parametrize("memory", [5_000_000, 20_000_000])
def test_the_optimum_of_a_large_problem_is_that_of_all_rows(memory, global_random_seed):
    X, dual = large(global_random_seed)
    whole, parts = (
        solved(GAUSSIAN, X, dual, 1e-3, np.inf, memory=each) for each in ("1GB", memory)
    )
    assert_feasible(dual, parts.coef)
    assert parts.violation <= 1e-3
    assert parts.certificate.dual == pytest.approx(whole.certificate.dual, rel=1e-5)
    assert parts.certificate.gap <= 1e-3 * parts.certificate.primal
    assert parts.n_iter <= 2 * whole.n_iter
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=5e-3)


def test_the_solution_of_a_large_problem_does_not_depend_on_the_number_of_threads(using_threads):
    X, dual = large(0)
    found = []
    for count in (1, 3):
        with using_threads(count):
            found.append(solved(GAUSSIAN, X, dual, 1e-2, np.inf, memory=20_000_000))
    np.testing.assert_array_equal(found[0].coef, found[1].coef)
    np.testing.assert_array_equal(found[0].gradient, found[1].gradient)
    assert found[0].n_iter == found[1].n_iter
    # those of its cells among them
    assert 2751 / 1.25 <= found[0].n_iter <= 1.25 * 2751


def test_few_steps_of_a_large_problem_are_kept_to():
    X, dual = large(0)
    found = solved(GAUSSIAN, X, dual, 1e-3, np.inf, memory=5_000_000, max_iter=80)
    # those of the parts, and those of the whole
    assert found.n_iter <= 2 * 80
    assert_feasible(dual, found.coef)


def test_a_stop_leaves_a_feasible_point():
    X, dual = large(0)
    found = solved(
        GAUSSIAN, X, dual, 1e-3, np.inf, memory=5_000_000, callback=lambda violation: violation > 0
    )
    assert found.violation > 1e-3
    assert_feasible(dual, found.coef)


def test_large_problems_over_points_without_coordinates_are_solved():
    X, dual = large(0, 6050)
    found = solved(GAUSSIAN, sp.csr_array(X), dual, 1e-2, np.inf, memory=20_000_000)
    assert found.violation <= 1e-2
    assert_feasible(dual, found.coef)
    assert found.certificate.gap <= 0.01 * found.certificate.primal
    assert 2438 / 1.25 <= found.n_iter <= 1.25 * 2438
    some = np.arange(0, 6050, 100)
    np.testing.assert_allclose(
        found.gradient[some], dual.target[some] - GAUSSIAN(X[some], X) @ found.coef, atol=1e-4
    )
