import re

import numpy as np
import pytest

import mercer as mc
from mercer.cli.explore import choice
from mercer.cli.failure import Failure

X = np.random.default_rng(0).normal(size=(6, 3))


@pytest.mark.parametrize("operation", choice.OPERATIONS)
@pytest.mark.parametrize("family", choice.FAMILIES)
def test_the_code_of_a_kernel_evaluates_to_the_kernel(family, operation, choose):
    chosen = choose("boundary", operation=operation, first=(family, -0.3, 2))
    assert np.array_equal(eval(chosen.code, {"mc": mc})(X), chosen.kernel()(X))


def test_sums_and_products_are_those_of_the_parts(choose):
    gaussian, polynomial = mc.Gaussian(0.5)(X), mc.Polynomial(2)(X)
    first = ("Gaussian", np.log10(0.5), 3)
    assert choose("boundary", operation="sum", first=first).kernel()(X) == pytest.approx(
        gaussian + polynomial
    )
    assert choose("boundary", operation="product", first=first).kernel()(X) == pytest.approx(
        gaussian * polynomial
    )
    assert choose("boundary", first=first).kernel()(X) == pytest.approx(gaussian)


def test_parameters_are_powers_of_ten_with_two_digits():
    assert choice.power("C", 1.0, 1e-3, 1e4) == 10.0
    assert choice.power("C", 0.3, 1e-3, 1e4) == 2.0
    assert choice.power("C", -0.7, 1e-3, 1e4) == 0.2


@pytest.mark.parametrize("value", [None, "nan", "inf", 1e400, 5, -4, [1], "__import__('os')"])
def test_values_that_no_slider_has_are_refused(value):
    with pytest.raises(
        Failure, match=r"gamma = 10\^.* must be from 0\.001 to 1000; move its slider"
    ):
        choice.power("gamma", value, 1e-3, 1e3)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("operation", "minus"),
        ("operation", None),
        ("size", 5),
        ("size", [8]),
        ("operation", ["sum"]),
    ],
)
def test_choices_that_the_page_does_not_offer_are_refused(field, value, choose):
    with pytest.raises(Failure, match="must be one of"):
        choose("boundary", **{field: value})


@pytest.mark.parametrize(
    "first", [("eval", 0, 3), ("Polynomial", 0, 7), ("Polynomial", 0, 2.5), (None, 0, 3)]
)
def test_kernels_that_the_page_does_not_offer_are_refused(first, choose):
    with pytest.raises(Failure, match="must be one of"):
        choose("boundary", first=first)


@pytest.mark.parametrize(
    ("field", "value"), [("table", ["moons"]), ("table", None), ("view", {}), ("plane", 0)]
)
def test_names_that_are_no_texts_are_refused_with_their_value(field, value):
    form = {"view": "boundary", "table": "moons", "plane": "0,1"} | {field: value}
    with pytest.raises(Failure, match=re.escape(f"{field} = {str(value)!r} must be a text")):
        choice.read(**form, operation="alone", parts=[("Gaussian", 0.0, 3)], exponent=1.0, size=16)
