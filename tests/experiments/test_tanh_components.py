"""Extreme eigenvalues of the tanh kernel on three clusters are as computed independently."""

import numpy as np
import pytest
from experiments.three_clusters import clusters

from experiments import tanh_components


def test_tanh_spectra_are_as_known(global_random_seed):
    X = clusters(np.random.default_rng(global_random_seed))[0]
    for gain, (least, largest) in tanh_components.KNOWN.items():
        kpca, spectrum = tanh_components.fitted(X, gain)
        # they depend on the draw of the points by a few per cent
        assert spectrum[0] == pytest.approx(least, rel=0.3)
        assert spectrum[1] == pytest.approx(largest, rel=0.2)
        assert (np.diff(kpca.explained_variance_ratio_) <= 0).all()
