"""The chapter on compression: a support vector machine on digits with fewer and fewer vectors."""

import pickle
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from sklearn.svm import SVC as PeerSVC

from mercer._common import record
from mercer.cli import pictures
from mercer.cli.demo import denoising, page
from mercer.compression import compress
from mercer.estimators.svc import SVC
from mercer.formats import save
from mercer.kernels import Gaussian
from mercer.plot import ImageGridDisplay, ReductionDisplay
from mercer.solvers.svm.multiclass import class_signs

SIZES = (50, 20, 10)

SNIPPET = """
import mercer as mc
from mercer.formats import to_c
from sklearn.datasets import load_digits
from sklearn.svm import SVC
X, y = load_digits().data[:1000] / 16, load_digits().target[:1000]
svc = SVC(C=10, gamma=0.2).fit(X, y)
small = mc.compress(svc, X, y, n_vectors=20)
print(small.report_)
mc.save(small, "digits.mercer")
to_c(small, "digits.c")
# with onnx: onnx.save(mercer.formats.to_onnx(small), "digits.onnx")
"""


@record
class Row:
    """A model and its measurements on the test digits: kernel evaluations, accuracy, prediction time, file size.

    ``spread`` is the standard error of the accuracy.
    """

    name: str
    model: SVC | PeerSVC
    vectors: int
    accuracy: float
    spread: float
    seconds: float
    size: int


@record
class Outcome:
    """Rows of scikit-learn's model, Mercer's and the compressed ones, largest first; digits; time of compression."""

    rows: list[Row]
    n_train: int
    n_test: int
    seconds: float


def run(
    setting: denoising.Setting, callback: Callable[[str], object], sizes: Sequence[int] = SIZES
) -> Outcome:
    """Return the Outcome of compressing one model to several numbers of vectors."""
    train, test, y, labels = denoising.split(setting)
    full = SVC(C=10.0, kernel=Gaussian(0.2)).fit(train, y)
    peer = PeerSVC(C=full.C, gamma=full.kernel.gamma).fit(train, y)
    start = time.perf_counter()
    most, *others = sorted(sizes, reverse=True)
    callback(f"compressing to {most} vectors")
    small = [compress(peer, train, y, n_vectors=most, random_state=setting.seed)]
    for n in others:
        callback(f"compressing to {n} vectors")
        small.append(small[0].report_.at(n))
    seconds = time.perf_counter() - start
    rows = [
        _measured("scikit-learn", peer, len(peer.support_), len(pickle.dumps(peer)), test, labels),
        _measured("Mercer, all vectors", full, len(full.support_), _file_size(full), test, labels),
        *(
            _measured(
                "compressed", each, each.report_.vectors_after, _file_size(each), test, labels
            )
            for each in small
        ),
    ]
    return Outcome(rows, len(train), len(test), seconds)


def chapter(outcome: Outcome) -> page.Chapter:
    """Return the heading and the HTML of the chapter."""
    _, full, *small = outcome.rows
    machine = full.model
    n_test = outcome.n_test
    shown = next((row for row in small if row.vectors <= 20), small[-1])
    text = (
        f"<p>A support vector machine for ten digits, trained on {outcome.n_train} images (C = {machine.C:g}, kernel "
        f"exp(-{machine.kernel.gamma:g} |x - z|<sup>2</sup>)), has {full.vectors} support vectors and evaluates the "
        "kernel at all of "
        "them for every prediction. <code>compress</code> replaces them by a few constructed vectors, fitted to the "
        "decision values on the training images; <code>report_.at(n)</code> of the largest of these models gives the "
        f"smaller ones. Errors are measured on {n_test} test images and have their "
        f"standard errors. Times are by the clock, on one thread of this computer: {outcome.seconds:.1f} s for all "
        f"{len(small)} compressions, and in the table the shortest of three predictions.</p>"
    )
    header = ["model", "vectors", "test error, %", f"predict {n_test}, ms", "file, kB"]
    cells = [
        [
            row.name,
            str(row.vectors),
            f"{100 * (1 - row.accuracy):.1f} ± {100 * row.spread:.1f}",
            f"{1e3 * row.seconds:.1f}",
            f"{row.size / 1e3:.0f}",
        ]
        for row in outcome.rows
    ]
    images = _images(shown.model)
    grid = pictures.figure(
        images.plot,
        (4.9, 0.55 * images.images.shape[0]),
        f"{shown.vectors} small images of bright and dark pixels; some have the shape of a digit.",
        f"The {shown.vectors} constructed vectors of one of the models, sorted by the digit whose binary classifiers "
        "give them the largest coefficients. They are not training images and need not look like digits.",
    )
    return "Train, compress, ship", text + page.table(header, cells) + _curve(
        full, small
    ) + grid + page.code(SNIPPET)


def _curve(full, small):
    """Return the figure of test errors against numbers of vectors."""
    errors = 100 * (1 - np.array([row.accuracy for row in small]))
    spread = 100 * np.array([row.spread for row in small])
    return pictures.figure(
        ReductionDisplay(
            [row.vectors for row in small],
            errors,
            name="compressed",
            reference=100 * (1 - full.accuracy),
            spread=np.stack([errors - spread, errors + spread]),
            ylabel="test error, %",
            yscale="linear",
        ).plot,
        (4.9, 2.9),
        "A curve: the test error falls with the number of vectors to that of the uncompressed model.",
        "Test error against the number of vectors, with its standard error; the dotted line is the uncompressed model.",
    )


def _images(model):
    """Return the vectors as images, sorted by the class with the largest coefficients."""
    from matplotlib.figure import Figure

    psi = model.expansion_
    weights = np.abs(psi.coef) @ np.abs(class_signs(len(model.classes_), "ovo")).T
    order = np.argsort(weights.argmax(axis=1), kind="stable")
    return ImageGridDisplay.from_expansion(psi, order=order, ax=Figure().subplots())


def _measured(name, model, vectors, size, test, labels):
    model.predict(test)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        found = model.predict(test)
        seconds.append(time.perf_counter() - start)
    accuracy = np.mean(found == labels)
    spread = np.sqrt(accuracy * (1 - accuracy) / len(labels))
    return Row(name, model, vectors, accuracy, spread, min(seconds), size)


def _file_size(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(model, path)
        return path.stat().st_size
