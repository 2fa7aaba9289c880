import numpy as np
import pytest
from mercer.solvers.svm.plain_rows import plain_rows_of

import mercer as mc


@pytest.mark.parametrize("n", [40, 600])
@pytest.mark.parametrize("kernel", [2.0 * mc.Gaussian(2e-4), mc.Gaussian(2e-4) * mc.Gaussian(1e-6)], ids=str)
def test_float32_rows_of_a_sum_or_product_are_float64_where_distances_are_rounded(n, kernel):
    # distances just too large to be computed from differences
    places = np.linspace(-500, 500, n // 2)
    points = np.concatenate([places, places + 40.0])[:, None].astype(np.float32)
    rows = plain_rows_of(kernel, points, 1e-7)
    assert rows.dtype == np.float64
    exact = kernel(points.astype(np.float64))
    np.testing.assert_allclose(rows.square(slice(0, n)), exact, atol=1e-12)
    if n > 256:
        # near pairs are a share of 1 / n of all pairs, and more of the sample
        rows = plain_rows_of(kernel, points, 1.0)
        assert rows.dtype == np.float32
        assert rows.error >= np.sqrt(np.mean((kernel(points) - exact) ** 2))


def test_rows_of_a_given_float32_matrix_are_its_values():
    X = np.random.default_rng(0).normal(size=(300, 2))
    K = mc.Gaussian(0.5)(X).astype(np.float32)
    rows = plain_rows_of(mc.Precomputed(K), np.arange(300), 1e-8)
    np.testing.assert_array_equal(rows.square(slice(0, 300)), K)
