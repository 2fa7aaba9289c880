"""
Dependence without correlation
==============================

The temperature of a day depends on the month, but not linearly: it rises and falls again. `hsic_test` compares the
kernel matrices of two paired variables and detects every kind of dependence, given enough points; the test of the
correlation detects linear dependence only.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import pearsonr

import mercer as mc

rng = np.random.default_rng(0)


def sample(n):
    """Return n months and noisy temperatures, warmest in the middle of the year."""
    month = rng.uniform(0, 12, n)
    return month[:, None], (-np.cos(2 * np.pi * month / 12) + rng.normal(0, 1, n))[:, None]


sizes, repeats = [10, 20, 40, 80, 160], 60
power = {"hsic_test": [], "correlation": []}
for n in sizes:
    draws = [sample(n) for _ in range(repeats)]
    power["hsic_test"].append(
        np.mean([mc.hsic_test(x, y, n_permutations=199).pvalue <= 0.05 for x, y in draws])
    )
    power["correlation"].append(
        np.mean([pearsonr(x[:, 0], y[:, 0]).pvalue <= 0.05 for x, y in draws])
    )

figure, (top, bottom) = plt.subplots(2, 1, figsize=(5.6, 5.6), layout="constrained")
top.plot(*map(np.ravel, sample(160)), ".")
top.set(xlabel="month", ylabel="temperature", title="160 days")
for (name, shares), style in zip(power.items(), ["o-", "s--"], strict=True):
    bottom.semilogx(sizes, shares, style, label=name)
bottom.axhline(0.05, color="black", linestyle=":", label="level 5 %")
bottom.set(xlabel="points", ylabel="share of tests that reject")
bottom.set_xticks(sizes, labels=sizes)
bottom.minorticks_off()
bottom.legend()
plt.show()
