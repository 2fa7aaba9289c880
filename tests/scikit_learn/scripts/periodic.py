"""Kernel ridge regression with a kernel of Gaussian processes, tuned at random."""

import numpy as np
from scipy.stats import loguniform
from sklearn.gaussian_process.kernels import ExpSineSquared
from sklearn.kernel_ridge import KernelRidge
from sklearn.model_selection import RandomizedSearchCV

rng = np.random.RandomState(0)
X = np.linspace(0, 30, 300)[rng.choice(120, 40, replace=False), None]
y = np.sin(X).ravel() + rng.normal(0, 0.3, 40)
params = {"alpha": loguniform(1e-3, 1e0), "kernel__periodicity": loguniform(1e0, 1e1)}
ridge = KernelRidge(kernel=ExpSineSquared())
search = RandomizedSearchCV(ridge, param_distributions=params, n_iter=10, random_state=0).fit(X, y)
values = search.predict(np.linspace(0, 30, 100)[:, None])
