"""Denoising of raw digits by regression in feature space: the best that one call of Mercer does today.

300 training and 50 test digits a class of USPS; Gaussian noise of standard deviation 0.5, and speckle that turns each
pixel black or white with probability 0.2 each. Learned pre-images regress clean digits on corrupted copies of the
training digits, with a kernel on all pixels plus kernels on squares of pixels. Three kinds of inputs are tried, then
some settings, with and without slightly moved digits: those with the least error on held-out training digits of the
first draw are taken. Beside it: linear PCA with its best number of components on the test digits, scikit-learn's kernel
PCA, linear ridge regression and a network with 512 hidden units on the same inputs, and the posterior mean over the
training digits. The gain is the error of linear PCA over the error; the goals are 2.4 and 2.2. The same on Frey faces.

Needs usps.npz and frey_faces.npz in the folder that MERCER_DATA names.

Run: python -m experiments.learned_denoising [--quick]
"""

import time

import numpy as np

import mercer as mc
from experiments._denoisers import linear_answers, peers
from experiments._report import Entry, Picture, main, panels
from experiments._usps import WIDTH, draw, error, gaussian, moved, speckle
from mercer import datasets

SOURCE = "beyond the published figures of Mika et al., NIPS 11 (1999)"
NOISES = {"Gaussian": gaussian, "speckle": speckle}
GOALS = {"Gaussian": 2.4, "speckle": 2.2}
LINEAR = (8, 12, 16, 20, 24, 28, 32, 40, 48, 56, 64, 80, 96, 128)
# What a regression sees of noisy digits: the number of images for each digit, and their pixels.
INPUTS = {
    "pixels": (1, lambda X: X),
    "clipped pixels": (1, lambda X: np.clip(X, -1, 1)),
    "black, white and other pixels": (3, lambda X: np.column_stack([X == -1, X == 1, np.where(np.abs(X) < 1, X, 0)])),
}
# Side of the squares, moved copies of every digit, corrupted copies, landmarks, ridge; the first takes 20 seconds.
SETTINGS = [(4, 0, 5, 3000, 0.1), (4, 0, 15, 3000, 0.1), (4, 2, 5, 5000, 0.1), (6, 2, 5, 5000, 0.1)]


def kernel(shape, side, images):
    """Return a kernel of one or more images plus the mean of kernels of their squares, which overlap if side is 6."""
    whole = mc.Matern(length="median", nu=0.5)
    pixels = np.arange(images * np.prod(shape)).reshape(images, *shape)
    corners = [(i, j) for i in range(0, shape[0] - side + 1, 4) for j in range(0, shape[1] - side + 1, 4)]
    squares = [pixels[:, i : i + side, j : j + side].ravel() for i, j in corners]
    return whole + sum(mc.Mapped(whole, square) for square in squares) * (1 / len(squares))


def learned(noise, inputs, setting, train, noisy, shape=(16, 16)):
    """Return the answers of learned pre-images."""
    images, seen = INPUTS[inputs]
    side, extra, copies, landmarks, ridge = setting
    rng = np.random.default_rng(2)
    clean = np.concatenate([train, *(moved(train, shape, rng) for _ in range(extra))])
    psi = mc.Expansion(mc.Gaussian(1 / WIDTH), clean, np.full((len(clean), len(noisy)), 1 / len(clean)))
    method = mc.Learned(noise, kernel(shape, side, images), copies, landmarks, ridge, inputs=seen)
    return mc.preimage(psi, method, start=noisy).points


def selected(noise, quick):
    """Return the inputs and setting with the least error on every sixth training digit of the first draw."""
    train, _ = draw(0)
    held_out = np.arange(len(train)) % 6 == 0
    clean, noisy = train[held_out], noise(train[held_out], np.random.default_rng(1))

    def held_out_error(inputs, setting):
        return error(learned(noise, inputs, setting, train[~held_out], noisy), clean)

    inputs = min(INPUTS, key=lambda each: held_out_error(each, SETTINGS[0]))
    return inputs, SETTINGS[0] if quick else min(SETTINGS, key=lambda each: held_out_error(inputs, each))


def picture(rows):
    figure, axes = panels(len(rows), 8, 2.2)
    for row, (title, images) in zip(axes, rows.items(), strict=True):
        for ax, image in zip(row, images[::67], strict=False):
            ax.imshow(image.reshape(16, 16), cmap="gray", vmin=-1, vmax=1)
            ax.set(xticks=[], yticks=[])
        row[0].set_title(title, loc="left")
    return figure


def faces(noise, inputs, setting):
    """Return the gain over linear PCA on faces that are later in the film than the training faces."""
    X = datasets.load("frey_faces").X / 127.5 - 1
    train, clean = X[:1500:2], X[1600::2]
    noisy = noise(clean, np.random.default_rng(1000))
    answers = linear_answers(train, noisy, LINEAR).values()
    return min(error(each, clean) for each in answers) / error(
        learned(noise, inputs, setting, train, noisy, (28, 20)), clean
    )


def experiment(quick):
    for name, noise in NOISES.items():
        gains, others, errors = [], {}, []
        inputs, setting = selected(noise, quick)
        for seed in range(1 if quick else 3):
            train, clean = draw(seed)
            noisy = noise(clean, np.random.default_rng(1000 + seed))
            least = min(error(each, clean) for each in linear_answers(train, noisy, LINEAR).values())
            answers = learned(noise, inputs, setting, train, noisy)
            errors.append((least, error(answers, clean)))
            gains.append(least / errors[-1][1])
            for other, found in () if quick else peers(name, noise, INPUTS[inputs][1], train, noisy):
                others.setdefault(f"gain of {other}", []).append(least / error(found, clean))
        yield f"{name} noise: linear PCA has {np.median(gains):.2f} times the error of regressions on {inputs}."
        goal, why = GOALS[name], "the goal is of this project, not published"
        yield Entry("Denoising", f"{name} noise: gain of learned pre-images", goal, "goal", gains, "largest", why)
        least, ours = np.array(errors).T
        others = {"error of linear PCA": least, "error of learned pre-images": ours} | others
        for other, values in others.items():
            yield Entry("Denoising", f"{name} noise: {other}", None, "", values)
        images = {"noisy": noisy, "learned": answers, "clean": clean}
        yield Picture(lambda images=images: picture(images), f"{name} noise.")
        started = time.process_time()
        learned(noise, inputs, setting, train, np.tile(noisy, (2, 1)))
        yield Entry("Denoising", f"{name} noise: seconds for 1 000 digits", None, "", time.process_time() - started)
        if not quick:
            yield Entry("Denoising", f"{name} noise: gain on Frey faces", None, "", faces(noise, inputs, setting))


if __name__ == "__main__":
    main(experiment, SOURCE)
