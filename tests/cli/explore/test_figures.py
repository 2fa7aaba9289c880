import numpy as np
import pytest
from matplotlib.colors import to_hex
from matplotlib.figure import Figure

import mercer as mc
from mercer.cli.explore import recipes, tables
from mercer.cli.explore.views import VIEWS

MOONS = tables.built_in("moons")
KERNEL = mc.Gaussian(1.0)


@pytest.fixture
def axes():
    return Figure().subplots()


def _lines(ax):
    return {line.get_label(): line.get_xydata() for line in ax.lines}


def test_the_boundary_shows_every_point_in_its_class_and_every_support_vector(axes):
    result = recipes.boundary(MOONS.X, MOONS.y, KERNEL, 1.0)
    VIEWS["boundary"].draw(result, MOONS.X, MOONS)(axes)
    shown = _lines(axes)
    for label in (0, 1):
        assert np.array_equal(shown[str(label)], MOONS.X[MOONS.y == label])
    assert np.array_equal(list(shown.values())[-1], MOONS.X[result["model"].support_])
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["0", "1"]


def test_a_boundary_of_three_classes_has_a_colour_for_each(axes):
    table = tables.built_in("clusters")
    result = recipes.boundary(table.X, np.array(["a", "b", "c"])[table.y], KERNEL, 1.0)
    VIEWS["boundary"].draw(result, table.X, table)(axes)
    colours = {to_hex(colour) for each in axes.collections for colour in each.get_facecolor()}
    assert len(colours) == 3


def test_components_have_a_panel_each_titled_by_their_share(axes):
    result = recipes.components(MOONS.X, KERNEL)
    VIEWS["components"].draw(result, MOONS.X, MOONS)(axes)
    titles = [each.get_title() for each in axes.figure.axes if each.get_title()]
    shares = result["model"].explained_variance_ratio_
    assert titles == [f"{k + 1}: {share:.1%}" for k, share in enumerate(shares)]


def test_the_spectrum_shows_shares_and_their_sum(axes):
    shares = np.array([0.6, 0.3, 0.1])
    VIEWS["spectrum"].draw({"shares": shares}, MOONS.X, MOONS)(axes)
    shown = _lines(axes)
    assert np.array_equal(shown["share"], np.column_stack([[1, 2, 3], shares]))
    assert np.allclose(shown["sum"][:, 1], [0.6, 0.9, 1.0])


def test_geometry_leaves_singular_points_blank(axes):
    result = recipes.geometry(MOONS.X, mc.Linear())
    result["volume"][0, 0] = 0.0
    result["volume"][0, 1] = 100.0
    VIEWS["geometry"].draw(result, MOONS.X, MOONS)(axes)
    panel = next(each for each in axes.figure.axes if each.get_title() == "log10 of volume")
    shown = panel.collections[0].get_array()
    assert shown.mask[0, 0]
    assert shown[0, 1] == 2.0


@pytest.mark.parametrize("name", ["digits", "moons"])
def test_denoising_shows_the_errors_and_of_digits_clean_noisy_and_denoised_rows_from_above(
    name, axes
):
    rows = {
        each: np.full((50, 64), value)
        for each, value in (("clean", 0.1), ("noisy", 0.2), ("denoised", 0.3))
    }
    result = rows | {"sizes": [2, 4], "errors": [1.0, 0.5], "error": 2.0}
    VIEWS["denoising"].draw(result, MOONS.X, tables.built_in(name))(axes)
    shown = [each for each in axes.figure.axes if each.get_xlabel() == "components"]
    assert np.array_equal(_lines(shown[0])["denoised"], [[2, 1.0], [4, 0.5]])
    assert np.array_equal(_lines(shown[0])["noisy"][:, 1], [2.0, 2.0])
    strips = [each for each in axes.figure.axes if each.images]
    assert [each.get_title(loc="left") for each in strips] == (
        ["clean", "noisy", "denoised"] if name == "digits" else []
    )
    assert [float(each.images[0].get_array()[0, 0]) for each in strips] == (
        [0.1, 0.2, 0.3] if strips else []
    )


def test_errors_against_vectors_have_binomial_standard_errors(axes):
    result = {"sizes": [4, 8], "errors": [0.2, 0.1], "error": 0.1, "n_full": 30, "n_test": 100}
    VIEWS["vectors"].draw(result, MOONS.X, MOONS)(axes)
    assert np.allclose(_lines(axes)["compressed"], [[4, 0.2], [8, 0.1]])
    assert np.allclose(_lines(axes)["all vectors"][:, 1], 0.1)
    band = axes.collections[0].get_paths()[0].vertices
    for size, low, high in ((4, 0.16, 0.24), (8, 0.07, 0.13)):
        own = band[band[:, 0] == size, 1]
        assert np.allclose([own.min(), own.max()], [low, high])
