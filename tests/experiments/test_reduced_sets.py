"""Tables II to IV of the text of 1999: rows of `compress` keep the wanted numbers, and errors are as published."""

import numpy as np
import pytest
from experiments._usps import digits

import mercer as mc
from experiments import reduced_sets


@pytest.fixture
def few(data):
    """Six hundred training digits and as many test digits, and their classifiers."""
    data("usps")
    train, y, test, y_test = digits(smoothed=True)
    parts = train[:600], y[:600], test[:600], y_test[:600]
    return parts, reduced_sets.trained(parts)


@pytest.mark.data
@pytest.mark.slow
def test_rows_keep_the_wanted_number_of_vectors(few):
    parts, model = few
    mean = reduced_sets.vectors(model).mean()
    for _, name, _, options in reduced_sets.rows(model, quick=False):
        if name in ("RSS-50", "RSC-10"):
            small = mc.compress(model, *parts[:2], shared=False, **options)
            left = reduced_sets.vectors(small)
            n = int(name.split("-")[1])
            assert left.mean() == pytest.approx(n, abs=0.5)
            assert mean > n
            # selection removes equal fractions, construction leaves equal numbers
            assert (np.ptp(left) == 0) == (name == "RSC-10")


@pytest.mark.data
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_errors_of_constructed_sets_are_as_published(data):
    data("usps")
    parts = digits(smoothed=True)
    model = reduced_sets.trained(parts)
    for _, name, known, options in reduced_sets.rows(model, quick=False):
        if name in ("RSC-20", "RSC-50"):
            # the standard error of a test error is 0.45 per cent
            small = mc.compress(model, *parts[:2], shared=False, **options)
            assert reduced_sets.error(small, parts) < known[0] + 0.45
