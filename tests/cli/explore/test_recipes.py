import numpy as np
import pytest
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC

import mercer as mc
from mercer.cli.explore import recipes, tables

MOONS = tables.built_in("moons")
KERNEL = mc.Gaussian(2.0)


def test_the_boundary_is_that_of_scikit_learn():
    found = recipes.boundary(MOONS.X, MOONS.y, KERNEL, 3.0)
    peer = SVC(C=3.0, gamma=2.0, tol=1e-6).fit(MOONS.X, MOONS.y)
    i, j = 17, 41
    assert found["values"][i, j] == pytest.approx(
        peer.decision_function([[found["x1"][j], found["x2"][i]]])[0], abs=1e-2
    )
    assert 0.85 < found["accuracy"] < peer.score(MOONS.X, MOONS.y)


def test_three_classes_are_drawn_as_predicted_classes():
    table = tables.built_in("clusters")
    found = recipes.boundary(table.X, table.y, KERNEL, 1.0)
    assert set(np.unique(found["values"])) == {0, 1, 2}


def test_scores_on_the_grid_are_those_of_the_components():
    found = recipes.components(MOONS.X, KERNEL)
    i, j = 11, 30
    scores = found["model"].transform([[found["x1"][j], found["x2"][i]]])[0]
    assert found["scores"][:, i, j] == pytest.approx(scores)


def test_shares_are_those_of_the_centred_matrix():
    found = recipes.spectrum(MOONS.X[:80], MOONS.y[:80], KERNEL)
    K = KERNEL(MOONS.X[:80])
    H = np.eye(80) - 1 / 80
    values = np.linalg.eigvalsh(H @ K @ H)[::-1]
    assert found["shares"][:20] == pytest.approx(values[:20] / values.sum())
    assert found["shares"].sum() == pytest.approx(1.0)
    Y = H @ (MOONS.y[:80, None] == [0, 1]) @ (MOONS.y[:80, None] == [0, 1]).T @ H
    norms = np.linalg.norm(H @ K @ H) * np.linalg.norm(Y)
    assert found["alignment"] == pytest.approx(np.sum(H @ K @ H * Y) / norms)


def test_the_linear_kernel_has_the_geometry_of_the_plane():
    found = recipes.geometry(MOONS.X, mc.Linear())
    assert found["volume"] == pytest.approx(np.ones((40, 40)))
    assert found["curvature"] == pytest.approx(np.zeros((40, 40)), abs=1e-12)
    offsets = np.stack(np.meshgrid(found["x1"], found["x2"]), axis=-1) - MOONS.X.mean(axis=0)
    assert found["distance"] == pytest.approx(np.linalg.norm(offsets, axis=-1))


def test_denoising_reports_the_errors_of_the_rows_it_returns():
    digits = tables.built_in("digits")
    found = recipes.denoising(digits.X, mc.Gaussian(0.2), 16)
    assert found["error"] == pytest.approx(64 * 0.25**2, rel=0.1)
    at = found["sizes"].index(16)
    assert found["errors"][at] == pytest.approx(
        np.sum((found["denoised"] - found["clean"]) ** 2) / 50
    )
    assert min(found["errors"]) < 0.5 * found["error"]


def test_errors_against_vectors_are_those_on_the_held_out_rows():
    X, y = MOONS.X[:100], MOONS.y[:100]
    found = recipes.vectors(X, y, KERNEL, 1.0, 8)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, stratify=y, random_state=0)
    peer = SVC(C=1.0, gamma=2.0).fit(train, y_train)
    assert found["sizes"] == [4, 8, 16]
    assert len(found["model"].expansion_.points) == 8
    assert found["errors"][1] == 1 - np.mean(found["model"].predict(test) == y_test)
    assert (found["error"], found["n_test"]) == (1 - peer.score(test, y_test), 30)


def test_a_model_that_has_fewer_vectors_is_not_compressed():
    found = recipes.vectors(MOONS.X[:40], MOONS.y[:40], KERNEL, 100.0, 32)
    assert len(found["model"].support_) == found["n_full"] <= 28


@pytest.mark.parametrize("n", [6, 40, 51])
def test_small_tables_are_denoised_by_the_other_half(n):
    found = recipes.denoising(MOONS.X[:n], KERNEL, 2)
    assert len(found["clean"]) == n // 2
    assert found["denoised"].shape == (n // 2, 2)
