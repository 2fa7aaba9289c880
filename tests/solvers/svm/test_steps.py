"""Steps: units change none of them, neighbours save them, and fixed problems take about as many as they did."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from tests.solvers.svm.duals import (
    GAUSSIAN,
    classifier,
    noisy_classes,
    noisy_curve,
    options_of,
    regression,
    solved,
    sum_of_one,
)

import mercer as mc
from mercer.solvers.svm import rows_of, solve_dual
from mercer.solvers.svm.dual import Limits, Options
from mercer.solvers.svm.path import solve_path, with_known_rows

POINTS, SIGN = noisy_classes(0, 300)
CURVE, TARGET = noisy_curve(0, 300)
WIDE, WIDE_SIGNS = noisy_classes(0, 300, d=77)
MANY, MANY_SIGNS = noisy_classes(0, 1000)
ONES = np.ones(300)
PROBLEMS = {
    "classifier": (GAUSSIAN, POINTS, classifier(SIGN, 5.0)),
    "few variables": (GAUSSIAN, POINTS[:50], classifier(SIGN[:50], 5.0)),
    "large bounds": (mc.Gaussian(0.1), POINTS[:150], classifier(SIGN[:150], 1e6)),
    "regression": (GAUSSIAN, CURVE, regression(TARGET, 5.0)),
    "regression without a tube": (GAUSSIAN, CURVE, regression(TARGET, 5.0, 0.0)),
    "squared loss": (GAUSSIAN, CURVE, regression(TARGET, np.inf, 0.05, ridge=ONES)),
    "squared hinge": (GAUSSIAN, POINTS, classifier(SIGN, np.inf, ridge=0.1 * ONES)),
    "linear": (mc.Linear(), POINTS, classifier(SIGN, 50.0)),
    "linear, squared loss": (mc.Linear(), CURVE, regression(TARGET, np.inf, 0.05, ridge=ONES)),
    "linear, squared hinge": (
        mc.Linear(),
        WIDE[:60],
        classifier(WIDE_SIGNS[:60], np.inf, ridge=0.01 * ONES[:60]),
    ),
    "linear, sparse": (
        mc.Linear(),
        sp.csr_array(WIDE * (WIDE > 1)),
        classifier(WIDE_SIGNS, np.inf, ridge=ONES),
    ),
    "linear, huber": (mc.Linear(), WIDE, regression(TARGET, 0.1, 0.05, ridge=ONES)),
    "wide": (mc.Gaussian(0.01), WIDE, classifier(WIDE_SIGNS, 5.0)),
    "few eigenvalues": (mc.Polynomial(3, 1.0, 1.0), POINTS, classifier(SIGN, 1e4)),
    "two kernels": (0.5 * GAUSSIAN + 0.5 * mc.Matern(1.0, 1.5), POINTS, classifier(SIGN, 5.0)),
    "many": (GAUSSIAN, MANY, classifier(MANY_SIGNS, 5.0)),
}
TWO_SUMS = {
    "linear, nu": (mc.Linear(), WIDE, classifier(WIDE_SIGNS, ONES, total=120.0)),
    "hard margin": (GAUSSIAN, POINTS, classifier(np.where(POINTS[:, 0] > 0, 1.0, -1.0), np.inf)),
    "nu classifier": (GAUSSIAN, POINTS, classifier(SIGN, ONES, total=120.0)),
    "nu regression": (GAUSSIAN, CURVE, regression(TARGET, 3.0, 0.0, total=270.0)),
}
SUMS = {
    "one class": (GAUSSIAN, POINTS, sum_of_one(0 * ONES, ONES / 90, sums_only=True)),
    "ball": (GAUSSIAN, POINTS, sum_of_one(0.5 * ONES, 0.05, sums_only=True)),
}
# Memory for all rows, and for some: kernel values in float64, and in float32.
MEMORY = {"all rows": ("1GB", 0.0), "some rows": (140_000, 0.0), "rounded": (140_000, np.inf)}


def with_kernel_times(factor, dual):
    """Return the dual that has the same decision values if the kernel is multiplied by a factor."""
    if dual.total is not None and dual.one_sided:
        # in units of a C that the solution shows
        return dual
    names = [
        name for name in ("lower", "upper", "coef", "total") if getattr(dual, name) is not None
    ]
    ridge = dual.ridge if dual.ridge is None else factor * dual.ridge
    return replace(dual, ridge=ridge, **{name: getattr(dual, name) / factor for name in names})


def kernel_times(factor, kernel, X):
    """Return a kernel and points whose kernel values are those given times a power of four."""
    # a multiple of a linear kernel is solved as any other
    return (kernel, np.sqrt(factor) * X) if kernel == mc.Linear() else (factor * kernel, X)


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("name", PROBLEMS | TWO_SUMS)
def test_a_kernel_times_a_power_of_four_changes_no_step_and_no_digit(name, memory):
    kernel, X, dual = (PROBLEMS | TWO_SUMS)[name]
    size, accuracy = MEMORY[memory]
    expected = solved(*kernel_times(1.0, kernel, X), dual, 1e-3, accuracy, memory=size)
    for factor in (2.0**-30, 2.0**30):
        own = with_kernel_times(factor, dual)
        found = solved(*kernel_times(factor, kernel, X), own, 1e-3, accuracy, memory=size)
        np.testing.assert_array_equal(factor * found.coef, expected.coef)
        np.testing.assert_array_equal(found.gradient, expected.gradient)
        for name in ("n_iter", "bias", "violation", "epsilon"):
            assert getattr(found, name) == getattr(expected, name)
        assert factor * found.primal == expected.primal
        assert factor * found.value == expected.value


# At tolerances of 1e-3 and of 1e-7, for each memory.
STEPS = {
    "classifier": ((406, 1031), (544, 1189), (538, 100000)),
    "few variables": ((117, 283), (117, 283), (117, 283)),
    "large bounds": ((12800, 12800), (100000, 100000), (100000, 100000)),
    "regression": ((2044, 3040), (3679, 10110), (2172, 6013)),
    "regression without a tube": ((1761, 3040), (3777, 9361), (2664, 100000)),
    "squared loss": ((461, 998), (1154, 3027), (1154, 3027)),
    "squared hinge": ((671, 1446), (1322, 2553), (1322, 2553)),
    "linear": ((12160, 12160), (31624, 31648), (27158, 27212)),
    "linear, squared loss": ((6, 7), (6, 7), (6, 7)),
    "linear, squared hinge": ((538, 1280), (538, 1280), (538, 1280)),
    "linear, sparse": ((8, 9), (8, 9), (8, 9)),
    "linear, huber": ((20, 22), (20, 22), (20, 22)),
    "linear, nu": ((25268, 25268), (70533, 100015), (90428, 100018)),
    "wide": ((836, 1760), (1360, 2719), (1227, 100000)),
    "few eigenvalues": ((97280, 97280), (100062, 100068), (100063, 100070)),
    "two kernels": ((423, 915), (632, 1140), (533, 100000)),
    "many": ((1331, 4195), (2400, 5192), (2385, 100000)),
    "hard margin": ((2072, 3201), (2413, 5082), (3304, 100000)),
    "nu classifier": ((310, 768), (325, 783), (289, 100000)),
    "nu regression": ((2017, 5236), (2123, 5288), (2264, 100000)),
    "one class": ((44, 161), (66, 238), (54, 216)),
    "ball": ((90, 387), (133, 351), (97, 469)),
}


@pytest.mark.parametrize("memory", MEMORY)
@pytest.mark.parametrize("name", PROBLEMS | TWO_SUMS | SUMS)
def test_fixed_problems_take_about_as_many_steps_as_they_did_to_the_last_digits(name, memory):
    kernel, X, dual = (PROBLEMS | TWO_SUMS | SUMS)[name]
    size, accuracy = MEMORY[memory]
    steps = STEPS[name][list(MEMORY).index(memory)]
    K = kernel(X.toarray() if sp.issparse(X) else X)
    for tol, expected in zip((1e-3, 1e-7), steps, strict=True):
        found = solved(kernel, X, dual, tol, accuracy, memory=size)
        gradient = dual.target - K @ found.coef
        if dual.ridge is not None:
            gradient -= dual.ridge * found.coef
        np.testing.assert_allclose(found.gradient, gradient, atol=1e-3 if accuracy else 1e-8)
        assert found.violation <= 1e-11
        assert expected / 1.25 <= found.n_iter <= 1.25 * expected
    if name in PROBLEMS:
        again = solved(kernel, X, replace(dual, coef=found.coef), 1e-3, accuracy, memory=size)
        assert again.n_iter == 0
        np.testing.assert_allclose(again.gradient, found.gradient, atol=1e-3 if accuracy else 1e-8)


def path_of(X, unit, Cs, gap=0.0):
    """Return the solutions of a dual for many C, from stored kernel values."""
    found = []
    options = Options(1e-3, gap=gap)
    rows = rows_of(GAUSSIAN, X, 0.0)

    def solve(_, dual, known):
        found.append(solve_path(rows, dual, np.array(Cs), options, known))

    with_known_rows(rows, [unit], options, np.float64, solve)
    return found[0]


UNITS = {"classifier": (POINTS, classifier(SIGN)), "regression": (CURVE, regression(TARGET))}


@pytest.mark.parametrize("name", UNITS)
def test_a_solution_for_a_larger_C_begins_at_a_multiple_of_the_one_before(name):
    X, unit = UNITS[name]
    Cs = np.logspace(-3, -2, 3)
    found = path_of(X, unit, Cs)
    assert (found.violation <= 1e-3).all()
    for k, C in enumerate(Cs):
        gradient = unit.target - GAUSSIAN(X) @ found[k].coef
        np.testing.assert_allclose(found[k].gradient, gradient, atol=1e-9)
        alone = path_of(X, unit, [C])
        assert found[k].value == pytest.approx(alone.value, rel=1e-3)
        # nearly all coefficients stay at their bounds
        assert k == 0 or found.n_iter[k] <= 0.1 * alone.n_iter


@pytest.mark.parametrize(
    ("name", "gap", "expected"),
    [
        ("classifier", 0.0, 1469),
        ("classifier", 1e-3, 890),
        ("regression", 0.0, 6831),
        ("regression", 1e-3, 1733),
    ],
)
def test_paths_to_a_gap_take_about_as_many_steps_as_they_did(name, gap, expected):
    X, unit = UNITS[name]
    Cs = np.logspace(-3, 1, 9)
    found = path_of(X, unit, Cs, gap)
    assert expected / 1.25 <= found.n_iter.sum() <= 1.25 * expected
    loss = (np.abs(unit.target) - unit.epsilon).clip(0).sum()
    assert gap == 0 or (found.primal - found.value <= np.maximum(gap, 1e-2) * Cs * loss).all()


def test_bounds_that_no_coefficient_meets_take_no_steps_to_enlarge():
    apart = classifier(np.where(POINTS[:, 0] > 0, 1.0, -1.0))
    found = path_of(POINTS, apart, [1e4, 1e5, 1e7, 1e12])
    assert np.abs(found.coef).max() < 1e4
    assert found.n_iter[0] > 0
    assert not found.n_iter[1:].any()
    assert (found.violation <= 1e-3).all()


def test_each_of_several_solutions_is_its_own():
    total = np.array([9.0, 27.0])
    duals = replace(regression(TARGET[:60], 2.0, 0.0), stops=np.array([0, 20, 60]), total=total)
    rows = rows_of(GAUSSIAN, CURVE, 0.0)
    found = solve_dual(rows, duals, options_of(1e-8))
    for k in range(2):
        alone = solve_dual(rows, replace(duals[k], total=total[k : k + 1]), options_of(1e-8))
        np.testing.assert_array_equal(found[k].coef, alone.coef)
        assert found[k].bias == alone.bias


def test_a_class_alone_is_the_constant_of_its_sign():
    for sign in (1.0, -1.0):
        found = path_of(POINTS[:50], classifier(np.full(50, sign)), [1.0, 10.0])
        assert not found.coef.any()
        for name in ("bias", "gradient"):
            assert (getattr(found, name) == sign).all()
        for name in ("n_iter", "violation", "primal", "value", "noise", "epsilon"):
            assert not getattr(found, name).any()


def test_a_hundred_steps_are_allowed_for_each_variable_and_at_least_ten_million():
    rows = rows_of(GAUSSIAN, POINTS, 0.0)
    for n, expected in ((300, 10**7), (10**6, 10**8)):
        assert Limits.of(options_of(1e-3), rows, n).max_iter == expected
