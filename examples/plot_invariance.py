"""
Digits and small transformations
================================

A shifted three is a three. Tangents are the derivatives of moved images: below, the tangents of a digit, and below each
of them the digit moved by one pixel. Red pixels become darker, blue ones brighter.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from mercer import invariance

digits = load_digits()
train = digits.data / 16
transforms = invariance.image_transforms((8, 8))

one = train[digits.target == 3][13:14]
T = invariance.tangents(one, transforms)[0]
fig, axes = plt.subplots(4, 4, figsize=(5.6, 6), layout="constrained")
upper, lower = axes[::2].ravel(), axes[1::2].ravel()
upper[0].imshow(one.reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
upper[0].set_title("digit")
lower[0].set_visible(False)
for a, (name, move) in enumerate(transforms.items(), start=1):
    upper[a].imshow(T[a - 1].reshape(8, 8), cmap="RdBu_r", vmin=-1, vmax=1)
    upper[a].set_title(name)
    lower[a].imshow(move(one, 1.0).reshape(8, 8), cmap="gray_r", vmin=0, vmax=1)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
plt.show()

# %%
# ``InvariantMap`` scales back the directions along which all images move. Below, eight of these directions
# (eigenvectors of the tangent covariance of translations) and two others, with the factor by which the map multiplies
# each, relative to the largest. A corner pixel hardly ever changes and keeps its length.

shifts = {name: transforms[name] for name in ("down", "right")}
found = invariance.InvariantMap(shifts, weight=0.1).fit(train)
factors, directions = np.linalg.eigh(found.components_)
fig, axes = plt.subplots(2, 5, figsize=(5.6, 2.8), layout="constrained")
for j, ax in zip([0, 1, 2, 3, 4, 5, 6, 7, 40, 63], axes.flat, strict=True):
    ax.imshow(directions[:, j].reshape(8, 8), cmap="RdBu_r", vmin=-0.4, vmax=0.4)
    ax.set_title(f"{factors[j] / factors[-1]:.2f}")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(True)
plt.show()
