"""Sparse rows of many columns, and rows without a compiled loop, give all machines the answers of dense rows."""

import tracemalloc

import numpy as np
import pytest
from tests.wide_rows import sample, spread

import mercer as mc

KERNEL = mc.Gaussian(0.5)
MACHINES = [
    mc.SVC(kernel=KERNEL, tol=1e-6),
    mc.SVR(kernel=KERNEL, tol=1e-6),
    mc.NuSVC(0.3, kernel=KERNEL, tol=1e-6),
    mc.NuSVR(0.3, kernel=KERNEL, tol=1e-6),
    mc.OneClassSVM(nu=0.2, kernel=KERNEL, tol=1e-6),
    mc.SVDD(0.1, kernel=KERNEL, tol=1e-6),
]
EACH = pytest.mark.parametrize("machine", MACHINES, ids=lambda machine: type(machine).__name__)


def fitted(machine, X, y):
    target = y > np.median(y) if isinstance(machine, (mc.SVC, mc.NuSVC)) else y
    return machine.fit(X, target)


def agree(found, expected):
    """Whether the intervals that contain both optima overlap, and are short."""
    size = max(abs(expected.primal), abs(expected.dual))
    assert max(found.gap, expected.gap) <= 1e-4 * size
    assert found.dual <= expected.primal + 1e-9 * size
    assert expected.dual <= found.primal + 1e-9 * size


@EACH
@pytest.mark.parametrize("n", [40, 400])
@pytest.mark.parametrize("kernel", [KERNEL, mc.Linear()], ids=["rbf", "linear"])
def test_sparse_rows_of_many_columns_have_the_optimum_of_dense_rows(
    machine, n, kernel, global_random_seed
):
    X, y = sample(n, global_random_seed)
    machine = machine.set_params(kernel=kernel)
    expected = fitted(machine, X, y).certificate_
    wide = spread(X, 100_020)
    model = fitted(machine, wide, y)
    agree(model.certificate_, expected)
    np.testing.assert_array_equal(model.predict(wide[:20]), model.predict(wide)[:20])


@EACH
def test_kernels_without_a_loop_have_the_optimum_of_stored_values_in_little_memory(
    machine, global_random_seed
):
    X, y = sample(400, global_random_seed)
    machine = machine.set_params(kernel=KERNEL + mc.Linear(), memory="1GB")
    expected = fitted(machine, X, y).certificate_
    agree(fitted(machine.set_params(memory="1MB"), X, y).certificate_, expected)


@EACH
def test_empty_columns_take_no_memory(machine):
    X, y = sample(40, 0)
    machine = machine.set_params(kernel="rbf", memory="1GB")
    fitted(machine, spread(X, 600), y)
    wide = spread(X, 1 << 30)
    tracemalloc.start()
    model = fitted(machine, wide, y)
    model.predict(wide)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6
