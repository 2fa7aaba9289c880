"""dudley_bound: the complexity is above that of random signs, and the integral above a finer one."""

import numpy as np
import pytest
from scipy.integrate import quad

import mercer as mc
from mercer.capacity import Spectrum, dudley_bound, log_covering_number, rademacher, spectrum
from mercer.capacity._dudley_bound import complexity

KERNELS = [mc.Gaussian(0.3), mc.Gaussian(30.0), mc.Laplacian(1.0), mc.Polynomial(2, 1.0, 1.0)]


def _model(seed=0, n=80):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 2)) + 2 * y[:, None]
    return mc.capacity.model(mc.SVC(kernel=mc.Gaussian(0.3)).fit(X, y), X, y)


def _plain(model, **options):
    return spectrum(model.kernel, model.points, centre=False, **options)


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
    for j in range(-20, 21):
        delta = (2 / 3) * 0.1 / ((abs(j) + 1) * (abs(j) + 2))
        failed = np.mean(model.margins < norm / 2.0**j)
        rest = 3 * np.sqrt(np.log(2 / delta) / (2 * n))
        best = min(best, failed + 2 * 2.0**j * (complexity(plain) + 1 / np.sqrt(n)) + rest)
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
