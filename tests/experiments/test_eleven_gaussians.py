"""Table 1 of Mika et al. (1999): the published ratios are reproduced."""

import numpy as np
import pytest

from experiments import eleven_gaussians


def test_rows_with_much_noise_agree_with_the_published_ones():
    measured = np.median(eleven_gaussians.table(1, sigmas=(0.8,)), axis=0)
    np.testing.assert_allclose(measured, eleven_gaussians.PUBLISHED[4:], rtol=0.1)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_the_published_table_lies_within_eight_draws():
    measured = eleven_gaussians.table(8)
    inside, miss = eleven_gaussians.agreement(measured)
    assert inside.sum() >= 38
    assert miss.max() <= 0.06
    np.testing.assert_allclose(
        np.median(measured, axis=0)[3:], eleven_gaussians.PUBLISHED[3:], rtol=0.1
    )
