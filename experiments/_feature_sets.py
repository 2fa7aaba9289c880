"""Sets of points that a hyperplane separates only after a feature map, and these maps."""

import numpy as np


def constant(X):
    """Append a coordinate 1, so that hyperplanes need not pass through the origin."""
    return np.column_stack([X, np.ones(len(X))])


def parabola(X):
    return constant(np.column_stack([X[:, 0], X[:, 0] ** 2]))


def conic(X):
    return constant(np.column_stack([X[:, 0], X[:, 0] ** 2, X[:, 1] ** 2, X[:, 0] * X[:, 1]]))


def wild(X):
    return constant(
        np.column_stack(
            [np.sin(X[:, 1]), np.exp(X[:, 1] + X[:, 0]), X[:, 0], X[:, 1] ** np.tan(X[:, 0])]
        )
    )


def polar(X):
    return constant(np.column_stack([np.hypot(*X.T), np.arctan2(X[:, 1], X[:, 0])]))


def sets(rng):
    """Return for each name points, signs and the map that separates them."""
    line = np.linspace(-2, 2, 40)[:, None]
    disc = rng.normal(size=(120, 2))
    disc = disc[np.abs(np.hypot(*disc.T) - 1) > 0.15]
    curved = rng.uniform(0.1, [1.4, 3.0], (200, 2))
    values = wild(curved) @ np.array([3.0, -0.01, 0.3, 0.001, -2.2])
    curved, values = curved[np.abs(values) > 0.1], values[np.abs(values) > 0.1]
    angle, radius = rng.uniform(-2.5, 2.5, 150), rng.uniform(0.5, 2.0, 150)
    keep = np.abs(radius - 1.2 - 0.2 * angle) > 0.1
    truck = (radius * np.stack([np.cos(angle), np.sin(angle)])).T[keep]
    return {
        "(x, x^2)": (line, np.sign(np.abs(line[:, 0]) - 1.01), parabola),
        "conic": (disc, np.sign(np.hypot(*disc.T) - 1), conic),
        "sin, exp, tan": (curved, np.sign(values), wild),
        "polar coordinates": (truck, np.sign(radius - 1.2 - 0.2 * angle)[keep], polar),
    }
