"""Eigenpairs of arrays by LAPACK: prescribed spectra, signs, residuals, and drivers that are wrong."""

import array_api_strict
import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from tests.linalg.spectra import SPECTRA, N, assert_certified, matrix
from tests.reference.inside import computing_on, place_of

import mercer as mc
from mercer.linalg import eigh


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [1, 6, 12, N])
def test_the_dense_solver_finds_the_leading_pairs_of_any_spectrum(name, k):
    K, _ = matrix(SPECTRA[name])
    assert_certified(K, eigh.dense(K, k), k)


@pytest.mark.parametrize("name", SPECTRA)
def test_a_large_matrix_goes_to_the_device_where_blocks_are_evaluated(name, monkeypatch, costs):
    asked = []
    original = eigh._library
    costs(DEVICE_ORDER=2)
    monkeypatch.setattr(eigh, "_library", lambda K, k: asked.append(place_of(K)) or original(K, k))
    place = place_of(
        array_api_strict.asarray(np.ones(1), device=array_api_strict.Device("device1"))
    )
    K, _ = matrix(SPECTRA[name])
    with computing_on(place):
        pairs = eigh.dense(K, 6)
    assert asked == [place]
    assert type(pairs.vectors) is np.ndarray
    assert_certified(K, pairs, 6)


def test_a_tie_of_signs_goes_to_the_lowest_index():
    K = np.array([[2.0, -1.0], [-1.0, 2.0]])
    np.testing.assert_allclose(eigh.dense(K, 1).vectors[:, 0], [0.5**0.5, -(0.5**0.5)])
    np.testing.assert_allclose(
        eigh.dense(K + 1e-9 * np.eye(2)[::-1], 1).vectors[:, 0], [0.5**0.5, -(0.5**0.5)]
    )


@pytest.mark.parametrize(
    ("K", "norm"), [(np.diag([1.0, -5.0]), 5), (np.ones((3, 3)), 3), (np.zeros((2, 2)), 0)]
)
def test_the_norm_is_the_largest_eigenvalue_or_column_found(K, norm):
    assert eigh.dense(K, 1).norm == pytest.approx(norm)


def test_residuals_are_relative_to_the_norm():
    K = np.diag([4.0, 2.0, 1.0])
    V = np.array([[1.0], [1.0], [0.0]]) / 2**0.5
    pairs = eigh.certified(np.array([3.0]), V, K @ V, 4.0, K.dtype, 0.2, 1)
    np.testing.assert_allclose(pairs.residuals, [0.25])
    assert not pairs.converged.any()


@pytest.mark.parametrize(("gap", "sign"), [(1e-5, 1), (1e-3, -1)])
def test_entries_within_a_ten_thousandth_of_the_largest_are_ties(gap, sign):
    v = np.array([1.0, -1.0 - gap])
    first = eigh.dense(np.outer(v, v), 1).vectors[0, 0]
    assert np.sign(first) == sign


def arpack(monkeypatch, function):
    """Let a function take the place of ARPACK."""
    monkeypatch.setattr(eigh, "eigsh", function)


def without(monkeypatch, *names):
    """Let functions of the module fail."""
    for name in names:
        monkeypatch.setattr(eigh, name, None)


def broken(monkeypatch, costs, damage):
    """Let the driver of LAPACK for a subset be the first, and return damaged vectors."""
    costs(ARPACK_ORDER=N + 1)
    eigenvectors = eigh.lapack.eigenvectors

    def damaged(K, first, last):
        values, V = eigenvectors(K, first, last)
        return values, damage(V.copy())

    monkeypatch.setattr(eigh.lapack, "eigenvectors", damaged)


def test_vectors_that_a_driver_left_oblique_are_replaced(monkeypatch, costs):
    K, _ = matrix(SPECTRA["flat"])
    broken(monkeypatch, costs, lambda V: V @ (np.eye(5) + 0.3))
    assert_certified(K, eigh.dense(K, 5), 5)


@pytest.mark.parametrize(
    "damage", [np.zeros_like, lambda V: V + 1e-3, lambda V: V * [0, 1, 1, 1, 1]]
)
def test_another_driver_takes_over_from_one_that_is_wrong(monkeypatch, costs, damage):
    K, _ = matrix(SPECTRA["flat"])
    broken(monkeypatch, costs, damage)
    assert_certified(K, eigh.dense(K, 5), 5)


@pytest.mark.parametrize("found", [slice(1, 6), slice(0, 5)])
def test_the_vectors_of_arpack_are_used_unless_one_is_missing(monkeypatch, found):
    K, V = matrix(SPECTRA["slow"])
    values = SPECTRA["slow"]

    def five(operator, k, **given):
        # the largest of the others is that of ARPACK itself
        if k == 1:
            return eigsh(operator, k, **given)
        return values[found][::-1], V[:, found][:, ::-1]

    arpack(monkeypatch, five)
    complete = found.start == 0
    without(monkeypatch, "_lapack_subset" if complete else "_lapack_qr")
    assert_certified(K, eigh.dense(K, 5), 5)


@pytest.mark.parametrize("times", [2, 3])
def test_few_pairs_hold_an_eigenvalue_as_often_as_it_occurs(times, global_random_seed):
    X = np.random.default_rng(global_random_seed).standard_normal((150, 3))
    K = np.kron(np.eye(times), mc.Gaussian(0.3)(X))
    pairs = eigh.dense(K, 5)
    np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(K)[::-1][:5], rtol=1e-12)
    assert_certified(K, pairs, 5)


def test_few_pairs_of_a_large_order_are_those_of_lapack_where_arpack_fails(monkeypatch):
    K, _ = matrix(SPECTRA["flat"])

    def fail(*_, **__):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((N, 0)))

    arpack(monkeypatch, fail)
    assert_certified(K, eigh.dense(K, 5), 5)


def test_orders_that_lapack_cannot_index_are_refused_before_any_work():
    assert eigh._LAPACK_ORDER**2 < 2**31 <= (eigh._LAPACK_ORDER + 1) ** 2
    with pytest.raises(ValueError, match="order 46341 has more entries than LAPACK can index"):
        eigh.dense(np.broadcast_to(0.0, (46_341, 46_341)), 2)


def test_orthonormal_vectors_of_lapack_are_certified_by_one_product(monkeypatch):
    K, _ = matrix(SPECTRA["flat"])
    without(monkeypatch, "_lapack_qr")
    assert_certified(K, eigh.dense(K, N), N)


def test_nearly_orthonormal_vectors_become_so_by_products_alone(
    monkeypatch, costs, global_random_seed
):
    K, _ = matrix(SPECTRA["flat"])
    A = np.random.default_rng(global_random_seed).standard_normal((N, N))
    broken(monkeypatch, costs, lambda V: V @ (np.eye(N) + 1e-10 * (A + A.T)))
    without(monkeypatch, "_lapack_qr")
    pairs = eigh.dense(K, N)
    assert_certified(K, pairs, N)
    assert np.abs(pairs.vectors.T @ pairs.vectors - np.eye(N)).max() < 1e-13
