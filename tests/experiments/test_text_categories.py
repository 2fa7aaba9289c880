"""The break-even point is where precision and recall are equal."""

import numpy as np
import pytest
from experiments.text_categories import break_even


def test_precision_and_recall_are_equal_at_the_break_even_point(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    signs = np.where(rng.random(500) < 0.2, 1, -1)
    values = signs + rng.normal(size=500)
    # as many documents are predicted positive as are positive
    chosen = np.argsort(-values)[: np.sum(signs > 0)]
    assert break_even(values, signs) == pytest.approx(100 * np.mean(signs[chosen] > 0))
    assert break_even(signs.astype(float), signs) == 100
