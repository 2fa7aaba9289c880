import math

import pytest

from mercer.capacity import Bound


def test_a_bound_without_confidence_is_a_heuristic():
    assert Bound("a", 0.5, "", "error").kind == "heuristic"
    assert Bound("a", 0.5, "", "error", 0.95).kind == "bound"


@pytest.mark.parametrize(("value", "vacuous"), [(0.99, False), (1.0, True), (math.inf, True), (math.nan, True)])
def test_what_says_no_more_than_the_trivial_is_vacuous(value, vacuous):
    assert Bound("a", value, "", "error").vacuous == vacuous


def test_other_quantities_have_other_trivial_values():
    assert not Bound("a", 3.0, "", "residual", 0.95, trivial=4.0).vacuous
