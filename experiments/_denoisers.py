"""Denoisers of digits: linear and kernel PCA, and methods that Mercer is compared with."""

import numpy as np
from sklearn.decomposition import PCA, KernelPCA
from sklearn.linear_model import Ridge
from sklearn.neural_network import MLPRegressor

import mercer as mc
from experiments._usps import WIDTH


def linear_answers(train, noisy, components):
    """Return the reconstructions of linear PCA for numbers of components."""
    pca = PCA(min(max(components), train.shape[1]), svd_solver="full").fit(train)
    scores = pca.transform(noisy)
    order = np.arange(pca.n_components_)
    return {m: pca.inverse_transform(np.where(order < m, scores, 0)) for m in components}


def kernel_answers(pca, noisy, components):
    """Return fixed-point pre-images of the projections, started at the noisy digits."""
    scores = pca.transform(noisy)
    order = np.arange(pca.n_components_)
    kept = {m: pca.reconstruct(np.where(order < m, scores, 0)) for m in components}
    return {m: mc.preimage(psi, "fixed_point", start=noisy).points for m, psi in kept.items()}


def posterior_mean(name, train, noisy):
    """Return the mean of the training digits given the noisy digit, with the exact density of the noise."""
    if name == "Gaussian":
        logs = -2 * ((noisy**2).sum(axis=1)[:, None] + (train**2).sum(axis=1) - 2 * noisy @ train.T)
    else:
        logs = np.array([_speckle_log(x, train) for x in noisy])
    weights = np.exp(logs - logs.max(axis=1, keepdims=True))
    return weights @ train / weights.sum(axis=1, keepdims=True)


def _speckle_log(x, train):
    """Return the logarithms of the probability of a digit given each training digit."""
    # a pixel stays with probability 0.6 and turns to each extreme with 0.2; no training pixel may forbid a digit
    return np.log(np.where(x == train, 0.6, 0.0) + np.where(np.abs(x) == 1, 0.2, 1e-9)).sum(axis=1)


def peers(name, noise, inputs, train, noisy):
    """Yield the other methods and their answers; ridge regression and the network take ``inputs`` of noisy digits."""
    pca = KernelPCA(
        256,
        kernel="rbf",
        gamma=1 / WIDTH,
        fit_inverse_transform=True,
        alpha=1e-3,
        eigen_solver="arpack",
    )
    yield "scikit-learn's kernel PCA", pca.fit(train).inverse_transform(pca.transform(noisy))
    rng = np.random.default_rng(0)
    copies = inputs(np.concatenate([noise(train, rng) for _ in range(10)]))
    targets = np.tile(train, (10, 1))
    yield (
        "ridge regression",
        np.clip(Ridge(100.0).fit(copies, targets).predict(inputs(noisy)), -1, 1),
    )
    network = MLPRegressor(
        hidden_layer_sizes=(512,), early_stopping=True, max_iter=60, random_state=0
    )
    yield "network", np.clip(network.fit(copies, targets).predict(inputs(noisy)), -1, 1)
    yield "posterior mean", posterior_mean(name, train, noisy)
