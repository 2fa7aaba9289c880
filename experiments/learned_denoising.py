"""Denoising of raw digits by regression in feature space: the best that one call of Mercer does today.

300 training and 50 test digits a class of USPS; Gaussian noise of standard deviation 0.5, and speckle that turns each
pixel black or white with probability 0.2 each. Learned pre-images regress clean digits on corrupted copies of the
training digits, with a kernel on all pixels plus kernels on squares of pixels. Three kinds of inputs are tried, then
some settings: those with the least error on held-out training digits of the first draw are taken. The fast regression
has so few landmarks that it removes the noise of 1 000 digits in about 0.1 s. Beside it: linear PCA with its best
number of components on the test digits, scikit-learn's kernel PCA, linear ridge regression and a network with 512
hidden units on the same inputs, and the posterior mean over the training digits. The gain is the error of linear PCA
over the error; the goals are 2.4 and 2.2. The same on Frey faces.

Needs usps.npz and frey_faces.npz in the folder that MERCER_DATA names.

Run: python -m experiments.learned_denoising [--quick]
"""

import time

import numpy as np

import mercer as mc
from experiments._denoisers import linear_answers, peers
from experiments._report import Entry, Goal, Picture, main, panels
from experiments._usps import WIDTH, draw, error, gaussian, speckle
from mercer import datasets

SOURCE = "beyond the published figures of Mika et al., NIPS 11 (1999)"
NOISES = {"Gaussian": gaussian, "speckle": speckle}
GOALS = {"Gaussian": 2.4, "speckle": 2.2}
LINEAR = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
# What a regression sees of noisy digits: the number of images for each digit, and their pixels.
INPUTS = {
    "pixels": (1, lambda X: X),
    "clipped pixels": (1, lambda X: np.clip(X, -1, 1)),
    "black, white and other pixels": (
        3,
        lambda X: np.column_stack([X == -1, X == 1, np.where(np.abs(X) < 1, X, 0)]),
    ),
}
# Side of the squares, corrupted copies, landmarks.
SETTINGS = [(4, 10, 3000), (2, 10, 3000)]
# The fast regression takes inputs of type float32, and fewer landmarks where it sees more images of a digit.
FAST = {1: (4, 15, 1200), 3: (4, 15, 400)}


def kernel(shape, side, images):
    """Return a kernel of one or more images plus three times the mean of the kernels of their squares."""
    whole = mc.Cauchy("median")
    pixels = np.arange(images * np.prod(shape)).reshape(images, *shape)
    corners = [
        (i, j)
        for i in range(0, shape[0] - side + 1, side)
        for j in range(0, shape[1] - side + 1, side)
    ]
    squares = [pixels[:, i : i + side, j : j + side].ravel() for i, j in corners]
    return whole + sum(mc.Mapped(whole, square) for square in squares) * (3 / len(squares))


def regression(noise, inputs, setting, shape=(16, 16), dtype=float):
    """Return learned pre-images as a method."""
    images, seen = INPUTS[inputs]
    side, copies, landmarks = setting
    return mc.Learned(
        noise,
        kernel(shape, side, images),
        copies,
        landmarks,
        inputs=lambda X: seen(X).astype(dtype),
    )


def clean_images(train, m):
    """Return an expansion over clean images, of m vectors; learned pre-images depend on the images alone."""
    return mc.Expansion(mc.Gaussian(1 / WIDTH), train, np.full((len(train), m), 1 / len(train)))


def learned(method, train, noisy):
    """Return the answers of learned pre-images."""
    return mc.preimage(clean_images(train, len(noisy)), method, start=noisy).points


def selected(noise, quick):
    """Return the inputs and setting with the least error on every sixth training digit of the first draw."""
    train, _ = draw(0)
    held_out = np.arange(len(train)) % 6 == 0
    clean = train[held_out]
    noisy = noise(train[held_out], np.random.default_rng(1))

    def held_out_error(inputs, setting):
        return error(learned(regression(noise, inputs, setting), train[~held_out], noisy), clean)

    inputs = min(INPUTS, key=lambda each: held_out_error(each, FAST[1]))
    return inputs, SETTINGS[0] if quick else min(
        SETTINGS, key=lambda each: held_out_error(inputs, each)
    )


def seconds(method, train, noisy):
    """Return the median time of three calls for 1 000 digits, after the fit."""
    psi = clean_images(train, 1000)
    start = np.tile(noisy, (2, 1))
    times = []
    for _ in range(4):
        started = time.perf_counter()
        mc.preimage(psi, method, start=start)
        times.append(time.perf_counter() - started)
    return np.median(times[1:])


def picture(rows):
    figure, axes = panels(len(rows), 8, 2.2)
    for row, (title, images) in zip(axes, rows.items(), strict=True):
        for ax, image in zip(row, images[::67], strict=False):
            ax.imshow(image.reshape(16, 16), cmap="gray", vmin=-1, vmax=1)
            ax.set(xticks=[], yticks=[])
        row[0].set_title(title, loc="left")
    return figure


def faces(noise, inputs):
    """Return the gain over linear PCA on faces that are later in the film than the training faces."""
    X = datasets.load("frey_faces").X / 127.5 - 1
    train, clean = X[:1500:2], X[1600::2]
    noisy = noise(clean, np.random.default_rng(1000))
    answers = linear_answers(train, noisy, LINEAR).values()
    method = regression(noise, inputs, SETTINGS[0], (28, 20))
    return min(error(each, clean) for each in answers) / error(learned(method, train, noisy), clean)


def experiment(quick):
    for name, noise in NOISES.items():
        gains, fast, others, errors = [], [], {}, []
        inputs, setting = selected(noise, quick)
        method = regression(noise, inputs, setting)
        quicker = regression(noise, inputs, FAST[INPUTS[inputs][0]], dtype=np.float32)
        for seed in range(1 if quick else 3):
            train, clean = draw(seed)
            noisy = noise(clean, np.random.default_rng(1000 + seed))
            least = min(
                error(each, clean) for each in linear_answers(train, noisy, LINEAR).values()
            )
            answers = learned(method, train, noisy)
            errors.append((least, error(answers, clean)))
            gains.append(least / errors[-1][1])
            fast.append(least / error(learned(quicker, train, noisy), clean))
            # the network takes minutes
            for other, found in (
                () if quick or seed else peers(name, noise, INPUTS[inputs][1], train, noisy)
            ):
                others[f"gain of {other}"] = least / error(found, clean)
        yield f"{name} noise: linear PCA has {np.median(gains):.2f} times the error of regressions on {inputs}."
        goal = GOALS[name]
        yield Goal("Denoising", f"{name} noise: gain of learned pre-images", goal, gains, "largest")
        yield Goal("Denoising", f"{name} noise: gain of the fast regression", goal, fast, "largest")
        time_of = seconds(quicker, train, noisy)
        yield Goal(
            "Denoising", f"{name} noise: its seconds for 1 000 digits", 0.1, time_of, "least"
        )
        least, ours = np.array(errors).T
        others = {"error of linear PCA": least, "error of learned pre-images": ours} | others
        for other, values in others.items():
            yield Entry("Denoising", f"{name} noise: {other}", None, "", values)
        images = {"noisy": noisy, "learned": answers, "clean": clean}
        yield Picture(lambda images=images: picture(images), f"{name} noise.")
        if not quick:
            yield Entry(
                "Denoising", f"{name} noise: gain on Frey faces", None, "", faces(noise, inputs)
            )


if __name__ == "__main__":
    main(experiment, SOURCE)
