import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import Ball, Model, smallest_ball, vc_bound, vc_confidence, vc_margin


def test_the_confidence_term_is_that_of_the_formula():
    # eq. (6) of Mueller et al. (2001) by hand: sqrt((10 (log 200 + 1) - log 0.0125) / 1000) = sqrt(0.0673652)
    assert (
        vc_confidence(10, 1000, 0.95)
        == vc_confidence(10, 1000)
        == pytest.approx(0.2595481, abs=1e-7)
    )
    # h = n: sqrt(log 2 + 1 + 0.00438203)
    assert vc_confidence(1000, 1000) == pytest.approx(1.3028926, abs=1e-7)


def test_the_bound_adds_the_confidence_term_to_the_training_error():
    bound = vc_bound(0.2, 10, 1000)
    assert bound.value == pytest.approx(0.4595481, abs=1e-7)
    assert bound.confidence == 0.95
    assert vc_bound(0.2, 10, 1000, 0.99).value == 0.2 + vc_confidence(10, 1000, 0.99) > bound.value
    assert vc_bound(1, 10, 1000).value == pytest.approx(1.2595481, abs=1e-7)
    assert vc_bound(0, 10, 1000).value == pytest.approx(0.2595481, abs=1e-7)


def test_the_dimension_of_a_margin_is_squared_radius_times_squared_norm_plus_one():
    # margins within rounding of 1 are not errors: 2 of 100 are below
    margins = np.concatenate([[-1.0, 1 - 1e-5], np.full(98, 1 - 8e-7)])
    zeros = np.zeros(100)
    own = Model(
        mc.Linear(),
        zeros[:, None],
        np.arange(100),
        np.ones(100),
        margins,
        zeros,
        norm=3.0,
        bias=0.0,
    )
    ball = Ball(centre=None, radius=2.0, least=2.0)
    assert vc_margin(own, ball).value == pytest.approx(0.02 + vc_confidence(37, 100))
    assert vc_margin(own, ball, confidence=0.5).value == pytest.approx(
        0.02 + vc_confidence(37, 100, 0.5)
    )


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
    [
        ((-0.1, 3, 10), "training_error = -0.1"),
        ((1.1, 3, 10), "training_error = 1.1"),
        ((0.1, 0, 10), "h = 0"),
        ((0.1, 3, 0), "n = 0"),
        ((0.1, 3, 10**400), "n = 10*[.]{3} must be at most"),
        ((0.1, 3, 10, 1.0), "confidence = 1.0"),
    ],
)
def test_numbers_out_of_range_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        vc_bound(*arguments)


def test_fewer_points_than_dimensions_have_no_bound():
    with pytest.raises(ValueError, match="h = 1000000000 must be at most n = 100"):
        vc_bound(0.1, 10**9, 100)
