"""Ctrl-C ends a fit soon without a change of state; a fit keeps to its memory limit."""

import sys

import pytest

from experiments import interruption


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT between processes")
def test_interrupted_fits_end_soon_and_change_nothing():
    # `delays` compares the state after each interruption and the next fits
    late, _ = interruption.delays(4, 4000)
    assert len(late) == 4
    # hundredths of a second were measured
    assert late.max() < 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_fit_takes_at_most_a_fifth_more_memory_than_its_limit():
    taken, _ = interruption.growth(12_000, "70MB")
    assert taken <= 1.2 * 70e6
    # the limit is far below the size of the matrix, and nearly half of it is used
    assert taken >= 0.4 * 70e6
