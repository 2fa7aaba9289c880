"""A support vector machine of the digits with fewer and fewer vectors: what is lost, and what it saves."""

import pickle
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC as PeerSVC

from mercer.cli.demo import page, pictures
from mercer.compression import compress
from mercer.estimators.svc import SVC
from mercer.formats import save
from mercer.kernels import Gaussian
from mercer.plot import ImageGridDisplay, ReductionDisplay

SIZES = (100, 50, 20, 10)
# Vectors shown as images.
_SHOWN = 20
_GAMMA, _C = 0.2, 10.0

SNIPPET = """
import mercer as mc
from sklearn.datasets import load_digits
from sklearn.svm import SVC
X, y = load_digits().data[:1000] / 16, load_digits().target[:1000]
svc = SVC(C=10, gamma=0.2).fit(X, y)
small = mc.compress(svc, X, y, n_vectors=20)
print(small.report_)
mc.save(small, "digits.mercer")
"""


@dataclass(frozen=True)
class Row:
    """What one model does on the test digits.

    Attributes
    ----------
    name : str
    model : estimator
    vectors : int
        Kernel evaluations for a prediction.
    accuracy : float
    seconds : float
        For the predictions of all test digits.
    size : int
        Bytes of its file.
    """

    name: str
    model: object
    vectors: int
    accuracy: float
    seconds: float
    size: int


@dataclass(frozen=True)
class Outcome:
    """All models, and the digits that judge them.

    Attributes
    ----------
    rows : list of Row
        scikit-learn's machine, Mercer's over the same vectors, then the compressed ones, largest first.
    test, labels : array (n, 64), array (n,)
    n_train : int
    seconds : float
        For all compressions.
    """

    rows: list
    test: np.ndarray
    labels: np.ndarray
    n_train: int
    seconds: float


def run(setting, say, sizes=SIZES):
    """Train a machine, compress it to several sizes, and measure all on test digits.

    Parameters
    ----------
    setting : Setting
        Numbers of digits, and the seed of the split.
    say : callable
    sizes : sequence of int
        Numbers of vectors.

    Returns
    -------
    Outcome
    """
    digits = load_digits()
    train, test, y, labels = train_test_split(
        digits.data / 16.0, digits.target, train_size=setting.n_train, test_size=setting.n_test,
        stratify=digits.target, random_state=setting.seed,
    )  # fmt: skip
    peer = PeerSVC(C=_C, gamma=_GAMMA).fit(train, y)
    full = SVC(C=_C, kernel=Gaussian(_GAMMA)).fit(train, y)
    start = time.perf_counter()
    small = []
    for n in sorted(sizes, reverse=True):
        say(f"compressing to {n} vectors")
        small.append(compress(peer, train, y, n_vectors=n, random_state=setting.seed))
    seconds = time.perf_counter() - start
    rows = [
        _judged("scikit-learn", peer, len(peer.support_), len(pickle.dumps(peer)), test, labels),
        _judged("Mercer, all vectors", full, len(full.support_), _stored(full), test, labels),
        *(_judged("compressed", each, each.report_.vectors_after, _stored(each), test, labels) for each in small),
    ]
    return Outcome(rows, test, labels, len(train), seconds)


def chapter(outcome):
    """Return the chapter on fewer vectors.

    Parameters
    ----------
    outcome : Outcome

    Returns
    -------
    (str, str)
        Heading and HTML.
    """
    full, small = outcome.rows[1], outcome.rows[2:]
    n_test = len(outcome.labels)
    error = np.sqrt(full.accuracy * (1 - full.accuracy) / n_test)
    shown = next((row for row in small if row.vectors <= _SHOWN), small[-1])
    text = (
        f"<p>A support vector machine that tells the ten digits apart, trained on {outcome.n_train} of them (C = "
        f"{_C:g}, kernel exp(-{_GAMMA:g} |x - z|<sup>2</sup>)), keeps {full.vectors} as support vectors, and compares "
        "every new digit with each. <code>compress</code> puts a few constructed vectors in their place, fitted to the "
        f"scores on the training digits. Accuracy is on {n_test} digits that no model has seen; its standard error is "
        f"{error:.1%}. All {len(small)} compressions took {outcome.seconds:.1f} s.</p>"
    )
    header = ["model", "vectors", "accuracy", f"predict {n_test}, ms", "file, kB"]
    cells = [
        [row.name, str(row.vectors), f"{row.accuracy:.1%}", f"{1e3 * row.seconds:.1f}", f"{row.size / 1e3:.0f}"]
        for row in outcome.rows
    ]
    curve = pictures.figure(
        _Curve([row.model for row in small], outcome, full.model),
        (4.9, 2.9),
        "A curve: the share of wrong predictions falls with the number of vectors to that of the uncompressed machine.",
        "Test error against the number of vectors; the dotted line is the machine with all of them.",
    )
    images = _images(shown.model)
    grid = pictures.figure(
        images,
        (4.9, 0.55 * images.images.shape[0]),
        f"{shown.vectors} small pictures of strong light and dark pixels; some have the shape of a digit.",
        f"The {shown.vectors} constructed vectors of one of the models, sorted by the digit whose machines weigh them "
        "most. They are no training digits, and no digit need look like them: they are where the machine compares.",
    )
    return "Fewer vectors", text + page.table(header, cells) + curve + grid + page.code(SNIPPET)


@dataclass(frozen=True)
class _Curve:
    """The display of test errors, drawn wherever it is asked for."""

    models: list
    outcome: Outcome
    full: object

    def plot(self, ax):
        ReductionDisplay.from_estimators(
            self.models, self.outcome.test, self.outcome.labels, full=self.full, name="constructed", ax=ax
        )
        ax.set_ylabel("test error")


def _images(model):
    """Return the vectors as images, sorted by the class that weighs them most."""
    from matplotlib.figure import Figure

    psi = model.expansion_
    weights = np.abs(psi.coef) @ _machines(len(model.classes_))
    order = np.argsort(weights.argmax(axis=1), kind="stable")
    return ImageGridDisplay.from_expansion(psi, order=order, ax=Figure().subplots())


def _machines(c):
    """Return which of the pairs of classes concern each: array (c (c - 1) / 2, c)."""
    first, second = np.triu_indices(c, 1)
    return (np.eye(c)[first] + np.eye(c)[second]).astype(float)


def _judged(name, model, vectors, size, test, labels):
    model.predict(test)
    seconds = []
    for _ in range(3):
        start = time.perf_counter()
        found = model.predict(test)
        seconds.append(time.perf_counter() - start)
    return Row(name, model, vectors, float(np.mean(found == labels)), min(seconds), size)


def _stored(model):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(model, path)
        return path.stat().st_size
