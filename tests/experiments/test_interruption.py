"""Ctrl-C ends a fit soon and leaves nothing behind; a fit takes hardly more memory than it was given."""

import sys

import pytest

from experiments import interruption
from mercer._compute.memory import parse_memory


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent SIGINT on Windows")
def test_interrupted_fits_leave_no_trace_and_end_soon():
    # delays itself compares what is left and what fits afterwards
    late, _ = interruption.delays(4, 4000)
    assert len(late) == 4
    # measured are hundredths of a second
    assert late.max() < 5


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_fit_takes_at_most_a_fifth_more_memory_than_its_budget():
    taken, _ = interruption.growth(12_000, "70MB")
    assert taken <= 1.2 * parse_memory("70MB")
    # the budget is far below the whole matrix, and is used
    assert taken >= 0.5 * parse_memory("70MB")
