import sys

import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure

import mercer as mc
import mercer.plot


def contours(ax=None, n=6, **options):
    """Return the display of n components of few points of the plane."""
    X = np.random.default_rng(0).normal(size=(20, 2))
    pca = mc.KernelPCA(n, kernel=mc.Gaussian(1.0)).fit(X)
    return mercer.plot.KernelPCAContoursDisplay.from_estimator(pca, X, ax=ax, n_grid=5, **options)


def boundary(X, **options):
    """Return the display of the decision values of a machine at points of the plane."""
    svc = mc.SVC(kernel=mc.Gaussian(1.0)).fit(np.eye(2), [0, 1])
    return mercer.plot.DecisionBoundaryDisplay.from_estimator(svc, X, **options)


def box_of(X):
    """Return the corners of the region that is drawn around points."""
    found = boundary(np.array(X), n_grid=2)
    return [*found.x, *found.y]


def test_one_axes_is_divided_and_switched_off():
    figure = Figure()
    frame = figure.subplots()
    assert contours(frame, n_columns=3).axes_.shape == (2, 3)
    assert not frame.axison


def test_given_axes_are_used_in_order():
    axes = Figure().subplots(1, 5)
    for given in (axes, axes[:4]):
        assert list(contours(given, 4, n_columns=2).axes_.ravel()) == list(axes[:4])


def test_too_few_axes_are_refused_with_both_numbers():
    with pytest.raises(ValueError, match="ax has 2 axes, but the display has 6 panels"):
        contours(Figure().subplots(1, 2), n_columns=3)


def test_without_matplotlib_the_error_names_the_command(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r'pip install "mercer\[plot\]"'):
        contours()


def test_new_figures_have_a_panel_for_each_place():
    from matplotlib import pyplot

    found = contours(n_columns=3)
    assert found.axes_.shape == (2, 3)
    assert np.allclose(found.figure_.get_size_inches(), (3 * 1.8, 2 * 1.7))
    pyplot.close(found.figure_)


def test_one_axes_is_the_given_one_or_that_of_a_new_figure():
    from matplotlib import pyplot

    given = Figure().subplots()
    assert boundary(np.eye(2), ax=given).ax_ is given
    made = boundary(np.eye(2)).ax_
    assert np.allclose(made.figure.get_size_inches(), (4.8, 4.0))
    pyplot.close(made.figure)


def test_a_lattice_has_rows_that_go_with_y():
    X = np.eye(2)
    svc = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, [0, 1])
    found = boundary(X, region=(0.0, 1.0, -2.0, 2.0), n_grid=3)
    assert (list(found.x), list(found.y)) == ([0.0, 0.5, 1.0], [-2.0, 0.0, 2.0])
    np.testing.assert_allclose(found.values[2, 0], svc.decision_function([[0.0, 2.0]])[0])


def test_points_in_place_of_a_region_are_refused_with_their_shape():
    with pytest.raises(
        ValueError, match=r"region has shape \(5, 2\); it must be \(x_min, x_max, y_min, y_max\)"
    ):
        boundary(np.eye(2), region=np.zeros((5, 2)))


def test_a_box_is_a_tenth_wider_on_every_side():
    assert np.allclose(box_of([[0.0, 1.0], [2.0, 3.0]]), (-0.2, 2.2, 0.8, 3.2))


def test_a_box_of_equal_values_has_an_area():
    assert np.allclose(box_of([[5.0, 0.0], [5.0, 0.0]]), (4.5, 5.5, -0.1, 0.1))
    left, right, bottom, top = box_of([[1e9, -3.0]])
    assert left < 1e9 < right
    assert bottom < -3 < top


@pytest.mark.parametrize("n", [4, 6])
def test_labels_of_other_points_are_refused(n):
    X = np.random.default_rng(0).normal(size=(5, 2))
    svc, y = mc.SVC(kernel=mc.Gaussian(1.0)).fit(X, np.arange(5) % 2), np.arange(n) % 2
    with pytest.raises(
        ValueError, match=rf"y has shape \({n},\); it must be \(5,\), one label for each point"
    ):
        mercer.plot.GramDisplay.from_kernel(mc.Gaussian(1.0), X, y)
    with pytest.raises(
        ValueError, match=rf"y has shape \({n},\); it must be \(5,\), one label for each point"
    ):
        mercer.plot.DecisionBoundaryDisplay.from_estimator(svc, X, y)


def test_points_of_space_are_no_points_of_the_plane():
    with pytest.raises(ValueError, match=r"X has shape \(5, 3\)"):
        boundary(np.zeros((5, 3)))
    psi = mc.features(mc.Gaussian(1.0), np.eye(3)) @ np.ones((3, 1))
    with pytest.raises(ValueError, match=r"start has shape \(1, 3\)"):
        mercer.plot.PreImagePathsDisplay.from_expansion(psi, np.zeros((1, 3)))


def test_a_point_of_the_plane_that_is_not_finite_is_named_by_its_place():
    X = np.zeros((5, 2))
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X contains NaN at \(3, 1\)"):
        boundary(X)


def test_sparse_points_of_the_plane_become_an_array():
    np.testing.assert_array_equal(boundary(sp.csr_matrix(np.eye(2))).points, np.eye(2))


@pytest.mark.parametrize(
    ("display", "model", "message"),
    [
        ("ImageGridDisplay", mc.SVC(), "SVC has no denoise; give a fitted KernelPCA"),
        ("PreImagePathsDisplay", mc.SVC(), "SVC has no reconstruct; give a fitted KernelPCA"),
        ("KernelPCAContoursDisplay", mc.SVC(), "SVC has no transform; give a fitted KernelPCA"),
        (
            "DecisionBoundaryDisplay",
            mc.KernelRidge(),
            "KernelRidge has no decision_function; give a fitted SVC",
        ),
    ],
)
def test_estimators_without_the_method_that_is_drawn_are_refused(display, model, message):
    X = np.random.default_rng(0).normal(size=(20, 2))
    model.fit(X, np.arange(20) % 2)
    with pytest.raises(TypeError, match=message):
        getattr(mercer.plot, display).from_estimator(model, X)


def test_estimators_without_results_or_a_report_are_refused():
    X, y = np.random.default_rng(0).normal(size=(20, 2)), np.arange(20) % 2
    svc = mc.SVC().fit(X, y)
    with pytest.raises(
        TypeError, match="SVC has no cv_results_; give a fitted SVCCV, SVRCV or GridSearchCV"
    ):
        mercer.plot.ParameterGridDisplay.from_estimator(svc)
    with pytest.raises(
        TypeError, match="SVC has no report_; give models that mercer.compress returned"
    ):
        mercer.plot.ReductionDisplay.from_estimators([svc], X, y)


@pytest.mark.filterwarnings("error:X does not have valid feature names")
def test_models_of_tables_get_a_grid_with_the_names_of_the_columns():
    table = pytest.importorskip("pandas").DataFrame(
        np.random.default_rng(0).normal(size=(20, 2)), columns=["a", "b"]
    )
    named = mc.on_columns(mc.Gaussian(1.0), ["a"]) + mc.on_columns(mc.Linear(), ["b"])
    for kernel in (named, mc.Gaussian(1.0)):
        svc, pca = (
            mc.SVC(kernel=kernel).fit(table, np.arange(20) % 2),
            mc.KernelPCA(2, kernel=kernel).fit(table),
        )
        boundary = mercer.plot.DecisionBoundaryDisplay.from_estimator(svc, table, n_grid=5)
        contours = mercer.plot.KernelPCAContoursDisplay.from_estimator(pca, table, n_grid=5)
        corner = table[:1] * 0 + [boundary.x[0], boundary.y[0]]
        np.testing.assert_allclose(boundary.values[0, 0], svc.decision_function(corner)[0])
        np.testing.assert_allclose(contours.scores[:, 0, 0], pca.transform(corner)[0], atol=1e-12)
