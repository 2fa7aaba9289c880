"""The price of a second sum."""

from dataclasses import dataclass

import numpy as np
import pytest

from mercer.solvers.nu import priced


@dataclass(frozen=True)
class Optimum:
    coef: np.ndarray
    n_iter: int = 1


def of_box(upper):
    """Return the optimum of min 1/2 |b|^2 - m 1'b between 0 and ``upper``: each coefficient is m until its bound."""
    return lambda price, _coef: Optimum(np.clip(price, 0, upper))


@pytest.mark.parametrize("share", [0.05, 0.5, 0.95])
def test_the_sum_is_met_at_the_price(share, global_random_seed):
    upper = np.random.default_rng(global_random_seed).random(20)
    total = share * upper.sum()
    solution, price = priced(of_box(upper), np.ones(20), total, 0.1, np.zeros(20))
    np.testing.assert_allclose(solution.coef.sum(), total, rtol=1e-9)
    np.testing.assert_allclose(solution.coef, np.clip(price, 0, upper), atol=1e-12)


def test_steps_of_all_optima_are_counted():
    seen = []

    def optimum(price, coef):
        seen.append(price)
        return of_box(np.ones(3))(price, coef)

    solution, _ = priced(optimum, np.ones(3), 1.5, 8.0, np.zeros(3))
    assert solution.n_iter == len(seen) > 1
