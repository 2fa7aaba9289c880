"""
A kernel matrix shows the classes
=================================

The matrix of a Gaussian kernel on wines, sorted by class, at three bandwidths. Bright squares on the diagonal are
classes whose members resemble one another. With a small gamma all wines are alike, with a large one none are; the rule
"median" is between. `alignment` is the cosine between the centred matrix and that of the labels.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_wine
from sklearn.preprocessing import scale

import mercer as mc
from mercer.plot import GramDisplay

X, y = load_wine(return_X_y=True)
X = scale(X)
median = float(mc.Gaussian("median").resolve(X).gamma)

figure, panels = plt.subplots(3, 1, figsize=(4.2, 9), layout="constrained")
for panel, factor in zip(panels, (0.05, 1.0, 20.0), strict=True):
    kernel = mc.Gaussian(factor * median)
    GramDisplay.from_kernel(kernel, X, y, ax=panel).image_.set_clim(0, 1)
    panel.set_title(f"gamma {kernel.gamma:.2g}: alignment {mc.alignment(kernel, X, y):.2f}")
plt.show()
