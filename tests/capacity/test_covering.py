import numpy as np
import pytest

import mercer as mc
from mercer.capacity import log_covering_number, spectrum


@pytest.fixture(scope="module")
def plain():
    return spectrum(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(60, 2)), centre=False)


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
def test_it_is_at_least_what_volumes_ask(plain, epsilon):
    axes = np.sqrt(plain.values / plain.n)
    assert log_covering_number(plain, epsilon) >= np.sum(np.log(np.maximum(axes / epsilon, 1)))


def test_one_ball_suffices_beyond_the_largest_axis(plain):
    assert log_covering_number(plain, 1.01 * np.sqrt(plain.values[0] / plain.n)) == 0


def test_it_is_a_matter_of_radius_over_epsilon(plain):
    assert np.isclose(log_covering_number(plain, 0.1), log_covering_number(plain, 0.5, radius=5.0))


def test_part_of_a_spectrum_gives_no_smaller_number(plain):
    X = np.random.default_rng(0).normal(size=(60, 2))
    part = spectrum(mc.Gaussian(0.5), X, 6, centre=False)
    assert log_covering_number(part, 0.3) >= log_covering_number(plain, 0.3)
    assert log_covering_number(part, 1e-6) == np.inf


def test_a_centred_spectrum_is_refused():
    with pytest.raises(ValueError, match="centre=False"):
        log_covering_number(spectrum(mc.Linear(), np.eye(3)), 0.1)
