import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import smallest_ball, vc_bound, vc_confidence, vc_margin


def test_the_term_is_that_of_the_formula():
    assert np.isclose(vc_confidence(10, 1000, 0.95), np.sqrt((10 * (np.log(200) + 1) - np.log(0.0125)) / 1000))


def test_it_grows_with_the_dimension_and_falls_with_the_points():
    terms = [vc_confidence(h, 1000) for h in (1, 10, 100, 1000)]
    assert terms == sorted(terms)
    assert vc_confidence(10, 10_000) < vc_confidence(10, 1000)
    assert vc_confidence(1001, 1000) == np.inf


def test_the_dimension_of_a_margin_is_that_of_radius_and_norm():
    X = np.linspace(-3, 3, 300)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    own = capacity.model(mc.SVC(C=1.0, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    h = (smallest_ball(mc.Gaussian(0.1), X).radius * own.norm) ** 2 + 1
    failed = np.mean(own.margins < 1 - 1e-6)
    assert np.isclose(vc_margin(own).value, failed + vc_confidence(h, 300))
    assert vc_margin(own).kind == "heuristic"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [((-0.1, 3, 10), "training_error = -0.1"), ((0.1, 0, 10), "h = 0"), ((0.1, 3, 0), "n = 0"),
     ((0.1, 3, 10, 1.0), "confidence = 1.0")],
)  # fmt: skip
def test_numbers_out_of_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        vc_bound(*arguments)
