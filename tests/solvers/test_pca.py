"""Kernel principal components: the eigenproblem, unit norms, intercepts, the trace, and residuals by their formula."""

import re
import tracemalloc

import numpy as np
import pytest

import mercer as mc
from mercer.solvers import pca

X = np.random.default_rng(0).standard_normal((40, 3))
KERNEL = mc.Gaussian(0.4)
PHI = mc.features(KERNEL, X)
H = np.eye(40) - 1 / 40
VALUES = np.linalg.eigvalsh(H @ KERNEL(X) @ H)[::-1]


@pytest.mark.parametrize("whiten", [False, True])
def test_components_are_orthogonal_vectors_of_norm_one_or_of_unit_variance(whiten):
    found = pca.components(PHI, 5)
    found = found.whitened(40) if whiten else found
    np.testing.assert_allclose(found.pairs.values, VALUES[:5], rtol=1e-12)
    deviations = np.sqrt(VALUES[:5] / 40) if whiten else np.ones(5)
    np.testing.assert_allclose(
        found.expansion.inner(found.expansion), np.diag(deviations**-2), atol=1e-11
    )
    scores = found.expansion(X) + found.intercept
    np.testing.assert_allclose(scores.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(
        scores.std(axis=0), np.sqrt(VALUES[:5] / 40) / deviations, rtol=1e-11
    )


def test_the_mean_the_intercept_and_the_total_are_those_of_the_features():
    found = pca.components(PHI, 3)
    np.testing.assert_allclose(found.mean(X)[:, 0], KERNEL(X).mean(axis=1), atol=1e-14)
    np.testing.assert_allclose(found.intercept, -found.mean.inner(found.expansion)[0], atol=1e-14)
    assert found.total == pytest.approx(VALUES.sum(), rel=1e-13)


def test_no_number_gives_all_components():
    assert len(pca.components(PHI, None).expansion) == 39


def test_residuals_are_those_of_the_eigenvalue_equation():
    V, values = pca.components(PHI, 4).pairs.vectors, VALUES[:4]
    for moved in (0.0, 0.1):
        V, values = H @ (V + moved * X[:, :1]), values * (1 + moved * np.arange(4))
        psi = PHI @ (V / np.sqrt(values))
        residuals = pca.residuals(psi, -psi(X).mean(axis=0), V, values, np.sqrt(values))
        expected = np.linalg.norm(H @ KERNEL(X) @ H @ V - V * values, axis=0) / values[0]
        np.testing.assert_allclose(residuals, expected, rtol=1e-12, atol=1e-14)
        assert (residuals > 1e-3).all() if moved else (residuals < 1e-14).all()


@pytest.mark.parametrize("share", [0.3, 0.9, 0.95, 1 - 1e-15])
def test_a_share_is_held_by_the_smallest_number_of_components(share):
    found = pca.components(PHI, share)
    k = len(found.pairs.values)
    assert k == min(np.searchsorted(np.cumsum(VALUES), share * VALUES.sum()) + 1, 39)
    np.testing.assert_allclose(
        found.expansion.norms(), pca.components(PHI, k).expansion.norms(), rtol=1e-12
    )


def test_a_share_of_many_points_is_found_by_more_and_more_components(costs, limits):
    costs(DENSE_ORDER=100)
    limits(first_components=3)
    points = np.random.default_rng(1).standard_normal((300, 3))
    phi = mc.features(mc.Gaussian(0.05), points)
    values = np.linalg.eigvalsh((np.eye(300) - 1 / 300) @ phi.inner(phi) @ (np.eye(300) - 1 / 300))[
        ::-1
    ]
    for share in (0.5, 0.9, 0.999):
        k = np.searchsorted(np.cumsum(values), share * values.sum()) + 1
        np.testing.assert_allclose(pca.components(phi, share).pairs.values, values[:k], rtol=1e-9)


def test_a_share_beyond_the_memory_is_refused_with_a_number_of_components_that_all_need(
    costs, limits, global_random_seed
):
    costs(DENSE_ORDER=100)
    limits(first_components=3)
    points = np.random.default_rng(global_random_seed).standard_normal((300, 8))
    H = np.eye(300) - 1 / 300
    values = np.linalg.eigvalsh(H @ mc.Gaussian(1.0)(points) @ H)[::-1]
    needed = np.searchsorted(np.cumsum(values), 0.99 * values.sum()) + 1
    model = mc.KernelPCA(0.99, kernel=mc.Gaussian(1.0), memory="500KB")
    planned = mc.plan(model, points)
    assert planned.route == "lazy"
    assert "the data decide how many hold the share" in planned.reason
    mc.KernelPCA(0.99, kernel=mc.Gaussian(1.0)).fit(points[:120])
    tracemalloc.start()
    with pytest.raises(
        MemoryError, match=r"n_components = 0.99, at least (\d+) .* needs .* fewer components"
    ) as error:
        model.fit(points)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    least = int(re.search(r"at least (\d+)", str(error.value))[1])
    # one round of three components shows this
    assert 50 < least <= needed
    assert peak < 1.15 * planned.bytes
    # with the memory of all components the fit succeeds
    every = mc.plan(mc.KernelPCA(kernel=mc.Gaussian(1.0)), points).bytes
    found = mc.KernelPCA(0.99, kernel=mc.Gaussian(1.0), memory=every).fit(points)
    assert found.n_components_ == needed
    np.testing.assert_allclose(found.eigenvalues_, values[:needed], rtol=1e-9)


@pytest.mark.parametrize(("share", "count"), [(0.4, 1), (0.5, 1), (0.51, 2), (0.8, 3), (0.99, 3)])
def test_the_fewest_values_that_hold_a_share(share, count):
    assert pca.fewest(np.array([5.0, 2.0, 1.0]), share, 10.0) == count
