"""Text categorisation: Reuters money-fx with linear, polynomial and Gaussian support vector machines.

TF-IDF rows of unit length, 7 770 training and 3 299 test documents, 538 and 179 of them positive. C is selected by the
precision-recall break-even point on a quarter of the training documents. The table gives the break-even point of the
test documents in per cent, and the share of support vectors that two kernels have in common. Text categorisation by
support vector machines is reported to be accurate without a selection of features; published figures are of another
split.

Needs reuters_moneyfx.npz in the folder that MERCER_DATA names.

Run: python -m experiments.text_categories [--quick]
"""

import numpy as np
import scipy.sparse
from sklearn.metrics import precision_recall_curve

import mercer as mc
from experiments._report import Entry, Picture, main, panels
from mercer import datasets

SOURCE = (
    "Schoelkopf et al., Advances in kernel methods (1998), section on text; Joachims, ECML (1998)"
)
KERNELS = {
    "linear": mc.Linear(),
    "degree 2": mc.Polynomial(2, 1.0, 1.0),
    "Gaussian": mc.Gaussian(1.0),
}
COSTS = [0.3, 1.0, 3.0, 10.0]


def documents(step):
    """Return every step-th training document and all test documents, with their signs."""
    data = datasets.load("reuters_moneyfx")
    n, m, d = data.shape
    train, test = (
        scipy.sparse.csr_array(
            tuple(data[f"{part}_{name}"] for name in ("data", "indices", "indptr")), (rows, d)
        )
        for part, rows in (("Xtr", n), ("Xte", m))
    )
    return train[::step], data.y_train[::step], test, data.y_test


def break_even(values, signs):
    """Return the break-even point of precision and recall, in per cent."""
    precision, recall, _ = precision_recall_curve(signs, values)
    return 100 * float(np.min(np.maximum(precision, recall)))


def fitted(kernel, X, y):
    """Return the model with the C of the best break-even point on a quarter of the documents."""
    held_out = np.arange(len(y)) % 4 == 0
    fits = {C: mc.SVC(C, kernel=kernel).fit(X[~held_out], y[~held_out]) for C in COSTS}
    best = max(COSTS, key=lambda C: break_even(fits[C].decision_function(X[held_out]), y[held_out]))
    return mc.SVC(best, kernel=kernel).fit(X, y)


def picture(curves):
    figure, ax = panels(1, 1, 3.2)
    for name, (precision, recall, _) in curves.items():
        ax.plot(recall, precision, label=name)
    ax.set(xlabel="recall", ylabel="precision")
    ax.legend()
    return figure


def experiment(quick):
    X, y, test, y_test = documents(4 if quick else 1)
    curves, support, points = {}, {}, {}
    for name, kernel in KERNELS.items():
        model = fitted(kernel, X, y)
        values = model.decision_function(test)
        curves[name] = precision_recall_curve(y_test, values)
        support[name] = set(model.support_.tolist())
        points[name] = break_even(values, y_test)
        yield Entry("money-fx", f"{name}: break-even point", None, "", points[name], "largest")
        yield Entry(
            "money-fx",
            f"{name}: error",
            None,
            "",
            100 * np.mean(np.sign(values) != y_test),
            "least",
        )
        yield Entry("money-fx", f"{name}: support vectors", None, "", len(support[name]))
    for a, b in (("linear", "degree 2"), ("linear", "Gaussian"), ("degree 2", "Gaussian")):
        share = 100 * len(support[a] & support[b]) / min(len(support[a]), len(support[b]))
        yield Entry(
            "money-fx", f"support vectors that {a} and {b} share, per cent", None, "", share
        )
    found = ", ".join(f"{name} {point:.1f}" for name, point in points.items())
    yield f"Break-even points of support vector machines with three kernels, in per cent: {found}."
    yield Picture(lambda: picture(curves), "Precision against recall on the test documents.")


if __name__ == "__main__":
    main(experiment, SOURCE)
