"""
A linear method in feature space
================================

`Kernelized` runs any estimator of scikit-learn on coordinates of feature space. This example shows logistic
regression, a decision tree and 3-means: in the plane (left) and in the feature space of a Gaussian kernel (right).
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mercer as mc

X, y = make_moons(200, noise=0.15, random_state=0)
methods = [
    LogisticRegression(C=10),
    DecisionTreeClassifier(max_depth=2, random_state=0),
    KMeans(3, n_init=3, random_state=0),
]
grid = np.meshgrid(np.linspace(-1.6, 2.6, 80), np.linspace(-1.1, 1.6, 80))
points = np.column_stack([axis.ravel() for axis in grid])

fig, panels = plt.subplots(3, 2, figsize=(6, 7), sharex=True, sharey=True, layout="constrained")
for row, method in zip(panels, methods, strict=True):
    kernelized = mc.Kernelized(method, mc.Gaussian(2.0), landmarks=20, random_state=0)
    for panel, model in zip(row, [method, kernelized], strict=True):
        panel.contourf(*grid, model.fit(X, y).predict(points).reshape(80, 80), 2, alpha=0.3)
        panel.scatter(*X.T, c=y, s=6)
    row[0].set_ylabel(type(method).__name__)
panels[0, 0].set_title("in the plane")
panels[0, 1].set_title("in feature space")
plt.show()

# %%
# The linear model in feature space is a vector with a norm:

linear = mc.Kernelized(methods[0], mc.Gaussian(2.0)).fit(X, y)
print(f"norm {linear.expansion_.norms()[0]:.2f}, accuracy {linear.score(X, y):.2f}")
