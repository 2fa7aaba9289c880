"""One instance of every kernel and of every combination of kernels, by name."""

import numpy as np

import mercer as mc

CENTRES = np.array([[0.2, 0.4, 0.9], [0.7, 0.1, 0.3], [0.5, 0.8, 0.6]])


def _squares(X):
    return np.concatenate([X, X**2], axis=1)


def _jacobian(X):
    n, d = X.shape
    out = np.zeros((n, 2 * d, d), X.dtype)
    out[:, np.arange(d), np.arange(d)] = 1
    out[:, d + np.arange(d), np.arange(d)] = 2 * X
    return out


def _product(X, Z):
    return X @ Z.T


def _damping(X):
    return 1 / (1 + abs(X).sum(axis=1))


# a block of one vector has values and a gradient, which is what a conformal factor needs
FACTOR = mc.Expansion(mc.Gaussian(0.4), CENTRES, np.array([1.0, 0.5, 0.8]))

ROWS = {
    "gaussian": mc.Gaussian(0.7),
    "laplacian": mc.Laplacian(0.5),
    "matern12": mc.Matern(1.3, nu=0.5),
    "matern32": mc.Matern(1.3, nu=1.5),
    "matern52": mc.Matern(0.8, nu=2.5),
    "rational": mc.RationalQuadratic(1.1, alpha=0.7),
    "cauchy": mc.Cauchy(0.6),
    "power_distance": mc.kernels.PowerDistance(1.3),
    "multiquadric": mc.kernels.Multiquadric(0.7),
    "thin_plate": mc.kernels.ThinPlate(),
    "linear": mc.Linear(),
    "poly3": mc.Polynomial(3, gamma=0.5, coef0=1.0),
    "poly1": mc.Polynomial(1, gamma=2.0, coef0=0.0),
    "poly7": mc.Polynomial(7, gamma=0.3, coef0=0.5),
    "sigmoid": mc.Sigmoid(0.5, coef0=0.2),
    "chi2": mc.Chi2(0.8),
    "additive_chi2": mc.AdditiveChi2(),
    "intersection": mc.Intersection(),
    "anova": mc.Anova(mc.Gaussian(0.5), 2),
    "bhattacharyya": mc.kernels.Bhattacharyya(),
    "bspline": mc.kernels.BSpline(1),
    "constant": mc.Constant(2.5),
    "sum": mc.Gaussian(0.5) + mc.Linear(),
    "sum_of_kinds": mc.Laplacian(0.5) + 2 * mc.Polynomial(2),
    "plus_constant": mc.Cauchy(0.5) + 3,
    "product": mc.Gaussian(0.5) * mc.Linear(),
    "scaled": 0.3 * mc.Matern(1.0, nu=2.5),
    "power": (mc.Linear() + 1) ** 3,
    "exp": mc.Exp(0.5 * mc.Linear()),
    "normalized_linear": mc.Normalized(mc.Linear()),
    "normalized_poly": mc.Normalized(mc.Polynomial(2)),
    "conformal": mc.Rescaled(mc.Gaussian(0.5), FACTOR),
    "conformal_function": mc.Rescaled(mc.Linear(), _damping),
    "length_scales": mc.Mapped(mc.Gaussian(1.0), np.array([1.0, 0.5, 2.0])),
    "linear_map": mc.Mapped(mc.Matern(1.0), np.array([[1.0, 0.2, 0.0], [0.0, 0.5, 1.0]])),
    "columns": mc.Mapped(mc.Polynomial(2), np.array([2, 0])),
    "mixed_columns": mc.Mapped(mc.Gaussian(1.0), np.array([0]))
    * mc.Mapped(mc.Laplacian(1.0), np.array([1, 2])),
    "nested": mc.Normalized(mc.Exp(mc.Gaussian(0.5) * mc.Linear() + 0.5))
    + 0.1 * mc.Cauchy(0.3) ** 2,
}

OBJECTS = {
    "feature_map": mc.FeatureMap(_squares, _jacobian),
    "feature_map_without_jacobian": mc.FeatureMap(_squares),
    "function": mc.FunctionKernel(_product),
}

KERNELS = ROWS | OBJECTS
