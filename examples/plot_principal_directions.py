"""
Principal directions as images
==============================

The principal directions of digits under a cubic kernel are vectors of the feature space. `ray` finds the image z whose
feature vector points most nearly in the same direction; its cosine with the direction is above the image. Below each
is the value of the direction at every image with one bright pixel, less its value at the black image.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

import mercer as mc
from mercer.plot import ImageGridDisplay

X = load_digits().data[:1000] / 16
directions = mc.KernelPCA(6, kernel=mc.Polynomial(3, gamma=1 / 64)).fit(X).expansion_
found = mc.ray(directions)
cosines = np.sqrt(1 - found.sqdist / directions.norms() ** 2)
values = directions(np.eye(64)) - directions(np.zeros((1, 64)))

titles = [
    f"pre-images, cosines {', '.join(f'{cosine:.2f}' for cosine in cosines)}",
    "values at single pixels",
]
images = np.stack([found.points.reshape(-1, 8, 8), values.T.reshape(-1, 8, 8)])
figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
ImageGridDisplay(images, titles=titles, signed=True).plot(ax=ax)
plt.show()
