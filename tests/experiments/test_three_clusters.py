"""The three clusters of 1998 and 1999: properties of the published pictures, as numbers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

import mercer as mc
from experiments import three_clusters as toy


@pytest.fixture
def drawn(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    return toy.clusters(rng)[0], *toy.clusters(rng, 20)


def test_few_components_move_points_to_the_centres_and_more_describe_the_clusters(drawn):
    X, noisy, centres = drawn
    errors = [toy.error(toy.denoised(X, noisy, m), centres) for m in toy.COMPONENTS]
    # components 1 and 2 separate the clusters, 3 to 5 split each into halves, 6 to 8 into quarters
    assert max(errors[:2]) < 0.1 * toy.error(noisy, centres)
    assert max(errors[:2]) < min(errors[2:5]) <= max(errors[2:5]) < max(errors[5:])
    linear = PCA(1).fit(X)
    assert max(errors) < toy.error(linear.inverse_transform(linear.transform(noisy)), centres)


def test_two_components_separate_the_clusters_and_later_ones_divide_them(drawn):
    kpca = mc.KernelPCA(8, kernel=mc.Gaussian(10.0)).fit(drawn[0])
    between = toy.shares_between(kpca.transform(drawn[0]), np.repeat(np.arange(3), toy.EACH))
    assert between[:2].min() > 0.9
    assert between[2:].max() < 0.1
