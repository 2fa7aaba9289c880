"""
Did the data change?
====================

The digits of scikit-learn are in the order of their writers. `mmd_test` compares two samples by the distance of their
means in feature space, and computes the p-value from random assignments of the points to the samples. The first and
the last digits are of different people, and samples of 160 digits show it in most cases. Samples of shuffled digits are
rejected at the level of the test.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import mercer as mc

X = load_digits().data / 16
first, last = X[:900], X[900:]
rng = np.random.default_rng(0)


def rejected(one, two, n, repeats=60):
    """Return the share of p-values of at most 5 % for random samples of n points."""
    samples = [
        (rng.choice(one, n, replace=False), rng.choice(two, n, replace=False))
        for _ in range(repeats)
    ]
    return np.mean(
        [
            mc.mmd_test(*pair, mc.Gaussian("median"), n_permutations=199).pvalue <= 0.05
            for pair in samples
        ]
    )


sizes = [10, 20, 40, 80, 160]
shuffled = rng.permutation(X)
figure, panel = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
panel.plot(sizes, [rejected(first, last, n) for n in sizes], "o-", label="first and last digits")
panel.plot(
    sizes,
    [rejected(shuffled[:900], shuffled[900:], n) for n in sizes],
    "s--",
    label="shuffled digits",
)
panel.axhline(0.05, color="black", linestyle=":", label="level 5 %")
panel.set(
    xscale="log", xlabel="points in each sample", ylabel="share of tests that reject", xticks=sizes
)
panel.set_xticks(sizes, labels=map(str, sizes))
panel.minorticks_off()
panel.legend()
plt.show()

# %%
print(
    f"first 900 against last 897 digits: p = {mc.mmd_test(first, last, mc.Gaussian('median')).pvalue:.3f}"
)
