"""Arrays of Dask in memory: refused before they are computed, computed once."""

import numpy as np
import pytest

from mercer._compute.lazy import computed, is_dask, known_rows
from mercer._compute.points import as_columns, as_rows

da = pytest.importorskip("dask.array")
X = np.random.default_rng(0).standard_normal((30, 3))


@pytest.mark.parametrize("read", [as_rows, as_columns])
def test_an_array_is_computed_once(read):
    calls = []
    array = da.from_array(X, chunks=(30, 3)).map_blocks(
        lambda block: calls.append(1) or block, meta=X[:0]
    )
    np.testing.assert_array_equal(read(array, "X"), X)
    assert len(calls) == 1


def test_a_budget_is_that_of_the_bytes():
    array = da.from_array(X, chunks=(10, 3))
    np.testing.assert_array_equal(computed(array, "X", 720), X)
    with pytest.raises(
        MemoryError, match=r"V of shape \(30, 3\), .* needs 720 B, .* 719 B; use .* V.compute\(\)"
    ):
        computed(array, "V", 719)


def test_other_values_are_returned_as_they_are():
    assert computed(X, "X", 64) is X
    assert not is_dask(X)
    assert known_rows(X, "X") is X
