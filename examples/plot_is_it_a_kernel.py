"""
Is it a kernel?
===============

c - \\|x\\|^p \\|z\\|^p is symmetric, and positive for short x and z. For two points with norms a^(1/p) and b^(1/p) its
matrix has the determinant (c - a^2)(c - b^2) - (c - ab)^2 = -c (a - b)^2: it is positive semidefinite only if all
norms are equal. ``check_kernel`` finds two points and a vector over them with a negative squared norm.
"""

import matplotlib.pyplot as plt
import numpy as np

import mercer as mc

c, p = 5.0, 1.5


def candidate(X, Z):
    """Return c - |x|^p |z|^p for all pairs."""
    return c - np.outer(np.linalg.norm(X, axis=1) ** p, np.linalg.norm(Z, axis=1) ** p)


X = np.random.default_rng(0).uniform(-1, 1, (30, 2))
print(mc.check_kernel(candidate, X))
print(mc.check_kernel(candidate, X / np.linalg.norm(X, axis=1, keepdims=True)).verdict)
# a proof for all points
print(mc.check_kernel(mc.Exp(mc.Gaussian(1.0) + mc.Polynomial(2))))

# %%
# The smallest eigenvalue for two points with norms 1 and r is 0 only for r = 1.
lengths = np.linspace(0.5, 1.5, 101)
pairs = [np.array([[1.0, 0.0], [0.0, r]]) for r in lengths]
least = [mc.check_kernel(candidate, pair).smallest_eigenvalue for pair in pairs]
figure, ax = plt.subplots(figsize=(5, 2.8), layout="constrained")
ax.plot(lengths, least)
ax.axhline(0, color="0.6", linewidth=0.8)
ax.set(xlabel="norm of the second point", ylabel="smallest eigenvalue")
plt.show()
