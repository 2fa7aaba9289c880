import numpy as np
import pytest
from mercer.solvers.svm.exact import exact_scalars, near_first, refine
from mercer.solvers.svm.known_rows import KnownRows
from mercer.solvers.svm.whole import points_of

import mercer as mc
from mercer.solvers.svm.rows import FusedRows


def test_variables_within_reach_of_the_bias_come_first_then_others_that_are_not_0():
    gradient = np.array([0.5, 0.9, 2.0, -3.0, 0.0])
    coef, lower, upper = np.array([0.5, 0.0, 1.0, 0.0, 0.0]), np.zeros(5), np.ones(5)
    order = np.empty(5, int)
    near, count = near_first(gradient, coef, lower, upper, 0.0, np.ones(1), np.zeros(5, int), 0.2, order)
    # free: 0; may rise above 0.8: 1; at its upper bound and far above the bias: 2
    assert (near, count) == (2, 3)
    assert order[:3].tolist() == [0, 1, 2]


@pytest.mark.parametrize("d", [1, 16, 37])
def test_distances_are_exact_far_from_the_origin_and_products_those_of_the_points(d, global_random_seed):
    X, places = np.random.default_rng(global_random_seed).normal(size=(9, d)) + 1e3, np.array([5, 0, 7, 2])
    out = np.empty((2, 4))
    columns = exact_scalars(X, places, True, out)
    np.testing.assert_array_equal(columns, X[places].T)
    exact = X[places].astype(np.longdouble)
    np.testing.assert_allclose(out, ((exact[:2, None] - exact) ** 2).sum(axis=2).astype(float), rtol=1e-13)
    exact_scalars(X, places, False, out)
    np.testing.assert_allclose(out, X[places[:2]] @ X[places].T, rtol=1e-13)


def test_known_values_take_the_place_of_those_of_raw_points(global_random_seed):
    rng, n, m = np.random.default_rng(global_random_seed), 40, 64
    X = rng.normal(size=(n, 2))
    target = np.sign(X[:, 0] + 0.3 * rng.normal(size=n))
    lower, upper = (np.pad(each, (0, m - n)) for each in (np.minimum(target, 0), np.maximum(target, 0)))
    start, found = 0.5 * rng.random(n) * target, []
    known = KnownRows.of(mc.Gaussian(0.5), X)
    for rows, values in ((FusedRows(mc.Gaussian(0.5), X, np.float64), np.empty((0, 0))), (known, known.values)):
        coef, f = np.pad(start, (0, m - n)), np.pad(target - known.values @ start, (0, m - n))
        points = points_of(rows.compiled_rows(), np.arange(n), np.empty((1, m)), values)
        state = np.zeros((m, m)), np.full(m, -1), 0
        own = rows.compiled_exact_rows(), np.arange(n)
        group = np.zeros(1), np.zeros(n, int)
        assert refine(points, *own, *state, target, f, coef, lower, upper, 0.0, *group, 10.0, 1e9)
        found.append((coef[:n], f[:n]))
    assert np.abs(found[0][0] - start).max() > 0.1
    np.testing.assert_allclose(found[0], found[1], atol=1e-10)


def test_small_classifiers_are_exact_from_raw_points_though_rows_are_float32(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    # more than those that are refined without compiled code
    X = rng.normal(size=(600, 2)) + 50
    y = X[:, 0] + 0.05 * rng.normal(size=600) > 50
    model = mc.SVC(10.0, kernel=mc.Gaussian(0.5)).fit(X, y)
    assert mc.certify(model, X, y).kkt < 1e-9


@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Polynomial(2, 0.5, 1.0)], ids=repr)
def test_refinement_is_exact_if_the_operations_suffice_and_otherwise_not_begun(kernel):
    # three points on a line, coefficients from float32: 0 and 1 are free, 2 is at its bound, 63 fill up lanes
    X, m, bound = np.array([[0.0], [1.0], [2.0], [7.0]]), 64, 0.25
    rows = FusedRows(kernel, X, np.float32)
    points = points_of(rows.compiled_rows(), np.arange(4), np.empty((1, m), np.float32), np.empty((0, 0), np.float32))
    target = np.array([1.0, -1.0, 1.0, -1.0])
    lower, upper = np.pad([0.0, -9.0, 0.0, 0.0], (0, m - 4)), np.pad([9.0, 0.0, bound, 0.0], (0, m - 4))
    K = kernel(X)

    def refined(operations, start=(0.4, -0.65)):
        coef = np.pad([*start, bound, 0.0], (0, m - 4))
        f = np.pad(target - K @ coef[:4], (0, m - 4))
        bias = 0.5 * (f[0] + f[1])
        state = np.zeros((m, m), np.float32), np.full(m, -1), 0
        own = rows.compiled_exact_rows(), np.arange(4)
        group = np.array([bias]), np.zeros(4, int)
        done = refine(points, *own, *state, target, f, coef, lower, upper, 0.0, *group, 1e-3, float(operations))
        return done, coef, f

    # two variables are free, three not 0, of one coordinate
    needed = 2 * 2 * 3 * (1 + 10) + 2**3 / 3
    done, coef, f = refined(needed * (1 - 1e-9))
    assert not done
    assert coef[0] == 0.4
    done, coef, f = refined(1e9)
    assert done
    np.testing.assert_allclose(f[0], f[1], atol=1e-12)
    np.testing.assert_allclose(coef[:4].sum(), 0, atol=1e-15)
    np.testing.assert_allclose(f[:2], (target - K @ coef[:4])[:2], atol=1e-12)
    # the others follow by float32 rows
    np.testing.assert_allclose(f[:4], target - K @ coef[:4], atol=1e-4)
    assert refined(needed * (1 + 1e-9))[0]
