import numpy as np
import pytest
from scipy.integrate import quad
from scipy.special import zeta

import mercer as mc
from mercer.capacity import ExponentialDecay, ListedDecay, PolynomialDecay, estimate_decay


@pytest.mark.parametrize(
    ("rate", "power"), [(0.5, 1.0), (0.05, 2.0), (2.0, 0.5), (2.0, 0.2), (2.0, 0.25), (0.001, 3.0)]
)
def test_an_exponential_law_is_recovered(rate, power):
    found = estimate_decay(np.exp(ExponentialDecay(rate, power, 3.0).log_values(np.arange(1, 40))))
    assert isinstance(found, ExponentialDecay)
    assert np.allclose([found.rate, found.power, found.scale], [rate, power, 3.0], rtol=1e-6)


def test_a_polynomial_law_is_recovered_under_noise(global_random_seed):
    noise = np.random.default_rng(global_random_seed).normal(0, 0.02, 60)
    values = np.sort(np.exp(PolynomialDecay(2.5, 4.0).log_values(np.arange(1, 61)) + noise))[::-1]
    found = estimate_decay(values)
    assert isinstance(found, PolynomialDecay)
    assert abs(found.power - 2.5) < 0.1


def test_smooth_kernels_fall_exponentially_and_rough_ones_polynomially():
    X = np.linspace(0, 1, 400)[:, None]
    gauss = mc.capacity.spectrum(mc.Gaussian(10.0), X, 10, centre=False)
    rough = mc.capacity.spectrum(mc.Laplacian(1.0), X, 30, centre=False)
    assert isinstance(estimate_decay(gauss.values / 400), ExponentialDecay)
    law = estimate_decay(rough.values[2:] / 400)
    # the Ornstein-Uhlenbeck kernel: 1 + 2 nu with nu = 1/2
    assert isinstance(estimate_decay((np.arange(1, 31) + 0.0) ** -2), PolynomialDecay)
    assert isinstance(law, PolynomialDecay | ExponentialDecay)
    assert abs(np.polyfit(np.log(np.arange(10, 31)), np.log(rough.values[9:30]), 1)[0] + 2) < 0.15


@pytest.mark.parametrize("t", [0.3, 0.7, 1.0])
def test_sums_of_powers_are_those_of_the_zeta_function(t):
    law = PolynomialDecay(4.0, 2.0)
    assert np.isclose(np.exp(law.log_power_sum(t)), 2.0**t * zeta(4.0 * t), rtol=1e-3)
    assert PolynomialDecay(1.5).log_power_sum(0.5) == np.inf
    assert PolynomialDecay(2.0).log_power_sum(0.5) == np.inf


# terms that are summed; laws so slow that the rest is a large part of the sum
TERMS = np.arange(1.0, 100_001)


@pytest.mark.parametrize("power", [1.02, 1.1, 1.5])
def test_the_tail_of_a_polynomial_law_is_its_integral(power):
    found = np.exp(PolynomialDecay(power, 2.0).log_power_sum(1.0))
    tail = 1e5 ** (1 - power) * quad(lambda x: x**-power, 1, np.inf, limit=200)[0]
    assert found == pytest.approx(2 * (np.sum(TERMS**-power) + tail), rel=1e-7)
    assert zeta(power) <= found / 2 <= zeta(power) + 1e5**-power


@pytest.mark.parametrize(("rate", "power"), [(3e-5, 1.0), (5e-3, 0.5), (2e-10, 2.0)])
def test_the_tail_of_an_exponential_law_is_its_integral(rate, power):
    found = np.exp(ExponentialDecay(rate, power, 3.0).log_power_sum(0.5))
    tail = 1e5 * quad(lambda x: np.exp(-0.5 * rate * (1e5 * x) ** power), 1, np.inf)[0]
    head = np.sum(np.exp(-0.5 * rate * TERMS**power))
    assert tail > 0.1 * head
    assert found == pytest.approx(np.sqrt(3) * (head + tail), rel=1e-7)


def test_sums_of_an_exponential_law_are_geometric():
    assert np.isclose(
        np.exp(ExponentialDecay(0.5, 1.0, 3.0).log_power_sum(0.5)), np.sqrt(3) / (np.exp(0.25) - 1)
    )


def test_laws_start_at_one_and_are_geometric_by_default():
    assert ExponentialDecay(0.5) == ExponentialDecay(0.5, 1.0, 1.0)
    assert PolynomialDecay(2.0) == PolynomialDecay(2.0, 1.0)


def test_a_list_sums_its_values_and_ends():
    law = ListedDecay(np.array([4.0, 1.0]))
    assert law.log_power_sum(0.5) == pytest.approx(np.log(3))
    assert law.log_values(np.array([1, 2, 3, 9])).tolist() == [np.log(4.0), 0.0, -np.inf, -np.inf]


def test_the_law_with_the_smaller_schwarz_criterion_is_returned():
    # n log(RSS / n) + k log n, k = 2 for the polynomial and 3 for the exponential law, by polyfit
    rng, laws = np.random.default_rng(0), {PolynomialDecay: 0, ExponentialDecay: 0}
    j = np.arange(1.0, 9)
    for _ in range(60):
        log = np.sort(np.log(j**-2) + rng.normal(0, 0.3, 8))[::-1]
        slope, rss = _residuals(np.log(j), log)
        exponential = min(_residuals(j**p, log)[1] for p in np.arange(0.2, 3.01, 0.05))
        expected = (
            PolynomialDecay
            if 8 * np.log(rss / exponential) <= np.log(8) and slope < -1
            else ExponentialDecay
        )
        assert isinstance(estimate_decay(np.exp(log)), expected)
        laws[expected] += 1
    assert min(laws.values()) > 5


def _residuals(x, y):
    fit = np.polyfit(x, y, 1)
    return fit[0], np.sum((y - np.polyval(fit, x)) ** 2)


def test_a_law_without_a_finite_sum_is_not_returned():
    assert isinstance(estimate_decay(np.arange(1.0, 30) ** -0.9), ExponentialDecay)
    assert isinstance(estimate_decay(np.arange(1.0, 30) ** -1.1), PolynomialDecay)


@pytest.mark.parametrize("values", [[2, 1, 1, 1, 1], [2, 2, 2, 2, 1], np.exp(-np.arange(1.0, 8))])
def test_equal_neighbours_and_perfect_fits_are_laws_too(values):
    assert isinstance(estimate_decay(np.array(values)), PolynomialDecay | ExponentialDecay)


def test_five_values_suffice():
    assert estimate_decay(np.arange(1.0, 6) ** -2.0).power == pytest.approx(2)
    with pytest.raises(ValueError, match="values has 4"):
        estimate_decay(np.arange(1.0, 5) ** -2.0)


@pytest.mark.parametrize("power", [0.3, 0.5])
def test_a_slow_exponential_law_sums_to_at_most_its_integral(power):
    law = ExponentialDecay(0.2, power)
    j = np.arange(1.0, 3e6)
    assert np.exp(law.log_power_sum(1.0)) >= np.exp(law.log_values(j)).sum() * (1 - 1e-9)
    assert np.isclose(np.exp(law.log_power_sum(1.0)), np.exp(law.log_values(j)).sum(), rtol=1e-2)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: PolynomialDecay(1.0), "power = 1.0 must be above 1"),
        (lambda: ExponentialDecay(-1.0), "rate = -1.0 must be above 0"),
        (lambda: ListedDecay(np.array([1.0, 2.0])), "descending order"),
        (lambda: ListedDecay(np.array([2.0, 3.0, 1.0])), "descending order"),
        (lambda: ListedDecay(np.array([1.0, 0.0])), "above 0"),
        (lambda: ListedDecay(np.array([np.inf, 1.0])), "must be finite"),
        (lambda: ListedDecay(np.array([])), "above 0"),
        (lambda: ListedDecay(np.ones((2, 2))), "one dimension"),
        (lambda: estimate_decay(np.array([1.0, 0.5])), "values has 2 eigenvalues"),
        (lambda: estimate_decay(np.ones(9)), "must not all be equal"),
    ],
)
def test_invalid_laws_are_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


@pytest.mark.parametrize("bad", [None, 1.0, np.ones(3)], ids=["none", "number", "array"])
def test_arguments_that_are_no_law_of_decay_are_named(bad):
    with pytest.raises(
        TypeError, match="scales must be an ExponentialDecay, PolynomialDecay or ListedDecay, got"
    ):
        mc.capacity.log_entropy_number(bad, 1.0)
    for call in (mc.capacity.feature_entropy_number, mc.capacity.log_feature_entropy_number):
        with pytest.raises(
            TypeError,
            match="decay must be an ExponentialDecay, PolynomialDecay or ListedDecay, got",
        ):
            call(bad, 3)


def test_values_in_an_array_of_objects_are_read_as_numbers():
    law = ListedDecay(np.array([4.0, 1.0], object))
    assert np.array_equal(law.log_values([1, 2]), np.log([4.0, 1.0]))


def test_sums_of_eigenvalues_that_underflow_have_a_logarithm():
    # the first term is the sum
    assert ExponentialDecay(1e3).log_power_sum(0.9) == pytest.approx(-900, rel=1e-12)
    assert ExponentialDecay(1e3, 3.0).log_power_sum(1.0) == pytest.approx(-1e3, rel=1e-12)
    # the gamma function of 1 / power overflows
    assert ExponentialDecay(1e3, 0.005).log_power_sum(1.0) > -1e3
    assert np.isfinite(ExponentialDecay(1.0, 0.005).log_power_sum(0.5))


def test_a_list_of_eigenvalues_is_that_of_its_time_and_may_be_a_list():
    given = np.array([1.0, 0.5])
    law = ListedDecay(given)
    before = law.log_power_sum(1.0)
    given *= 100.0
    assert law.log_power_sum(1.0) == before == ListedDecay([1.0, 0.5]).log_power_sum(1.0)
