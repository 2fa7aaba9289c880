"""Reduced sets of ten support vector machines on digits.

Ten classifiers, each digit of USPS against the rest, Gaussian kernel of width 128 and C = 20 on smoothed digits, as in
the published experiment. Each row is one call of ``compress``, which also fits the intercepts to the training digits
(least squared hinge loss); test error in per cent on 2 007 digits.

=======  ==============================================================================================
RSS-n    selection by kernel PCA: equal fractions of all classifiers are removed, n are left on average
RSS2-n   selection by the Lasso in feature space, with the penalties printed in 1999
RSC-n    construction: n new vectors for each classifier, one after the other
RSC2-n   the same, then all vectors of a classifier moved jointly
MaxNorm  selection for all classifiers together, n vectors in all (section V-C.3)
=======  ==============================================================================================

Needs the set usps.npz in the folder that MERCER_DATA names.

Run: python -m experiments.reduced_sets [--quick]
"""

import numpy as np

import mercer as mc
from experiments._report import Entry, Picture, Statement, main, panels
from experiments._usps import digits

SOURCE = "Schoelkopf et al., IEEE TNN 10 (1999), Tables II to IV, Fig. 9"
NUMBERS = [219, 91, 316, 309, 288, 340, 213, 206, 304, 250]
# Vectors: error in per cent and its tag; for RSS2 with the penalty.
RSS = {50: (17.6, "M-lo"), 75: None, 100: None, 150: None, 200: (4.5, "M-lo"), 250: None}
RSS2 = {
    50: (3.34, 23.7, "M-lo"),
    74: (2.55,),
    101: (1.73,),
    151: (0.62,),
    200: (0.13, 4.5, "M-lo"),
    234: (0.02,),
}
RSC = {
    10: (7.1, "M-med"),
    20: (5.6, "M-med"),
    25: (5.1, "S2"),
    50: (5.0, "M-med"),
    100: (4.8, "M-med"),
}
RSC |= {150: (4.7, "M-med"), 200: (4.9, "M-med"), 250: (4.6, "M-med")}
RSC2 = {10: None, 20: (5.2, "M-lo"), 25: (4.7, "M-hi"), 50: None}
# A classifier has few support vectors, so more starts than usual are affordable.
STARTS = mc.Construct(starts=16)
NUMBER = "scikit-learn's SVC has 81 support vectors for digit 1, too"
REASON = "one test digit is 0.05 per cent, the standard error of a test error 0.45"


def trained(data):
    return mc.SVC(20.0, kernel=mc.Gaussian(1 / 128), multi_class="ovr").fit(*data[:2])


def vectors(model):
    """Return the number of vectors of each classifier."""
    return np.count_nonzero(model.expansion_.coef, axis=0)


def rows(model, quick):
    """Yield the table, the size, the published error with its tag, and the arguments of compress."""
    mean = vectors(model).mean()
    for n, known in () if quick else RSS.items():
        yield "Table II", f"RSS-{n}", known, {"n_vectors": n / mean, "method": "eigenvector"}
    for n, (penalty, *known) in () if quick else RSS2.items():
        yield "Table III", f"RSS2-{n}, penalty {penalty}", known, {"method": mc.L1(penalty=penalty)}
    for n, known in RSC.items():
        if not quick or n in (10, 25):
            yield "Table IV", f"RSC-{n}", known, {"n_vectors": n, "method": STARTS}
    for n, known in RSC2.items():
        if not quick or n == 25:
            method = mc.Refine(start=STARTS, max_iter=1000 if quick else 3000, tol=1e-12)
            yield "Table IV", f"RSC2-{n}", known, {"n_vectors": n, "method": method}


def error(model, data):
    return 100 * (1 - model.score(data[2], data[3]))


def picture(model, classes=(0, 3)):
    """Draw the vectors of two classifiers with their coefficients."""
    psi = model.expansion_
    figure, axes = panels(4, 5, 4.6)
    for block, j in zip((axes[:2], axes[2:]), classes, strict=True):
        order = np.argsort(-psi.coef[:, j])
        order = order[psi.coef[order, j] != 0]
        for i, ax in zip(order, block.flat, strict=True):
            ax.imshow(psi.points[i].reshape(16, 16), cmap="gray", vmin=-1, vmax=1)
            ax.set(xticks=[], yticks=[], title=f"{psi.coef[i, j]:+.2f}")
    return figure


def experiment(quick):
    data = digits(smoothed=True)
    model = trained(data)
    full = error(model, data)
    for j, (ours, published) in enumerate(zip(vectors(model), NUMBERS, strict=True)):
        yield Entry(
            "Table II", f"support vectors, digit {j}", published, "M-hi", ours, reason=NUMBER
        )
    yield Entry("Table II", "support vectors, mean", 254, "S2", vectors(model).mean())
    yield Entry("Table II", "error of the full classifiers", 4.4, "S2", full, "least", REASON)
    found = {}
    for table, name, known, options in rows(model, quick):
        small = found[name] = mc.compress(model, *data[:2], shared=False, **options)
        published, tag = known or (None, "")
        yield Entry(table, f"{name}: error", published, tag, error(small, data), "least", REASON)
        if table == "Table III":
            n = int(name.split(",")[0].removeprefix("RSS2-"))
            yield Entry(table, f"{name}: mean number of vectors", n, "M-med", vectors(small).mean())
    for table, method in (("Table II", "eigenvector"), ("Table III", mc.L1())):
        small = mc.compress(model, *data[:2], shared=False, n_vectors=0.6, method=method)
        yield Statement(
            table,
            "error added by removing 40 % of the vectors",
            "S2",
            error(small, data) - full,
            0.2,
        )
    small = error(mc.compress(model, *data[:2], n_vectors=570, method=mc.MaxNorm()), data)
    yield Entry(
        "Section V-C.3", "MaxNorm, 570 vectors in all: error", 5.5, "M-med", small, "least", REASON
    )
    new = error(found["RSC-25"], data)
    mean = vectors(model).mean()
    yield f"25 constructed vectors instead of {mean:.0f} a digit change the error from {full:.1f} to {new:.1f} %."
    caption = (
        "Ten constructed vectors of the classifiers of 0 (top) and 3, with their coefficients."
    )
    yield Picture(lambda: picture(found["RSC-10"]), caption)


if __name__ == "__main__":
    main(experiment, SOURCE)
