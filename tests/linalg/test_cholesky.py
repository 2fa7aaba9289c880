"""Cholesky factors: K = F F' + remainder with greedy and random pivots; jitter."""

import numpy as np
import pytest

import mercer as mc
from mercer.linalg import cholesky

X = np.random.default_rng(0).standard_normal((300, 3))
KERNEL = mc.Gaussian(0.3)
K = KERNEL(X)


def factor(kind, gram, rank=None, tol=None):
    if kind == "greedy":
        return cholesky.pivoted(gram, rank, tol)
    return cholesky.randomly_pivoted(gram, rank or gram.shape[0], 0, tol)


@pytest.mark.parametrize("kind", ["greedy", "random"])
@pytest.mark.parametrize("rank", [1, 7, 80])
def test_the_error_is_the_trace_of_a_positive_semidefinite_remainder(kind, rank):
    part = factor(kind, mc.Gram(KERNEL, X), rank)
    remainder = K - part.factor @ part.factor.T
    assert part.factor.shape == (300, rank)
    assert len(set(part.pivots.tolist())) == rank
    np.testing.assert_allclose(part.error, np.trace(remainder) / np.trace(K), rtol=1e-6, atol=1e-13)
    assert np.linalg.eigvalsh(remainder).min() > -1e-11
    # the factor reproduces the columns of its pivots
    np.testing.assert_allclose(remainder[:, part.pivots], 0, atol=1e-7)


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_the_corner_at_the_pivots_is_lower_triangular(kind):
    part = factor(kind, K, 40)
    corner = part.factor[part.pivots]
    np.testing.assert_array_equal(np.triu(corner, 1), 0)
    assert (corner.diagonal() > 0).all()


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_a_matrix_of_low_rank_is_factored_exactly_and_no_further(kind):
    F = np.random.default_rng(1).standard_normal((100, 6))
    part = factor(kind, F @ F.T)
    assert len(part.pivots) == 6
    assert part.error < 1e-12
    np.testing.assert_allclose(part.factor @ part.factor.T, F @ F.T, atol=1e-11)


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_repeated_points_are_chosen_once(kind):
    repeated = np.repeat(X[:20], 5, axis=0)
    part = factor(kind, mc.Gram(mc.Gaussian(2.0), repeated))
    assert len(set((part.pivots // 5).tolist())) == len(part.pivots) == 20


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_tol_stops_when_what_remains_is_small(kind):
    part = factor(kind, K, tol=1e-2)
    assert 0 < len(part.pivots) < 100
    assert (K - part.factor @ part.factor.T).diagonal().max() <= 1e-2


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_float32_stops_at_its_own_rounding(kind):
    part = factor(kind, mc.Gram(KERNEL, X.astype(np.float32)))
    assert len(part.pivots) < len(factor(kind, mc.Gram(KERNEL, X)).pivots)
    assert np.isfinite(part.factor).all()
    np.testing.assert_allclose(part.factor @ part.factor.T, K, atol=300 * np.finfo(np.float32).eps)


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_the_number_of_threads_changes_no_bit_and_parts_of_the_points_none_of_the_factor(
    kind, using_threads, limits
):
    def found(threads):
        with using_threads(threads):
            return factor(kind, mc.Gram(KERNEL, X), 40)

    whole = found(1)
    np.testing.assert_array_equal(found(3).factor, whole.factor)
    limits(factor_bytes=800)
    parts = found(2)
    np.testing.assert_array_equal(parts.pivots, whole.pivots)
    np.testing.assert_allclose(parts.factor, whole.factor, atol=1e-12)


def test_greedy_pivots_are_those_of_the_textbook():
    remainder, pivots = K.copy(), []
    for _ in range(15):
        pivots.append(int(np.argmax(remainder.diagonal())))
        g = remainder[:, pivots[-1]] / remainder[pivots[-1], pivots[-1]] ** 0.5
        remainder = remainder - np.outer(g, g)
    assert cholesky.pivoted(K, 15).pivots.tolist() == pivots


def test_rejection_gives_pivots_distributed_as_if_drawn_one_by_one():
    A = np.array([[4.0, 1.9, 0.0], [1.9, 1.0, 0.3], [0.0, 0.3, 1.0]])
    A = np.kron(np.eye(2), A)
    rng, weights = np.random.default_rng(0), A.diagonal() / np.trace(A)
    counts = np.zeros((6, 6))
    for _ in range(4000):
        partial = cholesky.Partial(A, A.diagonal(), None, None)
        proposed = rng.choice(6, size=8, p=weights)
        partial.add(proposed, rng.uniform(size=8) * A.diagonal()[proposed])
        if partial.size > 1:
            counts[tuple(partial.pivots[:2])] += 1
    for i in np.flatnonzero(counts.sum(axis=1) > 1000):
        remains = A.diagonal() - A[:, i] ** 2 / A[i, i]
        frequencies = counts[i] / counts[i].sum()
        spread = 4 * np.sqrt(0.25 / counts[i].sum())
        np.testing.assert_allclose(frequencies, remains / remains.sum(), atol=spread)
    assert counts.sum() > 3900


def test_random_pivots_come_near_the_best_approximation():
    best = np.linalg.eigvalsh(K)[::-1]
    part = cholesky.randomly_pivoted(K, 60, 0)
    assert part.error < 10 * best[40:].sum() / best.sum()


def test_the_same_seed_gives_the_same_pivots():
    one, other = (cholesky.randomly_pivoted(K, 30, 5).pivots for _ in range(2))
    np.testing.assert_array_equal(one, other)


def test_a_negative_diagonal_is_refused_and_a_zero_matrix_has_no_pivots():
    with pytest.raises(
        ValueError,
        match="diagonal must be finite and at least 0 for a Cholesky factor, its minimum is -1",
    ):
        cholesky.pivoted(np.diag([1.0, -1.0]))
    assert cholesky.pivoted(np.zeros((3, 3))).pivots.tolist() == []
    assert cholesky.pivoted(np.zeros((3, 3))).error == 0


def test_no_jitter_without_need():
    A = K + np.eye(300)
    L, jitter = cholesky.jittered(A)
    assert jitter == 0
    np.testing.assert_allclose(L @ L.T, A, atol=1e-13)


@pytest.mark.parametrize("n", [2, 20, 200])
def test_duplicates_take_the_least_jitter_that_succeeds_with_a_warning(n):
    A = mc.Gaussian(0.01)(np.repeat(X[: n // 2], 2, axis=0))
    with pytest.warns(UserWarning, match="not positive definite to working precision"):
        L, jitter = cholesky.jittered(A - 1e-15 * np.eye(n))
    assert 0 < jitter <= 1e-6
    np.testing.assert_allclose(L @ L.T, A, atol=2 * jitter + 1e-13)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_a_matrix_and_its_factor_share_memory(order, dtype):
    A = (K + np.eye(300)).astype(dtype)
    V = np.random.default_rng(0).standard_normal((300, 2)).astype(dtype)
    held = A.copy(order=order)
    found = cholesky.Factored(held)
    eps = np.finfo(dtype).eps
    np.testing.assert_allclose(found @ V, A.astype(float) @ V, rtol=0, atol=1e3 * eps)
    np.testing.assert_allclose(A.astype(float) @ found.solve(V), V, rtol=0, atol=1e4 * eps)
    L = found.factor()
    assert np.shares_memory(L, held)
    np.testing.assert_allclose(L, np.linalg.cholesky(A.astype(float)), rtol=0, atol=1e3 * eps)


@pytest.mark.parametrize("scale", [2.0**-900, 2.0**-60, 2.0**900])
def test_products_and_solutions_have_the_digits_of_a_matrix_of_any_size(scale):
    A, V = K + np.eye(300), np.random.default_rng(0).standard_normal((300, 2))
    found, near = cholesky.Factored(scale * A), cholesky.Factored(A.copy())
    np.testing.assert_allclose((found @ V) / scale, near @ V, rtol=0, atol=1e-12)
    np.testing.assert_allclose(found.solve(V) * scale, near.solve(V), rtol=0, atol=1e-13)
    # the factor stays what it was
    np.testing.assert_allclose(found.factor() / scale**0.5, near.factor(), rtol=0, atol=1e-13)


def test_the_product_of_a_matrix_with_jitter_is_without_it():
    A = np.ones((4, 4)) - 1e-9 * np.eye(4)
    with pytest.warns(UserWarning, match="jitter"):
        found = cholesky.Factored(A.copy())
    assert found.jitter > 1e-9
    np.testing.assert_allclose(found @ np.eye(4), A, rtol=0, atol=1e-15)


def test_an_indefinite_matrix_is_refused():
    with pytest.raises(ValueError, match="the matrix is indefinite"):
        cholesky.jittered(np.array([[1.0, 2.0], [2.0, 1.0]]))
    with pytest.raises(ValueError, match="the matrix is indefinite"):
        cholesky.jittered(np.zeros((2, 2)))


def test_a_matrix_without_numbers_is_refused():
    with pytest.raises(ValueError, match="adding nan"):
        cholesky.jittered(np.full((3, 3), np.nan))


@pytest.mark.parametrize(("negative", "steps"), [(1e-16, 0), (3e-13, 4), (1.5e-7, 9)])
def test_jitter_grows_tenfold_from_eps_of_the_mean_diagonal(negative, steps):
    A = np.diag([1.0, 1.0, 1.0, -negative])
    with pytest.warns(UserWarning, match="jitter"):
        _, jitter = cholesky.jittered(A)
    assert jitter == pytest.approx(2.0**-52 * 10.0**steps * np.trace(A) / 4)


def test_more_jitter_than_a_millionth_is_not_added():
    with pytest.raises(ValueError, match=r"adding 7\.5e-07 \(1e-6 of its mean diagonal\)"):
        cholesky.jittered(np.diag([1.0, 1.0, 1.0, -2e-7]))


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_diagonal_entries_below_n_eps_are_rounding_and_no_pivots(kind):
    K = np.diag([1.0, 1e-3, 5e-16, 3e-16])
    part = factor(kind, K)
    assert sorted(part.pivots.tolist()) == [0, 1]
    assert part.error == pytest.approx(8e-16, rel=1e-2)
    assert sorted(factor(kind, np.diag([1.0, 1e-3, 1.2e-15, 3e-16])).pivots.tolist()) == [0, 1, 2]


@pytest.mark.parametrize("kind", ["greedy", "random"])
def test_the_rank_is_the_most_pivots_also_where_columns_are_stored_anew(kind):
    part = factor(kind, np.eye(200), 150)
    assert len(part.pivots) == 150
    assert part.error == pytest.approx(0.25)
    np.testing.assert_array_equal(part.factor[part.pivots], np.eye(150))


@pytest.mark.parametrize("rank", [50, 100, 300])
def test_memory_for_the_factor_doubles_and_ends_at_the_rank(rank):
    for given in (True, False):
        A = K if given else K[:rank, :rank]
        partial = cholesky.Partial(A, A.diagonal(), rank if given else None, None)
        held = set()
        for i in range(rank):
            partial.add(np.array([i]), np.zeros(1))
            held.add(len(partial._rows))
        # a given number is allocated once: growing would need two arrays
        expected = [rank] if given else {50: [50], 100: [64, 100], 300: [64, 130, 262, 300]}[rank]
        assert sorted(held) == expected


def test_fewer_roundings_keep_vectors_that_are_small_beside_others():
    X = np.diag(np.where(np.arange(100) % 2, 1e-7, 1.0))
    gram = mc.Gram(mc.Linear(), X)
    for roundings, kept in ((None, 50), (8, 100)):
        partial = cholesky.Partial(gram, gram.diagonal(), None, None, roundings)
        while partial.open:
            partial.add_one(np.argmax(partial.diagonal))
        found = partial.factor @ partial.factor.T
        assert np.count_nonzero(found) == kept
        np.testing.assert_allclose(found[found > 0], (X @ X.T)[found > 0], rtol=1e-12)
