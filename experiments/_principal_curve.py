"""The principal curve of Hastie and Stuetzle as a polygon: local means along the curve, and projection, in turns."""

import numpy as np
from sklearn.decomposition import PCA


def nearest(polygon, X):
    """Return for each row its nearest point of a polygon, and the length of the polygon up to it."""
    edges = np.diff(polygon, axis=0)
    squares = np.maximum((edges**2).sum(axis=1), 1e-30)
    share = np.clip(((X[:, None] - polygon[:-1]) * edges).sum(axis=2) / squares, 0, 1)
    feet = polygon[:-1] + share[:, :, None] * edges
    best = ((X[:, None] - feet) ** 2).sum(axis=2).argmin(axis=1)
    rows = np.arange(len(X))
    lengths = np.sqrt(squares)
    return feet[rows, best], np.cumsum(lengths)[best] - lengths[best] * (1 - share[rows, best])


def principal_curve(X, bandwidth, steps=30):
    """Return the polygon of Hastie and Stuetzle: local means along the curve, and projection, in turns."""
    t = PCA(1).fit_transform(X)[:, 0]
    for _ in range(steps):
        grid = np.linspace(t.min(), t.max(), 100)
        weights = np.exp(-0.5 * ((grid[:, None] - t) / (bandwidth * np.ptp(t))) ** 2)
        # a line is fitted locally, so that the ends are not drawn inwards
        polygon = np.array([_local_line(w, t - g, X) for w, g in zip(weights, grid, strict=True)])
        t = nearest(polygon, X)[1]
    return polygon


def _local_line(weights, t, X):
    design = np.column_stack([np.ones_like(t), t]) * np.sqrt(weights)[:, None]
    return np.linalg.lstsq(design, X * np.sqrt(weights)[:, None], rcond=None)[0][0]
