"""learn_scales finds the columns that matter, whatever their units."""

import inspect
import itertools

import numpy as np
import pytest

import mercer as mc


def ball(seed, n=150, d=50):
    """Return points whose class is inside or outside of a ball in 5 of the columns, and those columns."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    columns = rng.permutation(d)[:5]
    return X, np.where((X[:, columns] ** 2).sum(axis=1) > 4.35, "out", "in"), set(columns)


@pytest.mark.parametrize("method", ["alignment", "span"])
def test_the_5_informative_of_50_columns_get_the_largest_factors(method, global_random_seed):
    X, y, columns = ball(global_random_seed)
    kernel = mc.learn_scales(mc.Gaussian("scale"), X, y, method=method, max_iter=30)
    assert set(np.argsort(kernel.A)[-5:]) == columns


@pytest.mark.parametrize("method", ["alignment", "span"])
def test_units_and_constant_columns_do_not_matter(method):
    X, y, _ = ball(0, n=60, d=6)
    kernel = mc.learn_scales(mc.Gaussian("scale"), X, y, method=method, max_iter=5)
    units = np.array([1e-3, 1.0, 1e4, 7.0, 1.0, 30.0])
    other = mc.learn_scales(mc.Gaussian("scale"), X * units, y, method=method, max_iter=5)
    np.testing.assert_allclose(other.A * units, kernel.A, rtol=1e-3)
    constant = mc.learn_scales(
        kernel.kernel, np.column_stack([X, np.full(60, 3.0)]), y, method=method, max_iter=5
    )
    np.testing.assert_allclose(constant.A, np.append(kernel.A, 0), rtol=1e-3)


def test_descent_raises_the_alignment_and_a_regression_has_scales():
    X, _, _ = ball(1, n=80, d=6)
    y = np.sin(2 * X[:, 3])
    start = mc.Mapped(mc.Gaussian("scale").resolve(X / X.std(axis=0)), 1 / X.std(axis=0))
    kernel = mc.learn_scales(mc.Gaussian("scale"), X, y, method="alignment")
    assert mc.alignment(kernel, X, y) > 2 * mc.alignment(start, X, y)
    assert kernel.A.argmax() == 3


def test_rules_are_those_of_columns_of_mean_0_and_variance_1_and_the_default_of_C_is_1():
    X, y, _ = ball(2, n=60, d=6)
    units = np.array([1e-3, 1.0, 1e4, 7.0, 1.0, 30.0])
    found = mc.learn_scales(mc.Gaussian("scale"), X * units, y, method="span", max_iter=3)
    assert found.kernel.gamma == pytest.approx(
        mc.Gaussian("scale").resolve((X - X.mean(axis=0)) / X.std(axis=0)).gamma
    )
    np.testing.assert_array_equal(
        found.A,
        mc.learn_scales(mc.Gaussian("scale"), X * units, y, method="span", C=1.0, max_iter=3).A,
    )


def test_a_factor_is_at_most_100_000_for_a_column_of_variance_1():
    # the alignment with a square grows with the share of the square in (1 + gamma x z)^2
    X = np.random.default_rng(0).normal(size=(40, 1))
    found = mc.learn_scales(mc.Polynomial(2, 1e-4, 1.0), X, X[:, 0] ** 2, method="alignment")
    assert found.A * X.std() == pytest.approx(1e5)


def test_descent_takes_at_most_100_steps_by_default():
    assert inspect.signature(mc.learn_scales).parameters["max_iter"].default == 100
    X, y, _ = ball(0, n=20, d=6)
    found = [
        mc.learn_scales(mc.Gaussian("scale"), X, y, method="alignment", max_iter=steps).A
        for steps in (1, 2, 3, 4)
    ]
    # each step changes the factors
    for one, other in itertools.combinations(found, 2):
        assert np.abs(one - other).max() > 1e-4


def test_the_range_of_C_is_that_of_C_times_the_mean_of_the_diagonal():
    X, y, _ = ball(0, n=20, d=6)
    kernel = 100.0 * mc.Gaussian("scale")
    for C in (0.9e-10, 1.1e6):
        with pytest.raises(
            ValueError, match=r"must be between 1e-10 and 1e\+06, by mean k\(x, x\)"
        ):
            mc.learn_scales(kernel, X, y, method="span", C=C, max_iter=1)
    for C in (1.1e-10, 0.9e6):
        assert np.isfinite(mc.learn_scales(kernel, X, y, method="span", C=C, max_iter=1).A).all()


def test_bad_input_is_refused():
    X, y, _ = ball(0, n=20, d=6)
    with pytest.raises(TypeError, match="learn_scales needs a gradient"):
        mc.learn_scales(mc.FunctionKernel(lambda X, Z: X @ Z.T), X, y)
    with pytest.raises(ValueError, match="method = 'gap' must be one of"):
        mc.learn_scales(mc.Gaussian(1.0), X, y, method="gap")
    with pytest.raises(ValueError, match="C = -1 must be above 0"):
        mc.learn_scales(mc.Gaussian(1.0), X, y, C=-1)
    with pytest.raises(ValueError, match='y must hold one label for each point for method="span"'):
        mc.learn_scales(mc.Gaussian(1.0), X, X[:, 0], method="span")
    with pytest.raises(ValueError, match="y must hold at least two"):
        mc.learn_scales(mc.Gaussian(1.0), X, np.zeros(20))


@pytest.mark.parametrize("constant", [0.1, 1e6 + 0.1, 1e9 / 3])
@pytest.mark.parametrize("method", ["alignment", "span"])
def test_a_constant_column_whose_mean_is_rounded_gets_the_factor_0(method, constant):
    X, y, _ = ball(0, n=60, d=3)
    kernel = mc.learn_scales(mc.Gaussian("scale"), X, y, method=method, max_iter=5)
    found = mc.learn_scales(
        mc.Gaussian("scale"), np.insert(X, 1, constant, axis=1), y, method=method, max_iter=5
    )
    assert found.A[1] == 0
    # a rule counts the constant column
    np.testing.assert_allclose(found.kernel.gamma, kernel.kernel.gamma, rtol=0.5)


def test_a_column_of_tiny_numbers_counts():
    X = np.random.default_rng(0).normal(size=(50, 3))
    plain, tiny = (
        mc.learn_scales(mc.Gaussian("scale"), X * [unit, 1, 1], X[:, 0] > 0, max_iter=3)
        for unit in (1, 1e-170)
    )
    np.testing.assert_allclose(tiny.A * [1e-170, 1, 1], plain.A, rtol=1e-6)


def test_scales_are_learned_where_they_help_and_equal_where_they_do_not(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(200, 6)) * [1, 1e3, 1, 1, 1, 1e-3]
    learned = mc.learn_scales(mc.Gaussian("scale"), X, np.sin(2 * X[:, 2])).A * X.std(axis=0)
    assert learned[2] > 5 * np.delete(learned, 2).max()
    for noise in (rng.normal(size=200), X @ (1 / X.std(axis=0))):
        equal = mc.learn_scales(mc.Gaussian("scale"), X, noise).A * X.std(axis=0)
        np.testing.assert_allclose(equal, equal[0], rtol=1e-9)


def test_factors_with_larger_squared_errors_than_equal_ones_are_not_kept():
    # a few rows are far from the others
    rng = np.random.default_rng(239)
    X = np.exp(1.5 * rng.normal(size=(100, 3)))
    y = np.minimum(X[:, 0], 3) + 0.1 * X[:, 1] * (X[:, 2] > 2)

    def error(kernel):
        ridges = 10.0 ** np.arange(-6, 2, 0.25)
        inverses = (np.linalg.inv(kernel(X) + ridge * np.eye(100)) for ridge in ridges)
        return min(np.sum((M @ (y - y.mean()) / M.diagonal()) ** 2) for M in inverses)

    found = error(mc.learn_scales(mc.Gaussian("scale"), X, y))
    widths = (mc.Gaussian(4.0**j / 3) for j in range(-2, 2))
    equal = min(error(mc.Mapped(width, 1 / X.std(axis=0))) for width in widths)
    assert found <= 1.05 * equal


@pytest.mark.parametrize("kernel", [mc.kernels.PowerDistance(1.0), mc.kernels.Multiquadric(1.0)])
def test_conditionally_positive_definite_kernels_have_learned_factors(kernel):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 4))
    learned = mc.learn_scales(kernel, X, np.sin(2 * X[:, 2])).A
    assert learned[2] > 5 * np.delete(learned, 2).max()


@pytest.mark.parametrize("kernel", [mc.kernels.PowerDistance(1.0), mc.kernels.Multiquadric(1.0)])
def test_a_constant_changes_no_span_of_conditionally_positive_definite_kernels(kernel):
    X, y, _ = ball(0, n=60, d=6)
    found = [
        mc.learn_scales(k, X, y, method="span", max_iter=10).A
        for k in (kernel, kernel + mc.Constant(3.0), kernel + mc.Constant(100.0))
    ]
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-3)


@pytest.mark.parametrize("factor", [2.0**-30, 2.0**30])
def test_a_multiple_of_the_kernel_has_the_same_factors(factor, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(120, 4))
    kernel = mc.Gaussian("scale") + mc.Linear()
    for y in (np.sin(2 * X[:, 2]), np.sin(2 * X).sum(axis=1) + 0.5 * rng.normal(size=120)):
        once, multiple = (mc.learn_scales(k, X, y).A for k in (kernel, factor * kernel))
        np.testing.assert_allclose(multiple, once, rtol=1e-3)


@pytest.mark.parametrize("n", [3, 15, 40])
@pytest.mark.parametrize("labels", [True, False])
def test_few_and_equal_rows_have_scales(n, labels):
    X = np.repeat(np.random.default_rng(0).normal(size=(3, 2)), [1, 1, n - 2], axis=0)
    y = X[:, 0] > X[0, 0] if labels else X[:, 1]
    y[0] = 1 - y[1]
    assert np.isfinite(mc.learn_scales(mc.Gaussian("scale"), X, y).A).all()


@pytest.mark.parametrize("method", ["loo", "alignment"])
def test_a_kernel_whose_values_are_all_equal_is_refused(method):
    X = np.random.default_rng(0).normal(size=(60, 3))
    with pytest.raises(ValueError, match="kernel must differ between the points of X"):
        mc.learn_scales(mc.Gaussian(1e-17), X, X[:, 0] > 0, method=method)


def test_rows_that_are_all_equal_have_no_scales():
    with pytest.raises(ValueError, match="all columns are constant"):
        mc.learn_scales(mc.Gaussian("scale"), np.ones((6, 2)), np.arange(6))


@pytest.mark.parametrize("method", ["loo", "alignment", "span"])
def test_scales_do_not_depend_on_where_the_columns_lie(method):
    X, y, _ = ball(2, n=60, d=3)
    found, shifted = (
        mc.learn_scales(mc.Gaussian("scale"), rows, y, method=method, max_iter=20)
        for rows in (X, X + [0.0, 30.0, 30_000.0])
    )
    assert shifted.kernel.gamma == pytest.approx(found.kernel.gamma)
    np.testing.assert_allclose(shifted.A, found.A, rtol=1e-3)
