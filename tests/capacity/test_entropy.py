import numpy as np
import pytest

from mercer.capacity import (
    ExponentialDecay,
    ListedDecay,
    PolynomialDecay,
    entropy_numbers,
    feature_entropy_number,
    log_entropy_number,
    log_feature_entropy_number,
)


def box_entropy_number(sides, n):
    """Exact in the maximum norm: a box of half-sides sigma needs prod ceil(sigma_j / e) cubes of half-side e."""
    low, high = 0.0, float(sides[0])
    for _ in range(100):
        middle = 0.5 * (low + high)
        fits = np.sum(np.log(np.ceil(sides / middle - 1e-12))) <= np.log(n) + 1e-12
        low, high = (low, middle) if fits else (middle, high)
    return high


@pytest.mark.parametrize("n", [1, np.array([1, 1])])
def test_one_ball_has_the_largest_scale_as_radius(n, global_random_seed):
    # the image lies in the ball of radius sigma_1 about 0 and holds two points at the distance 2 sigma_1
    sides = np.sort(np.random.default_rng(global_random_seed).lognormal(0, 2, 5))[::-1]
    for bound in entropy_numbers(sides, n):
        np.testing.assert_allclose(bound, box_entropy_number(sides, 1), rtol=1e-11)
        np.testing.assert_array_equal(bound, np.broadcast_to(sides[0], np.shape(n)))
        assert np.shape(bound) == np.shape(n)


def test_bounds_of_several_balls_differ_by_the_factor_six():
    # Carl, Stephani (1990), prop. 1.3.2: s = max over j of (sigma_1 ... sigma_j / n)^(1/j), and 6 s
    lower, upper = entropy_numbers(np.array([1.0, 0.5, 0.01]), np.array([1, 8, 40_000]))
    assert np.allclose(lower, [1.0, 0.25, 0.005], rtol=1e-12)
    assert np.allclose(upper, [1.0, 1.5, 0.03], rtol=1e-12)
    assert feature_entropy_number(ListedDecay(np.array([4.0])), 5.0, bound=3.0) == pytest.approx(
        6 * 3 * 2 / 5
    )


@pytest.mark.parametrize("n", [1.0, 3.0, 1e3, 1e9])
def test_the_scaled_bound_is_the_smallest_over_a_grid_of_scalings(n):
    # 6 C |(sqrt(lambda_s) / a_s)_s| sup_j n^(-1/j) (a_1 ... a_j)^(1/j) for a_s = lambda_s^(tau / 2), by brute force
    values = np.sort(np.random.default_rng(0).lognormal(0, 2, 30))[::-1]
    j = np.arange(1, 31)

    def scaled(share):
        supremum = np.max((share / 2 * np.cumsum(np.log(values)) - np.log(n)) / j)
        return 6 * 1.5 * np.sqrt(np.sum(values ** (1 - share))) * np.exp(supremum)

    found = feature_entropy_number(ListedDecay(values), n, bound=1.5)
    assert found == pytest.approx(
        min(scaled(share) for share in np.arange(0.02, 0.99, 0.02)), rel=1e-12
    )
    assert found <= 1.01 * min(scaled(share) for share in np.arange(0.001, 1, 0.001))


def test_a_law_that_allows_one_scaling_only_has_its_bound():
    # 1 < (1 - tau) 1.03 for tau = 0.02 only; the supremum needs more than 256 eigenvalues
    law, j = PolynomialDecay(1.03), np.arange(1.0, 2000)
    supremum = np.max((0.01 * np.cumsum(law.log_values(j)) - 3.5) / j)
    assert np.argmax((0.01 * np.cumsum(law.log_values(j)) - 3.5) / j) > 256
    found = log_feature_entropy_number(law, 3.5)
    assert found == pytest.approx(np.log(6) + 0.5 * law.log_power_sum(0.98) + supremum, rel=1e-9)
    assert log_feature_entropy_number(law, 3.5, 2.0) == pytest.approx(found + np.log(2))


@pytest.mark.parametrize("n", [1, 2, 7, 100, 10**6])
def test_exact_entropy_numbers_of_boxes_lie_between_the_bounds(n, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    for k in (1, 2, 5, 30):
        sides = np.sort(rng.lognormal(0, 2, k))[::-1]
        lower, upper = entropy_numbers(sides, n)
        exact = box_entropy_number(sides, n)
        assert lower * (1 - 1e-9) <= exact <= upper


@pytest.mark.parametrize(
    ("n", "radius"),
    [(1, 1.0), (2, 1.0), (3, np.sqrt(3) / 2), (4, np.sqrt(0.5)), (5, 0.609382), (7, 0.5)],
)
def test_published_coverings_of_the_disc_lie_between_the_bounds(n, radius):
    lower, upper = entropy_numbers(np.ones(2), n)
    # radii are published to six digits
    assert lower <= radius * (1 + 1e-6)
    assert radius * (1 - 1e-6) <= upper


def test_an_operator_of_rank_one_has_the_lower_bound():
    lower, _ = entropy_numbers(np.array([3.0]), np.array([1, 2, 30]))
    assert np.allclose(lower, [3.0, 1.5, 0.1])


@pytest.mark.parametrize("p", [1.0, 2.0])
@pytest.mark.parametrize("bound", [log_entropy_number, log_feature_entropy_number])
def test_the_exponent_of_an_exponential_law_tends_to_its_limit(p, bound):
    # ln ln (1 / eps_n) against ln ln n: p / (p + 1)
    log_n = np.array([1e5, 1e7, 1e9])
    heights = np.log(-bound(ExponentialDecay(1.0, p), log_n))
    slopes = np.diff(heights) / np.diff(np.log(log_n))
    limit = p / (p + 1)
    assert abs(slopes[1] - limit) < 0.01
    assert abs(slopes[1] - limit) <= abs(slopes[0] - limit)


@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_a_polynomial_law_has_its_published_rate(alpha):
    # lambda_j = j^-(alpha + 1): eps_n = O(ln^(-alpha / 2 + d) n) for every d > 0
    log_n = np.array([1e3, 1e5])
    slope = np.diff(log_feature_entropy_number(PolynomialDecay(alpha + 1), log_n)) / np.diff(
        np.log(log_n)
    )
    assert -alpha / 2 - 0.01 < slope[0] < -alpha / 2 + 0.1


def test_a_listed_law_is_the_law_it_lists():
    law = ExponentialDecay(0.7, 1.5, 2.0)
    listed = ListedDecay(np.exp(law.log_values(np.arange(1, 30))))
    n = np.array([2.0, 1e3, 1e9])
    assert np.allclose(feature_entropy_number(law, n), feature_entropy_number(listed, n), rtol=1e-9)


def test_the_bound_grows_with_the_eigenfunctions():
    law = ExponentialDecay(1.0)
    assert np.isclose(feature_entropy_number(law, 50, 3.0), 3 * feature_entropy_number(law, 50))


def test_no_scaling_makes_the_bound_smaller_than_covering_the_box_itself():
    # A maps the unit ball onto a set that holds the box of half-sides sqrt(lambda): eps_n(A) is not below eps_n(D)
    law = ExponentialDecay(0.4)
    roots = ExponentialDecay(0.2)
    for log_n in (1.0, 10.0, 1000.0):
        assert log_feature_entropy_number(law, log_n) >= log_entropy_number(roots, log_n)


def test_fewer_than_one_ball_is_refused():
    for n in (0, 1.5, np.array([0, 5]), np.array([1.0, 2.5]), np.array([])):
        with pytest.raises(ValueError, match="n = .* must be whole numbers"):
            entropy_numbers(np.ones(2), n)
    for log_n in (-1.0, np.array([-1.0, 5.0]), np.array([np.inf, 1.0]), np.array([])):
        with pytest.raises(ValueError, match="log_n"):
            log_entropy_number(ExponentialDecay(1.0), log_n)


def test_more_balls_than_eigenvalues_can_tell_apart_are_refused():
    with pytest.raises(ValueError, match="4194304 eigenvalues; use a smaller log_n"):
        log_entropy_number(PolynomialDecay(2.0), np.array([1.0, 1e9]))


def test_a_slow_law_has_no_bound():
    assert log_feature_entropy_number(PolynomialDecay(1.01), 10.0) == np.inf
