"""
Principal components despite outliers
=====================================

`PCAL1` maximises the sum of absolute scores instead of squared scores, so single points have less influence. A few
wrong measurements turn the first component of PCA; that of PCA-L1 stays near the component of the clean data, until
there are too many of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import scale

import mercer as mc

X = scale(load_wine().data)
rng = np.random.default_rng(0)
first = PCA(1).fit(X).components_[0]


def cosine(model, n, repeats=10):
    """Return the mean cosine of the first components with and without n outliers."""
    found = []
    for _ in range(repeats):
        outliers = 12 * rng.standard_normal(13) + rng.standard_normal((n, 13))
        component = model.fit(np.concatenate([X, outliers])).components_[0]
        found.append(abs(component @ first) / np.linalg.norm(component))
    return np.mean(found)


counts = [0, 1, 2, 3, 4, 6, 8]
figure, panel = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
for model, style in ((PCA(1), "s--"), (mc.PCAL1(1, n_init=3, random_state=0), "o-")):
    panel.plot(counts, [cosine(model, n) for n in counts], style, label=type(model).__name__)
panel.set(
    xlabel="outliers among 178 wines", ylabel="cosine with the true component", ylim=(0, 1.05)
)
panel.legend()
plt.show()
