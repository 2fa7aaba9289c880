"""Every example runs and draws a figure."""

import runpy
from pathlib import Path

import pytest
from matplotlib import pyplot

EXAMPLES = sorted((Path(__file__).parents[1] / "examples").glob("plot_*.py"))
FASTEST = {
    "kernel_k_means",
    "novelty",
    "outliers",
    "periodic",
    "regression_with_uncertainty",
    "save_and_load",
}
TO_RUN = [
    pytest.param(
        path,
        id=path.stem,
        marks=[] if path.stem.removeprefix("plot_") in FASTEST else pytest.mark.slow,
    )
    for path in EXAMPLES
]


@pytest.mark.filterwarnings("ignore:.*non-interactive:UserWarning")
@pytest.mark.parametrize("path", TO_RUN)
def test_an_example_runs_and_draws(path):
    pyplot.close("all")
    runpy.run_path(str(path))
    assert pyplot.get_fignums()
    pyplot.close("all")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < 75
