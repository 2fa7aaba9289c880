"""Invariance by the tangent covariance on handwritten digits: error against lambda, in input and in feature space.

The digits of Schoelkopf, Simard, Smola, Vapnik, *Prior knowledge in support vector kernels*, NIPS 10 (1998): the first
5 000 of MNIST, the central 20 x 20 pixels, scaled to [-1, 1]; 10 000 test digits. Published: linear 9.8 per cent,
degree 4 4.0, and 3.6 with the map B at lambda from 0.3 to 0.4.

Support vector machines are one-vs-rest, as published. Kernels are scaled to the same mean |x|^2 for every lambda.
Degree 4 has a hard margin (C = 10 over the mean k(x, x)); for the linear kernel C is one of 1, 3, 10 and 30, since the
best one depends on lambda. Tangents of the map B are those of translations; in feature space they are tangents of the
first 300 digits under all seven transformations of ``image_transforms``. C and lambda are selected on 5 000 other
training digits, the column "held out". The last line of a table has the gain on the test digits; test errors of other
values are printed for comparison only.

Degree 4 has 3.86 per cent, 3.96 of the held-out digits. Tangents in feature space help: held-out errors are 3.46, 3.42,
3.28 and 3.34 for lambda = 1e-3 to 1e-6, and the selected 1e-5 has 3.18 on the test digits, a gain of 0.68. Translations
of 500 digits have 3.54 at best. The eigenvalues of the tangent covariance are small for vectors of length 1, hence the
small lambda.

The map B does not help: held-out errors are 3.96 for lambda = 1, 4.22 for 0.9, 5.48 for 0.4. The scale of C and the
transformations are not the cause: for (I + r C)^(-1/2) with C of mean eigenvalue 1, r = 0.003, 0.03 and 0.3, and
translations, the other five transformations, rotation and scaling, thickness or all seven, held-out errors are at most
0.04 below those without the map. Pixels less their mean, or with a background of 0, let the five gain 0.3 and 0.2, but
have more errors (4.88 and 4.64 at best).

MNIST has the centre of mass of each digit in the middle, which removes most of the translations. With ``--centred box``
the box around a digit is in the middle instead: the map then helps a linear machine of few digits (300: 22.88 per cent,
21.65 with lambda = 0.3), but none of 5 000 (11.07 and 11.02), nor degree 4 (4.64 held out, at most 0.04 less).

Needs the data set mnist.npz in the folder that MERCER_DATA names.

Run: python -m experiments.invariance_mnist [--quick] [--parts linear input feature] [--rows 300] [--centred box]
"""

import numpy as np

import mercer as mc
from experiments._report import Entry, Picture, main, panels
from mercer import datasets
from mercer.invariance import (
    Projected,
    image_transforms,
    invariant_kernel,
    tangent_components,
    tangent_features,
    tangents,
)

SOURCE = "Schoelkopf, Simard, Smola, Vapnik, NIPS 10 (1998)"
# Errors in per cent for lambda = 1, and with the best lambda of the map B.
PLAIN, MAPPED = {"linear": 9.8, "input": 4.0}, {"input": 3.6}
REASON = "the digits here have their centre of mass in the middle, which removes most of the translations"
# Digits of the published experiment.
ROWS = 5000
WEIGHTS = [1.0, 0.9, 0.6, 0.4, 0.2, 0.1, 0.05, 0.01]
FEATURE_WEIGHTS = [1.0, 0.001, 0.0001, 0.00001, 0.000001, 0.0000001]
TANGENTS = 300
# Values of C times the mean k(x, x).
COSTS = {1: [1.0, 3.0, 10.0, 30.0], 4: [10.0]}
TRANSFORMS = image_transforms((20, 20), background=-1.0)
SHIFTS = {name: TRANSFORMS[name] for name in ("down", "right")}


def digits(n=ROWS, centred="mass"):
    """Return pixels and labels of n training digits, of 5 000 others, and of the test digits."""
    mnist = datasets.load("mnist")
    cut = {"mass": central, "box": boxed}[centred]
    pixels, labels = mnist.X_train[: n + 5000], mnist.y_train[: n + 5000]
    parts = [(pixels[:n], labels[:n]), (pixels[n:], labels[n:]), (mnist.X_test, mnist.y_test)]
    return [
        ((cut(X.reshape(-1, 28, 28)) / 127.5 - 1).reshape(-1, 400).astype(np.float32), y)
        for X, y in parts
    ]


def central(images):
    """Return the central 20 x 20 pixels."""
    return images[:, 4:24, 4:24]


def boxed(images):
    """Return images of 20 x 20 pixels with the box around each digit in the middle."""
    found = np.zeros((len(images), 20, 20))
    for image, place in zip(images, found, strict=True):
        rows, columns = (np.flatnonzero(image.any(axis=axis)) for axis in (1, 0))
        digit = image[rows[0] : rows[-1] + 1, columns[0] : columns[-1] + 1][:20, :20]
        top, left = ((20 - size) // 2 for size in digit.shape)
        place[top : top + digit.shape[0], left : left + digit.shape[1]] = digit
    return found


def in_input(degree, X, weights):
    """Yield lambda and the kernel (Bx.Bz)^degree, scaled to mean |x|^2 = 1."""
    for weight in weights:
        A = invariant_kernel(mc.Linear(), X, SHIFTS, weight).A
        A = A / np.sqrt(np.mean(np.sum((X @ A) ** 2, axis=1)))
        yield weight, mc.Mapped(mc.Polynomial(degree, 1.0, 0.0), A)


def in_feature_space(degree, X, weights, n_tangents=TANGENTS):
    """Yield lambda and the kernel of ``invariant_feature_kernel``; its eigenvectors are computed once."""
    kernel = mc.Polynomial(degree, 1 / float(np.mean(np.sum(X * X, axis=1))), 0.0)
    some = X[:n_tangents]
    directions, mu = tangent_components(tangent_features(kernel, some, tangents(some, TRANSFORMS)))
    for weight in weights:
        yield (
            weight,
            Projected(kernel, directions, (1 - weight) * mu / ((1 - weight) * mu + weight)),
        )


def errors(kernel, data, costs):
    """Return the test error and the held-out error in per cent, with the C of the smallest held-out error."""
    (X, y), *others = data
    found = []
    for C in costs:
        svc = mc.SVC(C=C / float(kernel.diag(X).mean()), kernel=kernel, multi_class="ovr").fit(X, y)
        held_out, test = (100 * (1 - svc.score(*each)) for each in others)
        found.append((held_out, test, C))
    held_out, test, C = min(found)
    return test, held_out, C


def tables(X, quick):
    """Return for each part its title, degree and kernels."""
    few = [1.0, 0.5, 0.3]
    return {
        "linear": ("linear, map B", 1, in_input(1, X, few if quick else WEIGHTS)),
        "input": ("degree 4, map B", 4, in_input(4, X, few if quick else WEIGHTS)),
        "feature": (
            "degree 4, tangents in feature space",
            4,
            in_feature_space(4, X, few if quick else FEATURE_WEIGHTS),
        ),
    }


def picture(found):
    figure, ax = panels(1, 1, 3.0)
    for title, table in found.items():
        ax.semilogx(list(table), [held_out for _, held_out, _ in table.values()], "o-", label=title)
    ax.set(xlabel="lambda", ylabel="held-out error, per cent")
    ax.legend(fontsize=8)
    return figure


def experiment(quick, parts=("linear", "input", "feature"), rows=ROWS, centred="mass"):
    rows = 300 if quick else rows
    data, found, gains = digits(rows, centred), {}, {}
    published = rows == ROWS
    for part in ("linear",) if quick else parts:
        title, degree, kernels = tables(data[0][0], quick)[part]
        table = found[title] = {}
        for weight, kernel in kernels:
            test, held_out, C = table[weight] = errors(kernel, data, COSTS[degree])
            yield Entry(
                title, f"lambda {weight:g}, C {C:g}: held-out error", None, "", held_out, "least"
            )
        best = min(table, key=lambda weight: table[weight][1])
        (plain, *_), (mapped, *_) = table[1.0], table[best]
        gains[title] = plain - mapped
        if part != "feature":
            known = PLAIN[part] if published else None
            yield Entry(
                title,
                f"without invariance, {rows} digits: error",
                known,
                "S",
                plain,
                "least",
                REASON,
            )
        known = MAPPED.get(part) if published else None
        yield Entry(
            title,
            f"selected lambda {best:g}, {rows} digits: error",
            known,
            "M-med",
            mapped,
            "least",
            REASON,
        )
    text = ", ".join(f"{title} {gain:.2f}" for title, gain in gains.items())
    yield f"Errors, in per cent, that invariance removes with the selected lambda: {text} (published, degree 4: 0.4)."
    yield Picture(lambda: picture(found), "Held-out error by lambda; 1 is without invariance.")


if __name__ == "__main__":
    main(experiment, SOURCE)
