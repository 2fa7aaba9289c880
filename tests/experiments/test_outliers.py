"""PCA-L1 is nearer to clean points than PCA if outliers have a large norm in feature space."""

import pytest

from experiments import outliers


def test_pca_l1_is_nearer_to_the_parabola():
    l1, l2 = outliers.table(outliers.toy, 3, outliers.PARABOLA, 2).T
    assert (l1 < 0.85 * l2).all()


@pytest.mark.slow
@pytest.mark.data
def test_pca_l1_is_nearer_to_digits_under_white_squares():
    l1, l2 = outliers.table(outliers.white_squares, 3, outliers.UNBOUNDED, 16, n_init=2).T
    assert l1.mean() < l2.mean()
