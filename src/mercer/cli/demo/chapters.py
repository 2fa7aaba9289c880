"""The chapters of the demo page: each function returns a heading and HTML."""

import html
from collections.abc import Sequence

import numpy as np

from mercer._common import Array
from mercer.cli.demo import digits, page, pictures, toys
from mercer.cli.demo.eigenvectors import Images
from mercer.cli.demo.page import Chapter
from mercer.estimators import KernelPCA
from mercer.expansion import features, sqdist
from mercer.plot import ImageGridDisplay, KernelPCAContoursDisplay
from mercer.plot._axes import Region
from mercer.plot.contours import on_grid
from mercer.preimages import preimage

_WIDTH = 8

# Inches of a figure of two rows of four panels.
_PANELS = (4.9, 2.5)

SNIPPET = """
import numpy as np, mercer as mc
from sklearn.datasets import load_digits
X = load_digits().data / 16
noisy = X[1000:] + np.random.default_rng(0).normal(0, 0.25, X[1000:].shape)
clean = mc.KernelPCA(256, kernel=mc.Gaussian(0.2)).fit(X[:1000]).denoise(noisy)
"""


def denoising_display(data: digits.Data, outcomes: Sequence[digits.Outcome], n_images: int = 10) -> ImageGridDisplay:
    """Return rows of clean, noisy and denoised digits, with the error of each method in its title."""
    noisy = np.sum((data.test_noisy - data.test) ** 2, axis=1).mean()
    rows = {"clean": data.test, f"noisy: {noisy:.2f}": data.test_noisy}
    rows |= {f"{outcome.name}: {outcome.error:.2f}": outcome.images for outcome in outcomes}
    images = np.stack([row[:n_images].reshape(-1, _WIDTH, _WIDTH) for row in rows.values()])
    return ImageGridDisplay(images, titles=list(rows))


def denoising(data: digits.Data, setting: digits.Setting, outcomes: Sequence[digits.Outcome]) -> Chapter:
    """Return the chapter on noisy digits; the first outcome is that of linear PCA."""
    linear = outcomes[0].error
    best = int(np.argmin([outcome.error for outcome in outcomes]))
    rows = [
        [outcome.name, f"{outcome.error:.3f}", f"{linear / outcome.error:.2f}", _parameters(outcome.parameters)]
        for outcome in outcomes
    ]
    display = denoising_display(data, outcomes)
    alt = f"Rows of ten handwritten digits: {', '.join(display.titles)}."
    caption = f"The first ten of {len(data.test)} test digits; the numbers are mean errors over all of them."
    text = (
        f"<p>{len(data.test)} digits of 8 by 8 pixels between 0 and 1 have Gaussian noise of standard deviation "
        f"{setting.noise:g} added to every pixel. Each method is fitted to the same {len(data.train)} other digits. "
        f"Its parameters are those with the smallest error on {len(data.held)} of these, which were held out and made "
        "noisy; the test digits are not used for tuning. All results are clipped to the range of pixels. The error is "
        "the mean squared distance to the clean digits, and the gain is the error of linear PCA divided by it.</p>"
    )
    header = ["method", "error", "gain", "parameters"]
    figure = pictures.figure(display, (4.9, 0.7 * len(display.titles)), alt, caption)
    return "Denoising digits", text + page.table(header, rows, best) + figure


def contours(pca: KernelPCA, X: Array, region: Region, n_grid: int) -> Chapter:
    """Return the chapter on the contours of kernel principal components."""
    titles = [f"{k + 1}: {share:.1%}" for k, share in enumerate(pca.explained_variance_ratio_)]
    display = KernelPCAContoursDisplay(*on_grid(pca, region, n_grid), points=X, titles=titles)
    caption = (
        f"{len(X)} points in three clusters, kernel exp(-|x - z|<sup>2</sup> / 0.1). Red is positive, blue negative, "
        "the line is zero, and the number is the share of the variance. The first two components separate the "
        "clusters, the next three split each of them, and the last three split them in the orthogonal direction."
    )
    alt = "Eight panels: scores of the first eight kernel principal components over the plane, with the points."
    return "Contours of kernel principal components", pictures.figure(display, _PANELS, alt, caption)


def tanh(results: Sequence[toys.Indefinite], X: Array, region: Region, n_grid: int) -> Chapter:
    """Return the chapter on kernels that are not positive semidefinite."""
    rows = [[f"{r.gain:g}", f"{r.smallest:.2g}", f"{r.largest:.3g}", f"{r.smallest / r.largest:.2g}"] for r in results]
    grids = [on_grid(r.pca, region, n_grid) for r in results]
    # first components in the first row, second components in the second
    scores = np.stack([scores for _, _, scores in grids], axis=1).reshape(-1, n_grid, n_grid)
    titles = [f"gain {r.gain:g}: {k}" for k in (1, 2) for r in results]
    display = KernelPCAContoursDisplay(*grids[0][:2], scores, points=X, titles=titles)
    caption = "The first two components for each gain separate the clusters although the kernel is indefinite."
    text = (
        "<p>tanh(gain &lt;x, z&gt; + 1) is not positive semidefinite. Kernel PCA uses the positive part of its "
        "spectrum and warns about the part that it drops.</p>"
    )
    warning = f"<p>The warning at gain {results[-1].gain:g}: <q>{html.escape(results[-1].warning)}</q></p>"
    header = ["gain", "smallest eigenvalue", "largest", "smallest / largest"]
    alt = "Eight panels: scores of the first two components for gains 0.1, 1, 5 and 10."
    figure = pictures.figure(display, _PANELS, alt, caption)
    return "An indefinite kernel: tanh", text + page.table(header, rows) + warning + figure


def eigenvectors(found: Images) -> Chapter:
    """Return the chapter on principal directions as images."""
    images = np.stack([rows.reshape(-1, _WIDTH, _WIDTH) for rows in (found.rays, found.values)])
    titles = ["pre-images of the directions", "values at single pixels"]
    display = ImageGridDisplay(images, titles=titles, signed=True)
    cosines = ", ".join(f"{cosine:.2f}" for cosine in found.cosines)
    caption = (
        "The first principal directions u of digits under a cubic polynomial kernel. Top row: the image z with the "
        f"largest cosine between &phi;(z) and u ({cosines}); the closer to 1, the better the image represents u. "
        "Bottom row: &lt;&phi;(e), u&gt; for every image e with one bright pixel, less the value of the black image. "
        "Red is positive, blue negative; each image has its own scale."
    )
    alt = f"Two rows of {len(found.rays)} small images: pre-images of principal directions, and their values at pixels."
    return "Principal directions as images", pictures.figure(display, (4.9, 2.0), alt, caption)


def cost(data: digits.Data, outcomes: Sequence[digits.Outcome]) -> Chapter:
    """Return the chapter on times, sizes and certificates."""
    rows = [
        [
            outcome.name,
            *(f"{outcome.seconds[part]:.2f}" for part in ("tune", "fit", "denoise")),
            f"{outcome.size:,}".replace(",", "\u202f"),
        ]
        for outcome in outcomes
    ]
    fixed = next(outcome.model for outcome in outcomes if outcome.name == "Mercer, fixed point")
    text = (
        "<p>Tuning fits every point of a grid to three quarters of the training digits. Times are from this run, on "
        f"one thread.</p><p>{_certificate(fixed, data.test_noisy)}</p>"
    )
    header = ["method", "tune, s", f"fit to {len(data.train)}, s", f"denoise {len(data.test)}, s", "numbers stored"]
    return "Times and sizes", page.table(header, rows) + text


def snippet() -> Chapter:
    """Return the chapter with five lines of code that denoise."""
    return "Denoising in five lines", page.code(SNIPPET)


def onward() -> Chapter:
    """Return the chapter with the commands and calls that come next."""
    commands = "mercer explore\nmercer compress MODEL --data FILE --vectors 100 --to c"
    text = (
        "<p><code>mercer explore</code> tries kernels on a table of yours in the browser, and <code>mercer "
        "compress</code> compresses a model file of Mercer or LIBSVM. In Python, <code>help(mercer)</code> lists the "
        "library; the guide and the examples are in the folder docs, which <code>make docs</code> builds.</p>"
    )
    return "Next", text + page.code(commands)


def _certificate(pca, noisy):
    psi = pca.reconstruct(pca.transform(noisy))
    found = preimage(psi, "fixed_point", start=noisy)
    before = sqdist(psi, features(psi.kernel, noisy), paired=True).mean()
    return (
        f"Of {len(noisy)} fixed-point pre-images {found.converged.mean():.1%} converged, after "
        f"{found.n_iter.mean():.0f} iterations on average. The mean squared distance in feature space between the "
        f"projection of the noisy digit and the pre-image fell from {before:.4f} at the noisy digit to "
        f"{found.sqdist.mean():.4f}; it is 0 only if an exact pre-image exists."
    )


def _parameters(parameters):
    return ", ".join(f"{name.removeprefix('n_')} {value:g}" for name, value in sorted(parameters.items()))
