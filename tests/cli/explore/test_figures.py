import json

import numpy as np

import mercer as mc
from mercer.cli.explore import figures, recipes, tables

MOONS = tables.built_in("moons")


def _finite(figure):
    """Return the number of traces; a figure must be JSON after arrays are lists."""
    json.dumps(figure, default=np.ndarray.tolist)
    return len(figure["data"])


def test_the_boundary_shows_every_point_in_its_class_and_every_support_vector():
    result = recipes.boundary(MOONS.X, MOONS.y, mc.Gaussian(1.0), 1.0)
    figure = figures.boundary(result, MOONS.X, MOONS.y)
    assert _finite(figure) == 1 + 2 + 2 + 1
    lines = [trace["contours"] for trace in figure["data"] if trace["type"] == "contour"]
    levels = [np.arange(line["start"], line["end"] + 0.5, line["size"]).tolist() for line in lines]
    assert sorted(sum(levels, [])) == [-1, 0, 1]
    marked = {trace["name"]: trace for trace in figure["data"] if trace["type"] == "scatter"}
    assert np.array_equal(marked["class 1"]["x"], MOONS.X[MOONS.y == 1, 0])
    assert np.array_equal(marked["support vectors"]["y"], MOONS.X[result["model"].support_, 1])
    assert marked["class 0"]["marker"]["symbol"] != marked["class 1"]["marker"]["symbol"]


def test_a_boundary_of_three_classes_shows_their_indices():
    table = tables.built_in("clusters")
    y = np.array(["a", "b", "c"])[table.y]
    result = recipes.boundary(table.X, y, mc.Gaussian(1.0), 1.0)
    figure = figures.boundary(result, table.X, y)
    assert set(np.unique(figure["data"][0]["z"])) == {0, 1, 2}
    assert (np.array(["a", "b", "c"])[figure["data"][0]["z"]] == result["values"]).all()


def test_components_have_a_panel_each_titled_by_their_share():
    result = recipes.components(MOONS.X, mc.Gaussian(1.0))
    figure = figures.components(result, MOONS.X)
    assert _finite(figure) == 18
    titles = [note["text"] for note in figure["layout"]["annotations"]]
    assert titles[0] == f"1: {result['model'].explained_variance_ratio_[0]:.1%}"
    assert len({trace.get("xaxis") for trace in figure["data"]}) == 6


def test_the_spectrum_shows_shares_and_their_sum():
    shares = np.array([0.6, 0.3, 0.1])
    figure = figures.spectrum({"shares": shares})
    assert np.array_equal(figure["data"][0]["y"], shares)
    assert np.allclose(figure["data"][1]["y"], [0.6, 0.9, 1.0])


def test_geometry_leaves_singular_points_blank():
    result = recipes.geometry(MOONS.X, mc.Linear())
    result["volume"][0, 0] = 0.0
    result["volume"][0, 1] = 100.0
    shown = figures.geometry(result, MOONS.X)["data"][0]["z"]
    assert np.isnan(shown[0, 0])
    assert shown[0, 1] == 2.0


def test_images_stand_upright_in_the_mosaic():
    images = np.arange(8.0).reshape(2, 4)
    tiled = figures.mosaic(images, 2)
    assert np.array_equal(tiled[1:, :2], [[0, 1], [2, 3]])
    assert np.array_equal(tiled[1:, 3:5], [[4, 5], [6, 7]])
    assert np.isnan(tiled[0]).all()


def test_denoising_shows_clean_noisy_and_denoised_rows_from_above():
    rows = {name: np.full((50, 4), value) for name, value in (("clean", 0.1), ("noisy", 0.2), ("denoised", 0.3))}
    result = rows | {"sizes": [2, 4], "errors": [1.0, 0.5], "error": 2.0}
    figure = figures.denoising(result, 2)
    image = figure["data"][-1]["z"]
    assert [image[place, 0] for place in (0, 3, 6)] == [0.1, 0.2, 0.3]
    assert figure["layout"]["yaxis2"]["ticktext"] == ["clean", "noisy", "denoised"]
    assert len(figures.denoising(result)["data"]) == 2


def test_errors_against_vectors_have_binomial_standard_errors_in_the_same_unit():
    figure = figures.vectors({"sizes": [4, 8], "errors": [0.2, 0.1], "error": 0.1, "n_full": 30, "n_test": 100})
    assert np.allclose(figure["data"][0]["y"], [20, 10])
    assert np.allclose(figure["data"][0]["error_y"]["array"], [4, 3])
    assert figure["data"][1]["y"] == [10, 10]
    assert figure["data"][1]["name"] == "all 30 vectors"


def test_an_empty_figure_has_no_data():
    assert _finite(figures.empty()) == 0
