import numpy as np
import pytest

import mercer as mc
from mercer.solvers.svm import known_rows
from mercer.solvers.svm.known_rows import KnownRows, shared_blocks
from mercer.solvers.svm.plain_rows import PlainRows
from mercer.solvers.svm.rows import FusedRows


@pytest.fixture
def points(global_random_seed):
    return np.random.default_rng(global_random_seed).standard_normal((50, 12))


@pytest.mark.parametrize("J", [[3, 40, 7, 8], [6, 7, 8, 9]])
def test_rows_of_known_values_are_those_of_the_kernel(J, points, monkeypatch):
    kernel, J = mc.Gaussian(0.1), np.array(J)
    plain = PlainRows(kernel, points)
    rows, found = (
        KnownRows(kernel, points, plain.square(slice(0, 50)), plain.diagonal),
        [np.empty((30, 4)) for _ in range(2)],
    )
    for each, out in zip((plain, rows), found, strict=True):
        each.columns(J)(np.arange(30), out)
    np.testing.assert_allclose(*found, atol=1e-15)
    for chosen in (J, slice(5, 20)):
        np.testing.assert_allclose(rows.square(chosen), plain.square(chosen), atol=1e-15)
    monkeypatch.setattr(known_rows, "_ROWS", 2)
    W = np.linspace(-1, 1, 12).reshape(4, 3)
    np.testing.assert_allclose(rows.product(J[:3], J, W), kernel(points)[np.ix_(J[:3], J)] @ W, atol=1e-14)


def test_blocks_are_shared_if_all_of_them_fit(points):
    rows = FusedRows(mc.Gaussian(0.1), points, np.float64)
    pieces = [slice(0, 20), slice(20, 50)]
    assert set(shared_blocks(rows, pieces, 8 * (20**2 + 30**2))) == {(0, 20), (20, 50)}
    assert shared_blocks(rows, pieces, 8 * (20**2 + 30**2) - 1) == {}
