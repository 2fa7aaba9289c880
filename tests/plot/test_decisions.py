import numpy as np
import pytest
import scipy.sparse as sp
from matplotlib.figure import Figure

import mercer as mc
from mercer.plot import DecisionBoundaryDisplay


@pytest.fixture(scope="module")
def points():
    return np.random.default_rng(0).normal(size=(80, 2))


@pytest.fixture(scope="module")
def svc(points):
    return mc.SVC(10.0, kernel=mc.Gaussian(1.0)).fit(points, points[:, 0] * points[:, 1] > 0)


def test_the_surface_is_the_decision_function_and_the_rings_are_the_support_vectors(svc, points):
    display = DecisionBoundaryDisplay.from_estimator(svc, points, n_grid=15, ax=Figure().subplots())
    at = np.array([[display.x[3], display.y[11]]])
    assert display.values[11, 3] == pytest.approx(svc.decision_function(at)[0])
    # colours of all values, symmetric about 0
    assert (
        display.surface_.levels[-1] == -display.surface_.levels[0] == np.abs(display.values).max()
    )
    rings = np.column_stack(display.vectors_.get_data())
    assert np.array_equal(np.sort(rings, axis=0), np.sort(points[svc.support_], axis=0))


def test_the_line_at_zero_runs_where_the_prediction_changes(svc, points):
    display = DecisionBoundaryDisplay.from_estimator(svc, points, n_grid=60, ax=Figure().subplots())
    middle = list(display.boundary_.levels).index(0.0)
    line = display.boundary_.get_paths()[middle].vertices
    assert np.abs(svc.decision_function(line)).max() < 0.1 * np.abs(display.values).max()


def test_a_compressed_model_shows_its_constructed_vectors(svc, points):
    small = mc.compress(svc, n_vectors=5)
    display = DecisionBoundaryDisplay.from_estimator(
        small, points, n_grid=9, ax=Figure().subplots()
    )
    assert np.array_equal(np.column_stack(display.vectors_.get_data()), small.expansion_.points)


def test_vectors_of_several_widths_are_drawn_without_their_marks(svc, points):
    y = svc.predict(points)
    small = mc.compress(svc, points, y, n_vectors=5, method=mc.reduction.VariableWidths())
    display = DecisionBoundaryDisplay.from_estimator(
        small, points, n_grid=9, ax=Figure().subplots()
    )
    assert np.array_equal(
        np.column_stack(display.vectors_.get_data()), small.expansion_.points[:, :2]
    )
    assert len(display.ax_.lines) == 2


def test_encoded_rows_of_a_table_are_no_points_of_the_plane(points):
    model = mc.TableClassifier(n_landmarks=20).fit(points, points[:, 0] > 0)
    display = DecisionBoundaryDisplay.from_estimator(
        model, points, n_grid=9, ax=Figure().subplots()
    )
    assert display.vectors_ is None


def test_regions_of_three_classes_hold_the_indices_of_their_predictions(points):
    y = np.array(["a", "b", "c"])[np.digitize(points[:, 0], [-0.5, 0.5])]
    model = mc.SVC(kernel=mc.Gaussian(0.5)).fit(points, y)
    display = DecisionBoundaryDisplay.from_estimator(
        model, points, y, n_grid=11, ax=Figure().subplots()
    )
    at = np.array([[display.x[2], display.y[7]]])
    assert model.classes_[int(display.values[7, 2])] == model.predict(at)[0]
    assert display.boundary_.levels.tolist() == [0.5, 1.5]
    # one filled region for each class, around its index
    np.testing.assert_allclose(display.surface_.levels[:-1], np.arange(3) - 0.5)
    np.testing.assert_allclose(display.surface_.levels[1:], np.arange(3) + 0.5)


def test_a_detector_has_a_boundary_without_margins(points):
    model = mc.OneClassSVM(nu=0.2, kernel=mc.Gaussian(0.5)).fit(points)
    display = DecisionBoundaryDisplay.from_estimator(
        model, points, n_grid=11, ax=Figure().subplots()
    )
    assert display.boundary_.levels.tolist() == [0.0]


def test_a_region_without_a_boundary_is_drawn():
    flat = DecisionBoundaryDisplay(np.arange(3.0), np.arange(3.0), np.full((3, 3), 2.0)).plot(
        Figure().subplots()
    )
    assert flat.boundary_ is None


def test_points_of_space_are_refused(svc):
    with pytest.raises(ValueError, match=r"X has shape \(5, 3\)"):
        DecisionBoundaryDisplay.from_estimator(svc, np.zeros((5, 3)))


def test_vectors_of_a_model_of_sparse_rows_are_drawn(points):
    model = mc.SVC(kernel=mc.Gaussian(1.0)).fit(sp.csr_matrix(points), points[:, 0] > 0)
    display = DecisionBoundaryDisplay.from_estimator(
        model, points, n_grid=5, ax=Figure().subplots()
    )
    np.testing.assert_array_equal(np.transpose(display.vectors_.get_data()), points[model.support_])
