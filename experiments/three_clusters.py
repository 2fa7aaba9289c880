"""The three-cluster toy of Schoelkopf, Smola, Mueller (1998) and Schoelkopf et al. (1999): components and denoising.

Three Gaussian clusters in the plane, sd 0.1, 30 points each; kernel exp(-|x - z|^2 / 0.1). The picture shows the
movement of noisy points: projected onto 1 to 8 kernel principal components, then mapped to the plane by fixed-point
pre-images, and with one component of linear PCA. The script prints mean squared distances to the cluster centres, and
the spectra of the tanh kernel.

Run: python experiments/three_clusters.py [--picture three_clusters.png]
"""

import argparse
import warnings

import numpy as np
from sklearn.decomposition import PCA

import mercer as mc

CENTRES = np.array([[-0.5, -0.2], [0.0, 0.6], [0.5, 0.0]])
DEVIATION, EACH, COMPONENTS = 0.1, 30, range(1, 9)


def clusters(rng, each=EACH):
    """Return points of the three clusters and the centre of each."""
    centres = np.repeat(CENTRES, each, axis=0)
    return centres + DEVIATION * rng.standard_normal(centres.shape), centres


def denoised(X, noisy, components):
    """Return pre-images of the projections of noisy points onto kernel principal components."""
    kpca = mc.KernelPCA(components, kernel=mc.Gaussian(10.0), preimage="fixed_point").fit(X)
    return kpca.denoise(noisy)


def error(points, centres):
    """Return the mean squared distance to the centres."""
    return float(np.mean(np.sum((points - centres) ** 2, axis=1)))


def picture(path, X, noisy, results):
    """Draw the movement of the points."""
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(3, 3, figsize=(9, 8), sharex=True, sharey=True, layout="constrained")
    for ax, (title, moved) in zip(axes.flat, results.items(), strict=True):
        ax.scatter(*X.T, s=6, color="0.8")
        ax.plot(*np.stack([noisy, moved], axis=1).transpose(2, 1, 0), color="C0", linewidth=0.6)
        ax.scatter(*moved.T, s=8, color="C3", zorder=3)
        ax.set_title(title, fontsize=10)
        ax.set_aspect("equal")
    figure.savefig(path, dpi=120)


def tanh_spectra(X, gains=(0.1, 1.0, 5.0, 10.0)):
    """Return the extreme eigenvalues of the centred tanh Gram matrix and the variance ratios of kernel PCA."""
    rows = []
    for gain in gains:
        kernel = mc.Sigmoid(gain, 1.0)
        K = kernel(X) - kernel(X).mean(axis=0)
        spectrum = np.linalg.eigvalsh(K - K.mean(axis=1)[:, None])
        with warnings.catch_warnings():
            # the kernel is indefinite on purpose
            warnings.simplefilter("ignore", UserWarning)
            kpca = mc.KernelPCA(3, kernel=kernel).fit(X)
        rows.append((gain, spectrum[0], spectrum[-1], kpca.explained_variance_ratio_))
    return rows


def main():
    """Print the errors; draw the picture if a path is given."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--picture", help="path of the PNG file")
    path = parser.parse_args().picture
    rng = np.random.default_rng(0)
    X, _ = clusters(rng)
    noisy, centres = clusters(rng, 20)
    linear = PCA(1).fit(X)
    results = {"linear PCA, 1 component": linear.inverse_transform(linear.transform(noisy))}
    results |= {f"kernel PCA, {m} component{'s' * (m > 1)}": denoised(X, noisy, m) for m in COMPONENTS}
    print(f"{'noisy':28}{error(noisy, centres):.4f}")
    for title, moved in results.items():
        print(f"{title:28}{error(moved, centres):.4f}")
    print("tanh(gain x.z + 1): gain, least and largest eigenvalue, shares of the first three components")
    for gain, least, largest, shares in tanh_spectra(X):
        print(f"  {gain:5.1f} {least:9.4f} {largest:8.3f}   " + " ".join(f"{share:.3f}" for share in shares))
    if path:
        picture(path, X, noisy, results)


if __name__ == "__main__":
    main()
