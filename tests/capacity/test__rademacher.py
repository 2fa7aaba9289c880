from dataclasses import replace

import numpy as np
import pytest

import mercer as mc
from mercer import capacity
from mercer.capacity import Spectrum, local_complexity, local_rademacher, rademacher, spectrum


@pytest.fixture(scope="module")
def plain():
    return spectrum(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(80, 2)), centre=False)


PART = Spectrum(np.array([4.0, 1.0]), np.ones(2), np.ones(2), 4, 6.0, False, False, np.zeros(2))


def test_the_local_complexity_is_that_of_the_formula():
    # min(0.5, 4/4) + min(0.5, 1/4) + 1/4 = 1, and sqrt(2/4) of it; the eigenvalues not computed sum to 1
    assert local_complexity(PART, 0.5) == pytest.approx(np.sqrt(0.5))
    assert local_complexity(replace(PART, complete=True, trace=5.0), 0.5) == pytest.approx(
        np.sqrt(0.375)
    )


def test_the_fixed_point_is_the_smallest_over_the_number_of_directions():
    # h = 0: sqrt(6)/4; h = 1: 1/4 + sqrt(2)/4; h = 2: 2/4 + sqrt(1)/4
    assert local_rademacher(PART).value == pytest.approx((1 + np.sqrt(2)) / 4)
    assert "h = 1" in local_rademacher(PART).statement
    assert local_rademacher(
        replace(PART, values=np.array([0.5, 0.1]), trace=0.7)
    ).value == pytest.approx(0.7**0.5 / 4)


@pytest.mark.parametrize("r", [0.001, 0.03, 10.0])
def test_the_local_complexity_is_bounded(plain, r):
    # a lower bound of the supremum: the functions with |w|^2 + P_n f^2 / r <= 1 are in the class
    rng = np.random.default_rng(1)
    K = mc.Gaussian(0.5)(np.random.default_rng(0).normal(size=(80, 2)))
    values, V = np.linalg.eigh(K)
    shrunk = np.maximum(values, 0) / (1 + np.maximum(values, 0) / (80 * r))
    signs = rng.choice([-1.0, 1.0], (2000, 80))
    suprema = np.sqrt(np.square(signs @ V) @ shrunk) / 80
    assert suprema.mean() <= local_complexity(plain, r)
    # and within the factor sqrt(2) times another one that the two shapes differ by
    assert local_complexity(plain, r) <= 2.1 * suprema.mean()


def test_the_whole_ball_has_the_complexity_of_the_trace(plain):
    assert np.isclose(local_complexity(plain, 1e9), np.sqrt(2 * plain.trace) / 80)


def test_the_fixed_point_is_between_that_of_no_direction_and_that_of_all(plain):
    value = local_rademacher(plain).value
    assert 0 < value <= np.sqrt(plain.trace) / 80
    assert value <= len(plain.values) / 80 + 1e-6


def test_part_of_a_spectrum_gives_no_smaller_complexity(plain):
    part = spectrum(
        mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(80, 2)), 10, centre=False
    )
    assert local_complexity(part, 0.01) >= local_complexity(plain, 0.01)
    assert local_rademacher(part).value >= local_rademacher(plain).value * (1 - 1e-12)


def test_a_centred_spectrum_is_refused():
    with pytest.raises(ValueError, match="centre=False"):
        local_rademacher(spectrum(mc.Linear(), np.eye(3)))


def margin_bound(own, delta):
    """Mohri et al. (2018), theorem 5.8, for the kernel k + 1 and all ratios of norm and margin from 2^-20 to 2^20."""
    norm, n, best = np.hypot(own.norm, own.bias), len(own), np.inf
    trace = np.sum(own.diagonal + 1)
    for j in range(-20, 21):
        share = (2 / 3) * delta / ((abs(j) + 1) * (abs(j) + 2))
        failed = np.mean(own.margins < norm / 2.0**j)
        best = min(
            best,
            failed + 2 * 2.0**j * np.sqrt(trace) / n + 3 * np.sqrt(np.log(2 / share) / (2 * n)),
        )
    return best


def test_the_margin_bound_is_that_of_the_formula_at_its_best_scale():
    X = np.linspace(-3, 3, 1000)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    own = capacity.model(mc.SVC(C=0.1, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    assert rademacher(own).value == pytest.approx(margin_bound(own, 0.05), rel=1e-12)
    assert rademacher(own, confidence=0.8).value == pytest.approx(margin_bound(own, 0.2), rel=1e-12)


def test_the_ratios_of_norm_and_margin_go_down_to_two_to_the_minus_20():
    # margins of 2^24 need a ratio of 2^-24
    n = 10_000
    margins, diagonal = np.full(n, 2.0**24), np.full(n, 2.0**48 - 1)
    own = capacity.Model(
        mc.Linear(),
        np.zeros((n, 1)),
        np.arange(n),
        np.ones(n),
        margins,
        diagonal,
        norm=1.0,
        bias=0.0,
    )
    assert rademacher(own).value == pytest.approx(margin_bound(own, 0.05), rel=1e-12)
    assert rademacher(own).value > 0.3


@pytest.mark.parametrize(("margin", "failed"), [(2.0**-20, 0), (2.0**-20.5, 1)])
def test_the_ratios_of_norm_and_margin_go_up_to_two_to_the_20(margin, failed):
    # k + 1 = 2^-48: the complexity is small even for the largest ratio
    own = capacity.Model(
        mc.Linear(), np.zeros((900, 1)), np.arange(900), np.ones(900), np.full(900, margin), np.full(900, 2.0**-48 - 1),
        norm=1.0, bias=0.0,
    )  # fmt: skip
    assert rademacher(own).value == pytest.approx(margin_bound(own, 0.05), rel=1e-9)
    assert (rademacher(own).value > 1) == failed


def test_a_point_on_the_margin_is_no_error():
    # margins of 1 and 2: the ratio 1 has no failure, the next one has half
    own = capacity.Model(
        mc.Linear(),
        np.zeros((40, 1)),
        np.arange(40),
        np.ones(40),
        np.resize([1.0, 2.0], 40),
        np.zeros(40),
        1.0,
        0.0,
    )
    assert rademacher(own).value == pytest.approx(margin_bound(own, 0.05), rel=1e-12)


def test_shares_of_delta_sum_to_at_most_delta():
    j = np.abs(np.arange(-(10**6), 10**6 + 1))
    assert 0.999 < np.sum((2 / 3) / ((j + 1.0) * (j + 2.0))) <= 1


def test_the_scale_of_the_outputs_does_not_matter():
    X = np.linspace(-3, 3, 500)[:, None]
    y = np.where(X[:, 0] > 0, 1, -1)
    own = capacity.model(mc.SVC(C=0.1, kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    for factor in (8, 1 / 64):
        scaled = replace(
            own, outputs=factor * own.outputs, norm=factor * own.norm, bias=factor * own.bias
        )
        assert scaled.norm < 0.2 or factor > 1
        assert np.isclose(rademacher(own).value, rademacher(scaled).value)
