"""The chapters of the demo page: each function returns a heading and HTML."""

from collections.abc import Sequence

import numpy as np

from mercer.cli import pictures
from mercer.cli.demo import digits, page
from mercer.cli.demo.page import Chapter
from mercer.expansion import features, sqdist
from mercer.plot import ImageGridDisplay
from mercer.preimages import preimage

_WIDTH = 8

SNIPPET = """
import numpy as np, mercer as mc
from sklearn.datasets import load_digits
X = load_digits().data / 16
noisy = X[1000:] + np.random.default_rng(0).normal(0, 0.25, X[1000:].shape)
clean = mc.KernelPCA(256, kernel=mc.Gaussian(0.2)).fit(X[:1000]).denoise(noisy)
"""


def denoising_display(
    data: digits.Data, outcomes: Sequence[digits.Outcome], n_images: int = 10
) -> ImageGridDisplay:
    """Return rows of clean, noisy and denoised digits, with the error of each method in its title."""
    noisy = np.sum((data.test_noisy - data.test) ** 2, axis=1).mean()
    rows = {"clean": data.test, f"noisy: {noisy:.2f}": data.test_noisy}
    rows |= {f"{outcome.name}: {outcome.error:.2f}": outcome.images for outcome in outcomes}
    images = np.stack([row[:n_images].reshape(-1, _WIDTH, _WIDTH) for row in rows.values()])
    return ImageGridDisplay(images, titles=list(rows))


def denoising(
    data: digits.Data, setting: digits.Setting, outcomes: Sequence[digits.Outcome]
) -> Chapter:
    """Return the chapter on noisy digits; the first outcome is that of linear PCA."""
    linear = outcomes[0].error
    best = int(np.argmin([outcome.error for outcome in outcomes]))
    rows = [
        [
            outcome.name,
            f"{outcome.error:.3f}",
            f"{linear / outcome.error:.2f}",
            _parameters(outcome.parameters),
        ]
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
    figure = pictures.figure(display.plot, (4.9, 0.7 * len(display.titles)), alt, caption)
    return "Denoising digits", text + page.table(header, rows, best) + figure


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
        "<p>Seconds by the clock, of one run on one thread of this computer. <q>Tune</q> is the time of all fits to "
        f"{len(data.fit)} digits and of denoising {len(data.held)} after each fit. On a computer that has not used the "
        "kernel before, it includes the seconds that compile its loop. <q>Fit</q> and <q>denoise</q> are the times "
        f"with the best parameters.</p><p>{_certificate(fixed, data.test_noisy)}</p>"
    )
    header = [
        "method",
        "tune, s",
        f"fit to {len(data.train)}, s",
        f"denoise {len(data.test)}, s",
        "numbers stored",
    ]
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
        "library; the guide and the gallery are in the folder docs, which <code>make docs</code> builds.</p>"
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
    return ", ".join(
        f"{name.removeprefix('n_')} {value:g}" for name, value in sorted(parameters.items())
    )
