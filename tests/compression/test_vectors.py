"""Reduced sets of the vectors of a model: shared by all columns, or each column alone."""

import numpy as np
import pytest

import mercer as mc
from mercer.compression.vectors import Vectors, is_share

KERNEL = mc.Gaussian(0.5)


@pytest.fixture
def psi(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    coef = rng.normal(size=(30, 3)) * (rng.random((30, 3)) < [0.9, 0.6, 0.3])
    return mc.Expansion(KERNEL, rng.normal(size=(30, 2)), coef)


def test_shared_vectors_are_those_of_reduce(psi):
    found = Vectors(psi, mc.Greedy())
    expected = mc.reduce(psi, 7, method="greedy").expansion
    np.testing.assert_array_equal(found.reduced(7).points, expected.points)
    np.testing.assert_array_equal(found.reduced(7).coef, expected.coef)
    assert found.reduced(7) is found.reduced(7)


@pytest.mark.parametrize("method", [mc.Greedy(), mc.Construct()], ids=repr)
def test_each_column_alone_is_its_own_reduced_set(psi, method):
    found = Vectors(psi, method, shared=False)
    terms = np.count_nonzero(psi.coef, axis=0)
    assert found.most == terms.max()
    for size, numbers in [(5, [5, 5, 5]), (0.5, np.round(terms / 2).astype(int))]:
        chi = found.reduced(size)
        assert np.count_nonzero(chi.coef, axis=0).tolist() == list(numbers)
        for j, number in enumerate(numbers):
            own = mc.reduce(psi[:, [j]], int(number), method=method)
            np.testing.assert_allclose(mc.sqdist(chi[:, [j]], own.expansion), 0, atol=1e-12)
            assert found.relative_error(chi)[j] == pytest.approx(own.relative_error[0], rel=1e-6)


def test_points_that_columns_select_both_are_kept_once(psi):
    chi = Vectors(psi, mc.Greedy(), shared=False).reduced(20)
    assert len(np.unique(chi.points, axis=0)) == len(chi.points) <= 30


def test_columns_of_objects_are_joined():
    words = ["aab", "abb", "bab", "bbb"]
    psi = mc.Expansion(mc.strings.Spectrum(2), words, np.array([[2.0, 0], [1, 0], [0, 1], [0, 3]]))
    chi = Vectors(psi, mc.Greedy(), shared=False).reduced(1)
    assert list(chi.points) == ["aab", "bbb"]
    assert (chi.coef != 0).tolist() == [[True, False], [False, True]]


def test_a_column_without_terms_stays_zero():
    psi = mc.Expansion(KERNEL, np.eye(3), np.array([[1.0, 0], [2.0, 0], [0.5, 0]]))
    chi = Vectors(psi, mc.Greedy(), shared=False).reduced(1)
    assert not chi.coef[:, 1].any()
    assert Vectors(psi, mc.Greedy(), shared=False).relative_error(chi)[1] == 0


def test_a_share_is_a_number_between_zero_and_one():
    assert is_share(0.5)
    assert is_share(np.float32(0.25))
    assert not any(map(is_share, [1, 0, 2.5, None, 1.0, "0.5", True]))


def test_the_relative_error_of_wider_functions_is_that_in_the_space_of_the_model(
    global_random_seed,
):
    rng = np.random.default_rng(global_random_seed)
    narrow, wide = mc.Gaussian(4.0), mc.Gaussian(1.5)
    psi = mc.Expansion(narrow, rng.normal(size=(6, 1)), rng.normal(size=(6, 1)))
    chi = mc.Expansion(wide, rng.normal(size=(2, 1)), rng.normal(size=(2, 1)))
    # the squared norm of a smooth function is that of its interpolant on many points
    grid = np.linspace(-7, 7, 120)[:, None]
    values = psi(grid) - chi(grid)
    norm = np.sqrt((values.T @ np.linalg.pinv(narrow(grid, grid), rcond=1e-12) @ values).item())
    assert Vectors(psi, None).relative_error(chi)[0] == pytest.approx(
        norm / psi.norms()[0], rel=1e-4
    )


def test_wide_functions_in_many_dimensions_have_an_infinite_error():
    points = np.zeros((1, 2000))
    psi = mc.Expansion(mc.Gaussian(1.0), points, np.ones((1, 1)))
    assert (
        Vectors(psi, None).relative_error(
            mc.Expansion(mc.Gaussian(0.125), points, np.ones((1, 1)))
        )[0]
        == np.inf
    )


def test_the_relative_error_of_a_reduced_set_in_single_precision_is_not_rounded(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(60, 2)).astype(np.float32)
    psi = mc.Expansion(KERNEL, X, rng.normal(size=(60, 1)).astype(np.float32))
    found = mc.reduce(psi, 40, method="greedy")
    assert found.relative_error < 1e-2
    error = Vectors(psi, mc.Greedy()).relative_error(found.expansion)
    np.testing.assert_allclose(error, found.relative_error, rtol=1e-2, atol=1e-7)
