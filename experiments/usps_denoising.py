"""Denoising of handwritten digits by linear and kernel PCA.

300 training and 50 test digits a class of USPS, pixels in [-1, 1], smoothed as in the published experiment; kernel
exp(-|x - z|^2 / 128); Gaussian noise of standard deviation 0.5 and speckle, where each pixel turns black or white with
probability p / 2 each. The published p = 0.4 is taken as the probability for black or white together being 0.2: only
this gives the published numbers. The error is the mean squared distance to the clean digit, the gain the error of
linear PCA over that of kernel PCA, each with its best number of components on the test digits, as published. A last
entry has the kernel and the number of components with the smallest error on held-out training digits made noisy, an
answer to the open problem of section VII.

Needs the set usps.npz in the folder that MERCER_DATA names.

Run: python -m experiments.usps_denoising [--quick]
"""

from functools import partial

import numpy as np
from sklearn.decomposition import PCA

import mercer as mc
from experiments._denoisers import kernel_answers, linear_answers
from experiments._report import Entry, Picture, main, panels
from experiments._usps import WIDTH, draw, error, gaussian, speckle
from mercer import datasets

SOURCE = (
    "Mika et al., NIPS 11 (1999), section 4; Schoelkopf et al., IEEE TNN 10 (1999), Figs. 6 to 8"
)
COMPONENTS = [2**j for j in range(11)]
# Gain, best numbers of components of linear and kernel PCA, largest ratio at equal numbers.
PUBLISHED = {"Gaussian": (1.6, 32, 512, 8.0), "speckle": (1.2, 32, 256, None)}


NOISES = {"Gaussian": gaussian, "speckle": partial(speckle, p=0.2)}


def selected(train, noise):
    """Return the kernel and number of components with the smallest error on held-out training digits made noisy."""
    held_out = np.arange(len(train)) % 6 == 0
    noisy = noise(train[held_out], np.random.default_rng(2000))
    errors = {}
    for width in (WIDTH / 2, WIDTH, 2 * WIDTH):
        pca = mc.KernelPCA(1024, kernel=mc.Gaussian(1 / width)).fit(train[~held_out])
        for m, answers in kernel_answers(pca, noisy, [256, 512, 1024]).items():
            errors[width, m] = error(answers, train[held_out])
    return min(errors, key=errors.get)


def curves(errors):
    figure, axes = panels(1, 2, 2.8, sharey=True)
    for ax, name in zip(axes, NOISES, strict=True):
        for label, style in (("linear", "o:"), ("kernel", "o-")):
            values = errors[name, label]
            ax.loglog(list(values), list(values.values()), style, base=2, label=label, markersize=3)
        ax.set(title=name, xlabel="components", ylabel="error" if name == "Gaussian" else None)
    axes[0].legend()
    return figure


def images(rows, titles):
    figure, axes = panels(len(rows), len(rows[0]), 5.0 * len(rows) / len(rows[0]) + 0.5)
    for i, row in enumerate(rows):
        for j, image in enumerate(row):
            axes[i, j].imshow(image.reshape(16, 16), cmap="gray")
            axes[i, j].set(xticks=[], yticks=[], title=titles[j] if i == 0 else "")
    return figure


def experiment(quick):
    gains, best, ratios, errors = {}, {}, {}, {}
    for seed in range(1 if quick else 3):
        train, clean = (datasets.smooth(X) for X in draw(seed))
        pca = mc.KernelPCA(max(COMPONENTS), kernel=mc.Gaussian(1 / WIDTH)).fit(train)
        for name, noise in NOISES.items():
            noisy = noise(clean, np.random.default_rng(1000 + seed))
            answers = {"linear": linear_answers(train, noisy, COMPONENTS)}
            answers["kernel"] = kernel_answers(pca, noisy, COMPONENTS)
            for label, found in answers.items():
                errors[name, label] = {m: error(points, clean) for m, points in found.items()}
            linear, kernel = errors[name, "linear"], errors[name, "kernel"]
            gains.setdefault(name, []).append(min(linear.values()) / min(kernel.values()))
            best.setdefault(name, []).append(
                [min(linear, key=linear.get), min(kernel, key=kernel.get)]
            )
            ratios.setdefault(name, []).append(max(linear[m] / kernel[m] for m in COMPONENTS))
    yield f"With Gaussian noise linear PCA has {np.median(gains['Gaussian']):.2f} times the error of kernel PCA."
    yield Picture(
        lambda: curves(errors),
        "Mean squared distance to the clean digit by the number of components.",
    )
    few = [1, 4, 16, 64, 256]
    rows = [[X, noisy[i], *(answers[label][m][i] for m in few)]
            for i, X in ((30, clean[30]), (180, clean[180])) for label in ("linear", "kernel")]  # fmt: skip
    caption = "Speckle, two digits: upper rows linear PCA, lower rows kernel PCA, by the number of components."
    yield Picture(lambda: images(rows, ["clean", "noisy", *few]), caption)
    powers = [2**j for j in range(9)]
    vectors = mc.preimage(
        pca.expansion_[:, np.array(powers) - 1], "fixed_point", start=train[:9]
    ).points
    flat = PCA(256, svd_solver="full").fit(train).components_[np.array(powers) - 1]
    yield Picture(
        lambda: images([flat, vectors], powers),
        "Linear (top) and kernel principal components as images.",
    )
    for name, (gain, linear, kernel, ratio) in PUBLISHED.items():
        yield Entry(
            "Section VI-A", f"{name} noise: gain over linear PCA", gain, "S", gains[name], "largest"
        )
        for j, (label, published) in enumerate((("linear", linear), ("kernel", kernel))):
            numbers = np.array(best[name])[:, j]
            yield Entry(
                "Section VI-A",
                f"{name} noise: best number of components, {label}",
                published,
                "S",
                numbers,
            )
        yield Entry(
            "Section VI-A",
            f"{name} noise: largest ratio at equal numbers",
            ratio,
            "S",
            ratios[name],
            "largest",
        )
    if quick:
        return
    width, m = selected(train, gaussian)
    pca = mc.KernelPCA(m, kernel=mc.Gaussian(1 / width)).fit(train)
    noisy = gaussian(clean, np.random.default_rng(1000 + seed))
    ours = min(linear_answers(train, noisy, COMPONENTS).values(), key=lambda X: error(X, clean))
    value = error(ours, clean) / error(kernel_answers(pca, noisy, [m])[m], clean)
    name = f"gain with the kernel and components selected on held-out digits (width {width:g}, {m})"
    yield Entry("Section VII", name, None, "", value)


if __name__ == "__main__":
    main(experiment, SOURCE)
