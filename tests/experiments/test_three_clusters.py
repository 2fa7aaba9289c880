"""The three clusters of 1998 and 1999: properties of the published pictures, as numbers."""

import numpy as np
import pytest
from sklearn.decomposition import PCA

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


def test_tanh_spectra_are_as_published(drawn):
    X = drawn[0]
    known = {0.1: (-0.0025, 0.72), 1.0: (-0.26, 7.2), 5.0: (-4.3, 39.0), 10.0: (-8.3, 60.0)}
    for gain, least, largest, shares in toy.tanh_spectra(X):
        # they depend on the draw of the points by a few per cent
        assert least == pytest.approx(known[gain][0], rel=0.3)
        assert largest == pytest.approx(known[gain][1], rel=0.2)
        assert (np.diff(shares) <= 0).all()
