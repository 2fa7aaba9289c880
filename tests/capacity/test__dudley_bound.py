"""dudley_bound: the complexity is above that of random signs, and the integral above a finer one."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.integrate import quad

import mercer as mc
from mercer.capacity import Model, Spectrum, dudley_bound, log_covering_number, rademacher, spectrum

KERNELS = [mc.Gaussian(0.3), mc.Gaussian(30.0), mc.Laplacian(1.0), mc.Polynomial(2, 1.0, 1.0)]


def _model(seed=0, n=80):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 2 * y[:, None]
    return mc.capacity.model(mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, y), X, y)


def _plain(model, **options):
    return spectrum(model.kernel, model.points, centre=False, **options)


def deviations(n, confidence):
    """Return j and 3 sqrt(log(2 / delta_j) / (2 n)) of all margins 2^-j in the margin bound."""
    j = np.arange(-20, 21)
    delta = (2 / 3) * (1 - confidence) / ((abs(j) + 1) * (abs(j) + 2))
    return j, 3 * np.sqrt(np.log(2 / delta) / (2 * n))


def complexity(found):
    """Return the complexity in the bound of a model with the norm 1 and all margins 64."""
    n, one = found.n, np.ones(found.n)
    model = Model(mc.Linear(), one[:, None], np.arange(n), one, 64 * one, one, 1.0, 0.0)
    # the smallest over margins: solved for the complexity, the largest
    j, rest = deviations(n, 0.9)
    value = dudley_bound(model, found, confidence=0.9).value
    return np.max((value - (0.5**j > 64) - rest) / (2 * 2.0**j)) - n**-0.5


def integral(found):
    """Return the smallest 4 alpha + 12 / sqrt(n) times the sum over the radii above alpha, of 400 radii."""
    radii = np.sqrt(found.values[0] / found.n) * np.geomspace(1e-6, 1, 400)
    steps = [np.sqrt(log_covering_number(found, a)) * (b - a) for a, b in pairwise(radii)]
    return min(4 * a + 12 / np.sqrt(found.n) * sum(steps[i:]) for i, a in enumerate(radii))


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_the_complexity_is_at_least_the_mean_over_random_signs(kernel, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    X = rng.normal(size=(120, 2))
    # the supremum over functions of norm 1 is |sum_i sigma_i phi(x_i)| / n
    signs = rng.choice([-1.0, 1.0], (500, 120))
    mean = np.sqrt(np.sum(signs @ kernel(X) * signs, axis=1)).mean() / 120
    found = complexity(spectrum(kernel, X, centre=False))
    assert mean <= found <= 40 * mean


@pytest.mark.parametrize("axes", [[1.0], [1.0, 0.5, 0.01], [1.0, 0.9, 0.8]])
def test_the_sum_is_above_the_integral_and_near_it(axes):
    values = 9 * np.array(axes) ** 2
    flat = Spectrum(values, values, values, 9, values.sum(), False, True, 0 * values)

    def value(alpha):
        # log N jumps at the axes
        return (
            4 * alpha
            + 12 / 3 * quad(lambda t: np.sqrt(log_covering_number(flat, t)), alpha, 1, limit=100)[0]
        )

    expected = min(value(alpha) for alpha in np.geomspace(1e-4, 1, 25))
    assert expected * (1 - 0.02) <= complexity(flat) <= 1.1 * expected


def test_the_bound_is_the_margin_bound_with_this_complexity():
    model = _model()
    plain, n = _plain(model), len(model)
    norm, best = np.hypot(model.norm, model.bias), np.inf
    for j, rest in zip(*deviations(n, 0.9), strict=True):
        failed = np.mean(model.margins < norm / 2.0**j)
        best = min(best, failed + 2 * 2.0**j * (integral(plain) + 1 / np.sqrt(n)) + rest)
    assert dudley_bound(model, plain, confidence=0.9).value == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_it_is_above_the_bound_from_the_trace(seed):
    model = _model(seed)
    assert dudley_bound(model, _plain(model)).value > rademacher(model).value


def test_part_of_a_spectrum_gives_no_smaller_complexity():
    X = np.random.default_rng(0).normal(size=(200, 3))
    kernel = mc.Laplacian(0.5)
    few, most = (complexity(spectrum(kernel, X, n, centre=False)) for n in (5, 150))
    assert few > most


def test_a_spectrum_of_other_points_or_centred_is_refused():
    model = _model()
    with pytest.raises(ValueError, match="spectrum is of 5 points, but the model has 80"):
        dudley_bound(model, spectrum(mc.Linear(), np.eye(5), centre=False))
    with pytest.raises(ValueError, match="centre=False"):
        dudley_bound(model, spectrum(model.kernel, model.points))
