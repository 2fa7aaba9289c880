"""Pre-images behind linear maps: those of the mapped rows."""

import numpy as np
import pytest

import mercer as mc

X = np.random.default_rng(0).standard_normal((25, 3))
G = mc.Gaussian(0.3)
MAPS = {
    "scales": np.array([1.0, 2.0, 0.5]),
    "matrix": np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0], [0.3, 0.0, 1.0]]),
    "tall": np.array([[1.0, 0.5, 0.0], [0.0, 1.0, 2.0], [0.3, 0.0, 1.0], [1.0, 1.0, 1.0]]),
}


@pytest.mark.parametrize("name", MAPS)
@pytest.mark.parametrize("method", ["fixed_point", "exact", "distances"])
def test_points_of_features_come_back_through_an_injective_map(method, name):
    kernel = 2 * mc.Mapped(G, MAPS[name]) + 1.0
    phi = mc.features(kernel, X)
    found = mc.preimage(phi[:, :4], method=method, start=X[:4] + 0.1)
    np.testing.assert_allclose(found.points, X[:4], atol=1e-5)
    np.testing.assert_allclose(found.sqdist, 0, atol=1e-9)


@pytest.mark.parametrize("name", [*MAPS, "columns"])
def test_fixed_points_of_a_mean_are_stationary_as_those_of_the_gradient_are(name):
    A = MAPS.get(name, np.array([0, 2]))
    psi = mc.mean(mc.features(mc.Mapped(G, A), X))
    found = mc.preimage(psi, method="fixed_point")
    np.testing.assert_allclose(psi.gradient(found.points), 0, atol=1e-5)
    assert found.sqdist == pytest.approx(mc.preimage(psi, method="gradient").sqdist, rel=1e-6)


def test_columns_that_a_map_drops_stay_those_of_the_start():
    kernel = mc.Mapped(G, np.array([0, 2]))
    start = X[:1] + np.array([[0.1, 7.0, 0.1]])
    found = mc.preimage(mc.features(kernel, X)[:, 0], method="fixed_point", start=start)
    assert found.points[0, 1] == start[0, 1]
    np.testing.assert_allclose(found.points[0, [0, 2]], X[0, [0, 2]], atol=1e-6)


def test_maps_within_maps_are_followed():
    kernel = mc.Mapped(mc.Mapped(G, MAPS["matrix"]), MAPS["scales"])
    psi = mc.mean(mc.features(kernel, X))
    direct = mc.Mapped(G, MAPS["matrix"] * MAPS["scales"])
    other = mc.mean(mc.features(direct, X))
    np.testing.assert_allclose(
        mc.preimage(psi, method="fixed_point").points,
        mc.preimage(other, method="fixed_point").points,
        atol=1e-6,
    )


def test_a_map_by_a_function_has_pre_images_by_its_jacobian():
    twice = mc.Mapped(G, lambda Y: 2 * Y, lambda Y: np.broadcast_to(2 * np.eye(3), (len(Y), 3, 3)))
    found = mc.preimage(mc.mean(mc.features(twice, X)))
    expected = mc.preimage(mc.mean(mc.features(mc.Mapped(G, 2 * np.ones(3)), X)))
    np.testing.assert_allclose(found.sqdist, expected.sqdist, rtol=1e-6)
    with pytest.raises(TypeError, match="neither radial nor has a gradient"):
        mc.preimage(mc.mean(mc.features(mc.Mapped(G, np.sin), X)))
