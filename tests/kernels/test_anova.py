"""Anova: sums of products over all subsets of columns, gradients, definiteness, rules and refusals."""

from itertools import combinations
from math import comb

import numpy as np
import pytest
from tests.reference.derivatives import assert_gradients

import mercer as mc
from mercer.testing import check_kernel_implementation

INNER = [mc.Gaussian(0.5), mc.Linear(), mc.Cauchy(0.7) + 0.5 * mc.Polynomial(2)]


@pytest.fixture
def rows(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return rng.normal(size=(7, 5)), rng.normal(size=(4, 5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("degree", [1, 2, 3, 5])
@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_values_are_sums_of_products_over_all_subsets_of_columns(rows, inner, degree, dtype):
    X, Z = (block.astype(dtype) for block in rows)
    wide = X.astype(float), Z.astype(float)
    columns = [inner(*(block[:, [c]] for block in wide)) for c in range(5)]
    expected = sum(
        np.prod([columns[c] for c in subset], axis=0) for subset in combinations(range(5), degree)
    )
    found = mc.Anova(inner, degree)(X, Z)
    assert found.dtype == dtype
    np.testing.assert_allclose(
        found, expected, atol=100 * np.finfo(dtype).eps * abs(expected).max()
    )


@pytest.mark.parametrize("degree", [1, 2, 4, 5])
@pytest.mark.parametrize("inner", INNER, ids=repr)
def test_gradients_are_those_of_differences(rows, inner, degree, global_random_seed):
    assert_gradients(mc.Anova(inner, degree), *rows, global_random_seed)


@pytest.mark.parametrize(
    "kernel", [mc.Anova(mc.Gaussian(0.5), 2), mc.Anova(mc.Chi2(1.0), 3)], ids=repr
)
def test_the_laws_of_kernels_hold(kernel):
    check_kernel_implementation(kernel)


def test_all_columns_of_gaussians_are_the_gaussian_of_rows_and_the_diagonal_counts_subsets(rows):
    np.testing.assert_allclose(
        mc.Anova(mc.Gaussian(0.5), 5)(*rows), mc.Gaussian(0.5)(*rows), rtol=1e-12
    )
    np.testing.assert_array_equal(mc.Anova(mc.Gaussian(0.5), 3).diag(rows[0]), comb(5, 3))


def test_rules_are_those_of_the_numbers_of_all_columns(rows):
    X = rows[0]
    found = mc.Anova(mc.Gaussian("scale"), 2).resolve(X, np.arange(1.0, 8))
    assert found.kernel == mc.Gaussian("scale").resolve(
        X.reshape(-1, 1), np.repeat(np.arange(1.0, 8), 5)
    )
    assert mc.Anova(mc.Gaussian("scale"), 2).resolve(X).kernel.gamma == pytest.approx(1 / X.var())


def test_other_kernels_and_more_columns_than_the_rows_have_are_refused():
    with pytest.raises(
        ValueError, match="degree = 4 must be at most 3, the number of features of X"
    ):
        mc.Anova(mc.Linear(), 4)(np.ones((2, 3)))
    with pytest.raises(ValueError, match="must be a kernel on rows of numbers"):
        mc.Anova(mc.strings.Spectrum(2), 2)
    with pytest.raises(ValueError, match="must be at least 0 for Chi2"):
        mc.Anova(mc.Chi2(1.0), 2)(-np.ones((2, 3)))
