"""Arrays of Dask in memory: refused before they are computed, computed once."""

import numpy as np
import pytest

import mercer as mc

da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).standard_normal((30, 3))
READERS = {
    "rows": lambda array: mc.features(mc.Linear(), array).points,
    "columns": lambda array: mc.Expansion(mc.Linear(), X, array).coef,
}


@pytest.mark.parametrize("read", READERS)
def test_an_array_is_computed_once(read):
    calls = []
    array = da.from_array(X, chunks=(30, 3)).map_blocks(
        lambda block: calls.append(1) or block, meta=X[:0]
    )
    np.testing.assert_array_equal(READERS[read](array), X)
    assert len(calls) == 1


def test_a_budget_is_that_of_the_bytes():
    rows = da.from_array(X, chunks=(10, 3))
    model = mc.KernelRidge(memory=720)
    np.testing.assert_array_equal(
        model.fit(rows, X).predict(X), mc.KernelRidge(memory=720).fit(X, X).predict(X)
    )
    with pytest.raises(
        MemoryError, match=r"X of shape \(30, 3\), .* needs 720 B, .* 719 B; use .* X.compute\(\)"
    ):
        model.set_params(memory=719).fit(rows, X)


@pytest.mark.parametrize("read", READERS)
def test_other_values_are_taken_as_they_are(read):
    np.testing.assert_array_equal(READERS[read](X), X)
