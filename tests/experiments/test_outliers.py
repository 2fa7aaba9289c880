"""Outliers: PCA-L1 keeps nearer to the clean points where outliers are long in feature space."""

import pytest

from experiments import outliers


def test_the_parabola_is_kept_better_by_pca_l1():
    l1, l2 = outliers.table(outliers.toy, 3, outliers.PARABOLA, 2).T
    assert (l1 < 0.85 * l2).all()


@pytest.mark.slow
@pytest.mark.data
def test_digits_under_white_squares_are_kept_better_by_pca_l1():
    l1, l2 = outliers.table(outliers.white_squares, 3, outliers.UNBOUNDED, 16, n_init=2).T
    assert l1.mean() < l2.mean()
