import numpy as np
import pytest

import mercer as mc
from mercer.capacity import Spectrum, log_covering_number, spectrum


@pytest.fixture(scope="module")
def plain():
    return spectrum(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(60, 2)), centre=False)


def spectrum_of(axes, complete=True):
    """The spectrum of an ellipsoid with the given half-axes, of 4 points."""
    values = 4 * np.asarray(axes) ** 2
    return Spectrum(values, values, values, 4, values.sum(), False, complete, 0 * values)


@pytest.mark.parametrize(
    ("axes", "epsilon", "expected"),
    [
        # d = 1: e^2 = 0.36 - 0.25; d = 2: e = 0.6
        ([1.0, 0.5], 0.6, min(np.log(4 / np.sqrt(0.11)), np.log(4 / 0.6) + np.log(2 / 0.6))),
        ([1.0, 0.5], 0.4, np.log(10) + np.log(5)),
        # d = 7: the last axis counts log 2, less than omitting it
        ([1.0] * 6 + [0.2495], 0.5, 6 * np.log(8) + np.log(2)),
        ([1.0, 0.5], 1.0 + 1e-12, 0.0),
    ],
)
def test_the_bound_is_the_smallest_over_the_number_of_axes(axes, epsilon, expected):
    assert log_covering_number(spectrum_of(axes), epsilon) == pytest.approx(expected, rel=1e-12)
    assert log_covering_number(spectrum_of(axes), 3 * epsilon, radius=3.0) == pytest.approx(
        expected, rel=1e-12
    )


def test_the_last_axis_is_kept_only_of_a_complete_spectrum():
    part = spectrum_of([1.0, 0.5], complete=False)
    assert log_covering_number(part, 0.51) == pytest.approx(np.log(4 / np.sqrt(0.51**2 - 0.25)))
    assert log_covering_number(part, 0.5) == np.inf
    assert log_covering_number(spectrum_of([1.0, 0.5]), 0.51) < log_covering_number(part, 0.51)


@pytest.mark.parametrize("epsilon", [0.05, 0.2, 0.5])
def test_no_packing_is_larger_than_the_bound_of_the_covering(plain, epsilon, global_random_seed):
    # points of the ellipsoid more than 2 epsilon apart need a ball each
    rng = np.random.default_rng(global_random_seed)
    axes = np.sqrt(plain.values / plain.n)
    directions = rng.normal(size=(4000, len(axes))) * np.exp(-np.arange(len(axes)) / 2)
    points = directions / np.linalg.norm(directions, axis=1, keepdims=True) * axes
    kept = points[:1]
    for point in points[1:]:
        if np.min(np.sum((kept - point) ** 2, axis=1)) > 4 * epsilon**2:
            kept = np.vstack([kept, point])
    assert np.log(len(kept)) <= log_covering_number(plain, epsilon)


@pytest.mark.parametrize("epsilon", [0.01, 0.1, 0.3])
def test_it_is_at_least_the_ratio_of_volumes(plain, epsilon):
    axes = np.sqrt(plain.values / plain.n)
    assert log_covering_number(plain, epsilon) >= np.sum(np.log(np.maximum(axes / epsilon, 1)))


def test_one_ball_suffices_beyond_the_largest_axis(plain):
    assert log_covering_number(plain, 1.01 * np.sqrt(plain.values[0] / plain.n)) == 0


def test_it_depends_on_radius_over_epsilon(plain):
    assert np.isclose(log_covering_number(plain, 0.1), log_covering_number(plain, 0.5, radius=5.0))


def test_part_of_a_spectrum_gives_no_smaller_number(plain):
    X = np.random.default_rng(0).normal(size=(60, 2))
    part = spectrum(mc.Gaussian(0.5), X, 6, centre=False)
    # the six eigenvalues of both are those of two solvers
    assert log_covering_number(part, 0.3) >= log_covering_number(plain, 0.3) * (1 - 1e-14)
    assert log_covering_number(part, 1e-6) == np.inf


def test_a_centred_spectrum_is_refused():
    with pytest.raises(ValueError, match="centre=False"):
        log_covering_number(spectrum(mc.Linear(), np.eye(3)), 0.1)
