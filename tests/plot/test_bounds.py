import math

import numpy as np
from matplotlib.figure import Figure

import mercer as mc
from mercer.capacity import Bound
from mercer.plot import BoundsDisplay

BOUNDS = [
    Bound("holds", 0.4, "", "error", 0.95),
    Bound("guess", 0.2, "", "error"),
    Bound("nothing", math.inf, "", "error", 0.95),
]


def test_bars_end_at_the_bounds_and_vacuous_ones_at_the_trivial_value():
    display = BoundsDisplay(BOUNDS, truth=0.1, measured="other points").plot(Figure().subplots())
    assert [bar.get_width() for bar in display.bars_] == [0.4, 0.2, 1.0]
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == [
        "holds",
        "guess",
        "nothing",
    ]
    assert [text.get_text() for text in display.ax_.texts] == ["0.4", "0.2", "vacuous"]


def test_heuristics_are_hatched_and_vacuous_bars_pale():
    display = BoundsDisplay(BOUNDS).plot(Figure().subplots())
    assert [bool(bar.get_hatch()) for bar in display.bars_] == [False, True, False]
    assert [bar.get_alpha() is not None for bar in display.bars_] == [False, False, True]
    assert display.truth_ is None


def test_the_line_is_the_true_error():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 2
    X[:, 0] += 3 * y
    model = mc.SVC(kernel=mc.Gaussian(0.2)).fit(X, y)
    found = mc.capacity.report(model, X, y)
    display = BoundsDisplay.from_report(found, ax=Figure().subplots())
    assert display.truth_.get_xdata()[0] == found.truth == mc.capacity.leave_one_out(model, X, y)
    assert len(display.bars_) == len(found.bounds)


def test_the_axis_names_what_all_bounds_are_on_and_an_error_where_they_differ():
    errors, squares = (
        Bound("b", 0.4, "", quantity)
        for quantity in ("leave-one-out error", "excess squared error")
    )
    for bounds, label in [
        ([errors], errors.quantity),
        ([squares] * 2, squares.quantity),
        ([errors, squares], "error"),
    ]:
        assert BoundsDisplay(bounds).plot(Figure().subplots()).ax_.get_xlabel() == label
