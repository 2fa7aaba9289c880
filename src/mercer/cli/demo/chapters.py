"""The chapters of the page: results in, a heading and HTML out."""

import html

import numpy as np

from mercer.cli.demo import page, pictures
from mercer.expansion import features, sqdist
from mercer.plot import ImageGridDisplay, KernelPCAContoursDisplay
from mercer.plot.contours import on_grid
from mercer.preimages import preimage

_SIDE = 8

# Inches of a figure of two rows of four panels over the region of the toy.
_PANELS = (4.9, 2.5)

SNIPPET = """
import numpy as np, mercer as mc
from sklearn.datasets import load_digits
X = load_digits().data / 16
noisy = X[1000:] + np.random.default_rng(0).normal(0, 0.25, X[1000:].shape)
clean = mc.KernelPCA(256, kernel=mc.Gaussian(0.2)).fit(X[:1000]).denoise(noisy)
"""


def denoising_display(data, outcomes, n_images=10):
    """Return the clean and the noisy digits above those of every way, the error of each in its title."""
    noisy = np.sum((data.test_noisy - data.test) ** 2, axis=1).mean()
    rows = {"clean": data.test, f"noisy: {noisy:.2f}": data.test_noisy}
    rows |= {f"{outcome.name}: {outcome.error:.2f}": outcome.images for outcome in outcomes}
    images = np.stack([row[:n_images].reshape(-1, _SIDE, _SIDE) for row in rows.values()])
    return ImageGridDisplay(images, titles=list(rows))


def denoising(data, setting, outcomes):
    """Return the chapter on noisy digits.

    Parameters
    ----------
    data : Data
    setting : Setting
    outcomes : list of Outcome
        Linear PCA first.

    Returns
    -------
    (str, str)
        Heading and HTML.
    """
    linear = outcomes[0].error
    best = int(np.argmin([outcome.error for outcome in outcomes]))
    rows = [
        [outcome.name, f"{outcome.error:.3f}", f"{linear / outcome.error:.2f}", _said(outcome.parameters)]
        for outcome in outcomes
    ]
    display = denoising_display(data, outcomes)
    alt = f"Rows of ten handwritten digits: {', '.join(display.titles)}."
    caption = f"Ten test digits, not chosen, with the error over all {len(data.test)}."
    text = (
        f"<p>{len(data.test)} digits of 8 by 8 pixels between 0 and 1, with Gaussian noise of standard deviation "
        f"{setting.noise:g} added to every pixel. Each way learned from the same {len(data.train)} other digits; its "
        f"settings are those with the least error on {len(data.held)} of them, held out and made noisy. Nothing was "
        "chosen on the test digits, and every answer is clipped to the range of pixels. The error is "
        "the mean squared distance to the clean digits, the gain that of linear PCA over it.</p>"
    )
    header = ["way", "error", "gain", "settings found"]
    return (
        "Noisy digits",
        text
        + page.table(header, rows, best)
        + pictures.figure(display, (4.9, 0.7 * len(display.titles)), alt, caption),
    )


def contours(pca, X, region, n_grid):
    """Return the chapter on the contours of kernel principal components."""
    titles = [f"{k + 1}: {share:.1%}" for k, share in enumerate(pca.explained_variance_ratio_)]
    display = KernelPCAContoursDisplay(*on_grid(pca, region, n_grid), points=X, titles=titles)
    caption = (
        f"{len(X)} points in three clusters, kernel exp(-|x - z|<sup>2</sup> / 0.1). Red is positive, blue negative, "
        "the line is zero; the number is the share of the variance. The first two components tell the clusters apart, "
        "the next three halve them, and the last three halve them the other way."
    )
    alt = "Eight panels: scores of the first eight kernel principal components over the plane, with the points."
    return "What the components see", pictures.figure(display, _PANELS, alt, caption)


def tanh(results, X, region, n_grid):
    """Return the chapter on kernels that are not positive semidefinite."""
    rows = [[f"{r.gain:g}", f"{r.smallest:.2g}", f"{r.largest:.3g}", f"{r.smallest / r.largest:.2g}"] for r in results]
    grids = [on_grid(r.pca, region, n_grid) for r in results]
    # first components above, second ones below
    scores = np.stack([scores for _, _, scores in grids], axis=1).reshape(-1, n_grid, n_grid)
    titles = [f"gain {r.gain:g}: {k}" for k in (1, 2) for r in results]
    display = KernelPCAContoursDisplay(*grids[0][:2], scores, points=X, titles=titles)
    caption = "The first two components for each gain: they tell the clusters apart although the kernel is indefinite."
    text = (
        "<p>tanh(gain &lt;x, z&gt; + 1) is no positive semidefinite kernel. Kernel PCA works on the positive part of "
        "its spectrum, and warns of what it cuts.</p>"
    )
    said = f"<p>The warning at gain {results[-1].gain:g}: <q>{html.escape(results[-1].warning)}</q></p>"
    header = ["gain", "smallest eigenvalue", "largest", "smallest / largest"]
    alt = "Eight panels: scores of the first two components for gains 0.1, 1, 5 and 10."
    return "tanh, which is indefinite", text + page.table(header, rows) + said + pictures.figure(
        display, _PANELS, alt, caption
    )


def eigenvectors(seen):
    """Return the chapter on principal directions as pictures."""
    images = np.stack([rows.reshape(-1, _SIDE, _SIDE) for rows in (seen.rays, seen.values)])
    titles = ["nearest multiples of some feature", "values at single pixels"]
    display = ImageGridDisplay(images, titles=titles, signed=True)
    cosines = ", ".join(f"{cosine:.2f}" for cosine in seen.cosines)
    caption = (
        "The first principal directions u of digits under a cubic polynomial kernel. Above, the image z with the "
        f"largest cosine between &phi;(z) and u ({cosines}): the closer to 1, the more the picture says. Below, "
        "&lt;&phi;(e), u&gt; for every image e that is one lit pixel, less the value of the black image: exact, but "
        "only single pixels. Red is positive, blue negative, each image on a scale of its own."
    )
    alt = f"Two rows of {len(seen.rays)} small images: pre-images of principal directions, and their values at pixels."
    return "Directions of feature space, as pictures", pictures.figure(display, (4.9, 2.0), alt, caption)


def cost(data, outcomes):
    """Return the chapter on times, sizes and certificates."""
    rows = [
        [
            outcome.name,
            *(f"{outcome.seconds[part]:.2f}" for part in ("tune", "fit", "denoise")),
            f"{outcome.kept:,}".replace(",", "\u202f"),
        ]
        for outcome in outcomes
    ]
    fixed = next(outcome.model for outcome in outcomes if outcome.name == "Mercer, fixed point")
    text = (
        "<p>Tuning is over a grid of settings, each fitted to three quarters of the training digits. Times are of "
        "this run, on one thread.</p>"
        f"<p>{_certificate(fixed, data.test_noisy)}</p>"
    )
    header = ["way", "tune, s", f"fit to {len(data.train)}, s", f"denoise {len(data.test)}, s", "numbers kept"]
    return "What it cost", page.table(header, rows) + text


def snippet():
    """Return the chapter with the five lines that denoise."""
    return "The same in five lines", page.code(SNIPPET)


def _certificate(pca, noisy):
    psi = pca.reconstruct(pca.transform(noisy))
    found = preimage(psi, "fixed_point", start=noisy)
    before = sqdist(psi, features(psi.kernel, noisy), paired=True).mean()
    return (
        f"Of {len(noisy)} fixed-point pre-images {found.converged.mean():.1%} met their criterion, after "
        f"{found.n_iter.mean():.0f} iterations in the mean. The mean squared distance in feature space between what "
        f"was asked for, the projection of the noisy digit, and the point of input space fell from {before:.4f} at the "
        f"noisy digit to {found.sqdist.mean():.4f}; it is 0 only where an exact pre-image exists."
    )


def _said(parameters):
    return ", ".join(f"{name.removeprefix('n_')} {value:g}" for name, value in sorted(parameters.items()))
