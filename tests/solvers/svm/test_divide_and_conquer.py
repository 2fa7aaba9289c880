import numpy as np
import pytest
import scipy.sparse as sp
from mercer.solvers.svm.decomposition import solve
from mercer.solvers.svm.workspace import Workspace

import mercer as mc
from mercer._compute.threads import limit_threads
from mercer.solvers.svm import divide_and_conquer as divide
from mercer.solvers.svm import one_constraint
from mercer.solvers.svm.dual import Dual, objective
from mercer.solvers.svm.rows import rows_of

KERNEL = mc.Gaussian(0.5)


@pytest.fixture(autouse=True)
def _small_parts(monkeypatch):
    monkeypatch.setattr(divide, "_PART", 100)


def _problem(seed, n=700, dtype=np.float64, C=5.0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 3)).astype(dtype)
    y = np.where(np.sin(2 * X[:, 0]) + 0.3 * rng.standard_normal(n) > 0, 1.0, -1.0)
    return X, Dual(y, np.minimum(0, C * y), np.maximum(0, C * y), np.zeros(n), np.arange(n))


def _of_numerals(X, Z):
    return np.exp(-np.abs(np.subtract.outer([float(x) for x in X], [float(z) for z in Z])))


def _divided(kernel, points, dual, values=1 << 20, max_iter=10**6, callback=None):
    rows = rows_of(kernel, points, 1e-6)
    return divide.divide(rows, dual, Workspace(1e-3, max_iter, np.empty(values, rows.dtype), callback=callback))


def test_pieces_are_small_equal_and_hold_every_place_once(global_random_seed):
    places = np.random.default_rng(global_random_seed).permutation(1000)[:777]
    pieces = divide.split(np.random.default_rng(0).standard_normal((1000, 4)), places, 100)
    np.testing.assert_array_equal(np.sort(np.concatenate(pieces)), np.arange(777))
    sizes = [len(piece) for piece in pieces]
    assert max(sizes) <= 100
    assert max(sizes) - min(sizes) <= 1


def test_pieces_keep_clusters_together():
    rng = np.random.default_rng(0)
    cluster = np.repeat([0, 1, 2, 3], 100)
    X = np.array([[0.0, 0.0], [90.0, 0.0], [0.0, 20.0], [90.0, 20.0]])[cluster] + rng.standard_normal((400, 2))
    order = rng.permutation(400)
    for piece in divide.split(X, order, 100):
        assert len(set(cluster[order[piece]])) == 1


def test_pieces_of_equal_points_end():
    assert sum(len(piece) for piece in divide.split(np.ones((300, 2)), np.arange(300), 100)) == 300


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_start_is_feasible_and_solves_each_part(global_random_seed, dtype):
    X, dual = _problem(global_random_seed, dtype=dtype)
    coef, n_iter = _divided(KERNEL, X, dual)
    assert np.all((dual.lower <= coef) & (coef <= dual.upper))
    assert n_iter > 0
    K = KERNEL(X.astype(np.float64))
    for piece in divide.split(X, dual.points, 100):
        own = np.sort(piece)
        assert abs(coef[own].sum()) < 1e-9
        gradient = dual.target[own] - K[np.ix_(own, own)] @ coef[own]
        rise, fall = coef[own] < dual.upper[own], coef[own] > dual.lower[own]
        # a twentieth of the violation of 2 at the start
        assert gradient[rise].max() - gradient[fall].min() <= 0.1 + 1e-5


def test_the_start_does_not_depend_on_the_number_of_threads():
    X, dual = _problem(0)
    found = []
    for count in (1, 3):
        with limit_threads(count):
            found.append(_divided(KERNEL, X, dual))
    np.testing.assert_array_equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_little_memory_and_few_steps_are_kept_to():
    X, dual = _problem(0)
    coef, n_iter = _divided(KERNEL, X, dual, values=16 * 256, max_iter=80)
    assert n_iter <= 80
    assert abs(coef.sum()) < 1e-9


def test_a_stop_leaves_a_feasible_start():
    X, dual = _problem(0)
    coef, _ = _divided(KERNEL, X, dual, callback=lambda _: True)
    assert np.all((dual.lower <= coef) & (coef <= dual.upper))
    assert abs(coef.sum()) < 1e-9


@pytest.mark.parametrize(
    ("kernel", "wrap"),
    [(KERNEL, sp.csr_matrix), (mc.FunctionKernel(_of_numerals), lambda X: [repr(float(x)) for x in X[:, 0]])],
    ids=["sparse", "strings"],
)
def test_points_without_coordinates_are_divided_by_kernel_values(kernel, wrap):
    X, dual = _problem(0, n=240)
    points = wrap(X)
    coef, _ = _divided(kernel, points, dual)
    assert np.count_nonzero(coef) > 0
    assert abs(coef.sum()) < 1e-9
    np.testing.assert_allclose(divide.coordinates(kernel, points, 1 << 20), kernel(points), atol=1e-12)


def test_the_divided_optimum_is_the_optimum(global_random_seed, monkeypatch):
    X, dual = _problem(global_random_seed)
    rows = rows_of(KERNEL, X, 0.0)
    workspace = Workspace(1e-9, 10**6, np.empty(1 << 20, rows.dtype))
    whole = solve(rows, dual, workspace)
    monkeypatch.setattr(one_constraint, "LARGE", 100)
    # as for duals too large for compiled code
    monkeypatch.setattr(one_constraint, "fits", lambda *_: False)
    parts = one_constraint.solve_one_constraint(rows, dual, workspace)
    values = [objective(dual, each.coef, each.gradient) for each in (parts, whole)]
    assert values[0] == pytest.approx(values[1], rel=1e-12)
    np.testing.assert_allclose(parts.gradient, whole.gradient, atol=1e-7)
