"""
A length scale for each column
==============================

``Mapped(kernel, scales)`` multiplies every column by a factor before it computes the kernel. `KernelRidge` tunes the
factors by the marginal likelihood: many columns get a factor near 0. Here five columns of random numbers are added to
the ten of the diabetes data, and four of the five get a factor near 0.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import scale

import mercer as mc

data = load_diabetes()
names = [*data.feature_names, *(f"random {i + 1}" for i in range(5))]
X = scale(np.column_stack([data.data, np.random.default_rng(0).normal(size=(442, 5))]))
X_train, X_test, y_train, y_test = train_test_split(X, scale(data.target), random_state=0)

one = mc.KernelRidge(1.0, kernel=mc.Gaussian("median"), tune="marginal_likelihood").fit(
    X_train, y_train
)
scaled = mc.Mapped(mc.Gaussian(1.0), np.full(15, 0.1))
each = mc.KernelRidge(1.0, kernel=scaled, tune="marginal_likelihood").fit(X_train, y_train)

figure, panel = plt.subplots(figsize=(5.6, 4.2), layout="constrained")
panel.barh(names, np.abs(each.kernel_.kernel.A), color=["C0"] * 10 + ["C1"] * 5)
panel.invert_yaxis()
panel.set(
    xlabel="factor of the column",
    title=f"R$^2$ on test patients: {each.score(X_test, y_test):.2f}, with one width {one.score(X_test, y_test):.2f}",
)
plt.show()
