"""Published statements hold, and published numbers without data sets are reproduced."""

import importlib

import pytest
from experiments._report import collect


@pytest.mark.parametrize(
    "name", ["seven_points", "feature_maps", "surface", "mean_shift", "equivalences"]
)
def test_every_number_of_an_experiment_is_reproduced(name):
    found = collect(importlib.import_module(f"experiments.{name}").experiment, quick=True, show=str)
    assert found["entries"]
    assert [each["entry"] for each in found["entries"] if each["verdict"] != "reproduced"] == []
    # one sentence, and a picture for the page
    assert found["texts"]
    assert found["pictures"]


def test_the_published_eigenvalues_of_one_draw_lie_inside_the_range_of_ours():
    found = collect(
        importlib.import_module("experiments.polynomial_components").experiment,
        quick=True,
        show=str,
    )
    for entry in found["entries"]:
        low, high = entry["spread"]
        assert low <= entry["published"] <= high
