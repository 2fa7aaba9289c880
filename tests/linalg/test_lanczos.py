"""Eigenpairs by the Lanczos iteration: prescribed spectra, singular cases, residuals, agreement with LAPACK."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from tests.linalg.spectra import SPECTRA, Counted, N, assert_certified, matrix

import mercer as mc
from mercer.linalg import eigh, lanczos
from mercer.linalg.operators import Centred, InnerProducts, centred


@pytest.mark.parametrize("name", SPECTRA)
@pytest.mark.parametrize("k", [1, 12])
def test_lanczos_finds_the_leading_pairs_of_any_spectrum(name, k):
    K, _ = matrix(SPECTRA[name])
    pairs = lanczos.lanczos(Counted(K), k, max_products=1000)
    assert pairs.tol == 1e-13 * N**0.5
    assert pairs.converged.all()
    assert_certified(K, pairs, k)


def test_the_eigenspace_of_a_repeated_eigenvalue_is_found_whole():
    K, V = matrix(SPECTRA["repeated"])
    pairs = lanczos.lanczos(K, 10)
    np.testing.assert_allclose(pairs.vectors @ pairs.vectors.T, V[:, :10] @ V[:, :10].T, atol=1e-11)


def test_pairs_that_did_not_converge_come_back_with_residuals_that_are_true():
    K, _ = matrix(SPECTRA["flat"])
    with pytest.warns(ConvergenceWarning, match="of 12 eigenpairs did not converge in 3 products"):
        pairs = lanczos.lanczos(K, 12, max_products=3)
    V = pairs.vectors
    assert np.isfinite(V).all()
    np.testing.assert_allclose(
        pairs.residuals * pairs.norm,
        np.linalg.norm(K @ V - V * pairs.values, axis=0),
        rtol=1e-6,
        atol=1e-14,
    )


def test_products_are_counted():
    operator = Counted(matrix(SPECTRA["slow"])[0])
    assert lanczos.lanczos(operator, 8).products == operator.products


@pytest.mark.parametrize(("k", "most"), [(4, 48), (20, 64)])
def test_a_basis_grows_to_eight_blocks_or_four_and_twice_the_pairs_and_restarts(
    monkeypatch, k, most, costs, limits
):
    K, _ = matrix(1 / np.arange(1.0, 801))
    costs(LEAST_COLUMNS=6, MOST_COLUMNS=6)
    limits(more_columns=2)
    sizes, multiply = [], lanczos.Basis.multiply

    def watched(basis, operator):
        multiply(basis, operator)
        sizes.append(basis.size)

    monkeypatch.setattr(lanczos.Basis, "multiply", watched)
    pairs = lanczos.lanczos(K, k, tol=1e-12, max_products=1000)
    assert pairs.products > 8
    # after a restart, k + 6 vectors and blocks of 6
    assert max(sizes) == most
    assert pairs.converged.all()


@pytest.mark.parametrize(("k", "width"), [(1, 16), (30, 38), (60, 48)])
def test_a_block_has_eight_columns_more_than_pairs_between_16_and_48_and_the_first_at_least_these(
    k, width
):
    widths = []

    class Watched(Counted):
        def __matmul__(self, V):
            widths.append(V.shape[1])
            return super().__matmul__(V)

    lanczos.lanczos(Watched(np.diag(0.9 ** np.arange(400.0))), k, max_products=1000)
    assert max(widths[1:]) == width
    assert max(widths) == widths[0] == max(width, k + 8)


@pytest.mark.parametrize("value", [0.0, 1.0])
def test_one_product_is_enough_where_all_vectors_are_eigenvectors(value):
    pairs = lanczos.lanczos(value * np.eye(400), 60)
    assert pairs.vectors.shape == (400, 60)
    assert pairs.products == 1
    np.testing.assert_allclose(pairs.values, value, atol=1e-13)
    np.testing.assert_allclose(pairs.vectors.T @ pairs.vectors, np.eye(60), atol=1e-12)


def test_products_with_rounding_errors_above_the_tolerance_end_the_iteration():
    K, _ = matrix(SPECTRA["slow"])
    noise = np.random.default_rng(1)

    class Noisy(Counted):
        def __matmul__(self, V):
            return super().__matmul__(V) + 1e-9 * noise.standard_normal(V.shape)

    operator = Noisy(K)
    with pytest.warns(ConvergenceWarning):
        pairs = lanczos.lanczos(operator, 4)
    assert 24 < operator.products < 80
    np.testing.assert_allclose(pairs.values, SPECTRA["slow"][:4], atol=1e-7)


@pytest.mark.parametrize(("n", "k", "stored"), [(30, 1, True), (41, 2, False), (41, 3, True)])
def test_the_dense_solver_takes_small_orders_and_a_twentieth_of_the_pairs(
    monkeypatch, n, k, stored, costs
):
    costs(DENSE_ORDER=30)
    monkeypatch.setattr(
        lanczos, "lanczos", lambda _operator, k, random_state: ("lanczos", k, random_state)
    )
    operator = InnerProducts(
        mc.features(mc.Gaussian(0.3), np.random.default_rng(0).standard_normal((n, 2)))
    )
    same, pairs = lanczos.leading(operator, k, random_state=5)
    if stored:
        np.testing.assert_array_equal(same, operator.dense())
        np.testing.assert_allclose(pairs.values, np.linalg.eigvalsh(same)[::-1][:k], atol=1e-12)
    else:
        assert same is operator
        assert pairs == ("lanczos", k, 5)


def test_the_dense_solver_takes_a_twentieth_of_the_pairs_where_the_memory_holds_it():
    needed = eigh.dense_bytes(4000, 300)
    assert lanczos.is_dense(4000, 300, needed)
    assert not lanczos.is_dense(4000, 300, needed - 1)
    assert not lanczos.is_dense(4000, 199)
    assert lanczos.is_dense(4000, 500, 1)


def test_the_same_seed_gives_the_same_bits_and_the_global_state_is_not_touched():
    K, _ = matrix(SPECTRA["slow"])
    before = np.random.get_state()[1].copy()
    one, other = (lanczos.lanczos(K, 3, random_state=None).vectors for _ in range(2))
    np.testing.assert_array_equal(one, other)
    np.testing.assert_array_equal(np.random.get_state()[1], before)


def test_k_near_n_falls_back_to_the_dense_solver_and_logs_it(caplog):
    K, _ = matrix(SPECTRA["flat"])
    with caplog.at_level("INFO", logger="mercer"):
        pairs = lanczos.lanczos(K, N - 1)
    assert "the dense solver takes over" in caplog.text
    assert_certified(K, pairs, N - 1)


def test_a_float32_operator_gives_float32_vectors_and_meets_its_own_tolerance():
    X = np.random.default_rng(0).standard_normal((600, 5)).astype(np.float32)
    G = mc.Gram(mc.Gaussian(0.1), X)
    pairs = lanczos.lanczos(Centred(G), 6)
    assert pairs.vectors.dtype == np.float32
    assert pairs.converged.all()
    assert pairs.tol == 2 * np.finfo(np.float32).eps * 600**0.5
    exact = eigh.dense(centred(G.dense().astype(float)), 6)
    np.testing.assert_allclose(pairs.values, exact.values, rtol=1e-5)


@pytest.mark.parametrize("name", ["decaying", "flat", "indefinite"])
def test_all_solvers_agree_with_signs_and_all(name):
    K, _ = matrix(SPECTRA[name])
    one, other = eigh.dense(K, 5), lanczos.lanczos(K, 5, max_products=1000)
    np.testing.assert_allclose(other.vectors, one.vectors, atol=1e-8)
    largest = np.take_along_axis(one.vectors, np.abs(one.vectors).argmax(axis=0)[None, :], axis=0)
    assert (largest > 0).all()


@pytest.mark.parametrize("k", [0, -1, N + 1])
@pytest.mark.parametrize("solve", [eigh.dense, lanczos.lanczos])
def test_an_impossible_number_of_pairs_is_refused(solve, k):
    with pytest.raises(ValueError, match=f"k = {k}"):
        solve(np.eye(N), k)
    with pytest.raises(ValueError, match="square operator"):
        solve(np.ones((3, 2)), 1)


@pytest.mark.parametrize("solve", [eigh.dense, lanczos.lanczos])
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_not_finite_are_refused(solve, value):
    K = np.eye(N)
    K[3, 4] = K[4, 3] = value
    with np.errstate(invalid="ignore"), pytest.raises(ValueError, match="NaN or infinity"):
        solve(K, 2)


def test_one_answer_of_a_callback_ends_the_products_once_there_are_enough_pairs(listening):
    K, heard = np.diag(np.arange(300.0)), []

    def third(stage, residual):
        heard.append((stage, residual))
        return len(heard) == 3

    with listening(third), pytest.warns(ConvergenceWarning, match="did not converge in 3 products"):
        pairs = lanczos.lanczos(K, 2, random_state=0)
    assert [stage for stage, _ in heard] == ["Lanczos products"] * 3
    assert pairs.products == 3
    assert heard[-1][1] == pytest.approx(
        pairs.residuals.max() * pairs.norm / pairs.values[0], rel=0.1
    )


@pytest.mark.parametrize("scale", [1e-200, 1e150])
def test_the_scale_of_the_operator_does_not_matter(scale):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(300, 300)))[0]
    values = np.append([7.0, 6.0, 5.0], np.linspace(4, -4, 297))
    K = (Q * values) @ Q.T
    pairs = lanczos.lanczos(scale * (K + K.T) / 2, 3, random_state=0)
    np.testing.assert_allclose(pairs.values / scale, [7, 6, 5], rtol=1e-10)
    assert 0 < pairs.residuals.max() < 1e-10


def test_an_eigenvalue_is_found_as_often_as_it_occurs(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    Q = np.linalg.qr(rng.standard_normal((400, 120)))[0]
    for k in (60, 110):
        # a block has 48 columns
        pairs = lanczos.lanczos(Q @ Q.T, k, random_state=global_random_seed)
        np.testing.assert_allclose(pairs.values, 1, rtol=0, atol=1e-12)
