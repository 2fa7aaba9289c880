"""Compiled alignments of two series: threads and blocks of pairs do not change a value."""

import numpy as np

from mercer.kernels.global_alignment import fill_alignments


def test_values_of_pairs_do_not_depend_on_their_block():
    series = np.random.default_rng(0).normal(size=(2, 11)), np.array([0, 3, 7, 11])
    fill, whole, one = fill_alignments, np.empty((3, 3)), np.empty((1, 1))
    for band in (0, 3):
        fill(series, series, 0.5, band, 0, 0, whole)
        np.testing.assert_allclose(whole, whole.T, rtol=1e-13)
        for i in range(3):
            for j in range(3):
                fill(series, series, 0.5, band, i, j, one)
                assert one[0, 0] == whole[i, j]
