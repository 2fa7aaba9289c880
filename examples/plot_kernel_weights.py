"""
Weights of several kernels
==========================

`combine` gives each of many kernels a weight of at least 0. Here the class depends on an oscillation of column 0 and on
the trend of column 1; the other columns are noise. One Gaussian kernel for each column and width shows which columns
matter and how smooth their effect is: the oscillation needs narrow kernels (a large gamma), the trend a wide one.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc
from mercer.learning import combination

rng = np.random.default_rng(0)
X = rng.uniform(-2, 2, (300, 6))
y = np.where(
    2 * np.sin(3 * X[:, 0]) + X[:, 1] + 0.3 * rng.standard_normal(300) > 0, "above", "below"
)
train, test = slice(0, 200), slice(200, 300)

gammas = [0.1, 0.3, 1.0, 3.0, 10.0]
kernels = [
    mc.Mapped(mc.Gaussian(gamma), np.array([column])) for gamma in gammas for column in range(6)
]
found = {
    "alignment": combination(kernels, X[train], y[train], method="alignment"),
    "svm": combination(kernels, X[train], y[train], method="svm", C=1.0),
}

fig, panels = plt.subplots(2, 1, figsize=(5.6, 5.6), sharex=True, layout="constrained")
for panel, (method, each) in zip(panels, found.items(), strict=True):
    shares = each.shares.reshape(len(gammas), 6)
    panel.imshow(shares, cmap="Blues", vmin=0, vmax=shares.max(), aspect="auto")
    for (i, j), share in np.ndenumerate(shares):
        text, color = (
            f"{share:.2f}" if share > 0.005 else "",
            "white" if share > shares.max() / 2 else "black",
        )
        panel.text(j, i, text, ha="center", va="center", color=color)
    score = mc.SVC(C=1.0, kernel=each.kernel).fit(X[train], y[train]).score(X[test], y[test])
    panel.set(
        title=f"{method}: accuracy {score:.2f}",
        ylabel="gamma",
        yticks=range(len(gammas)),
        yticklabels=gammas,
    )
panels[1].set_xlabel("column")
plt.show()

# %%
# The numbers are the shares of the kernels in the sum. Noise gets small shares, since 200 points agree with it a little
# by chance. Scales of the columns of one kernel are another answer, by descent on the span rule:

kernel = mc.learn_scales(mc.Gaussian("scale"), X[train], y[train], method="span")
score = mc.SVC(C=10.0, kernel=kernel).fit(X[train], y[train]).score(X[test], y[test])
print(
    f"scales {np.abs(kernel.A).round(2)}, accuracy {score:.2f}; one width for all columns: ", end=""
)
print(
    f"{mc.SVC(C=10.0, kernel=mc.Gaussian('scale')).fit(X[train], y[train]).score(X[test], y[test]):.2f}"
)
certificate = found["svm"].certificate
print(
    f"duality gap of the weights by the margin, of the objective: {certificate.gap / certificate.primal:.2g}"
)
