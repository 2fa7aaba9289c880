"""Long operations, into which faults are injected, each with an object that a failure must leave as it was."""

import copy
import functools
from dataclasses import dataclass

import numpy as np
from tests.trust import rules, scratch
from tests.trust.estimators import MERCER, fit

import mercer as mc
from mercer.formats import to_c, write_libsvm

RNG = np.random.default_rng(29)
X = RNG.standard_normal((160, 4))
NEW = RNG.standard_normal((9, 4))
REALS = np.sin(X[:, 0]) + 0.1 * RNG.standard_normal(160)
TARGETS = {"labels": (REALS > 0).astype(int), "reals": REALS}
KERNEL = mc.Gaussian(0.3)


@dataclass(frozen=True)
class Operation:
    """A long operation.

    Attributes
    ----------
    name : str
    prepare : callable
        Returns the object that the operation works on: an estimator, or a folder for files.
    run : callable
        ``run(object)`` returns a result.
    answer : callable
        ``answer(result)`` returns an array that must be the same every time.
    state : callable
        ``state(object)`` returns what a failure must leave as it was.
    """

    name: str
    prepare: object
    run: object
    answer: object = np.asarray
    state: object = rules.fingerprint
    writes: bool = False


@functools.cache
def _svc():
    return mc.SVC(kernel=KERNEL).fit(X, TARGETS["labels"])


def _estimator(spec):
    params = {"kernel": KERNEL} if "kernel" in spec.params else {}

    def run(estimator):
        return fit(estimator, X, TARGETS.get(spec.target))

    def answer(estimator):
        name = next(
            n
            for n in ("decision_function", "transform", "score_samples", "predict")
            if hasattr(estimator, n)
        )
        return np.asarray(getattr(estimator, name)(NEW), float)

    return Operation(f"{spec.name}.fit", lambda: spec.build(**params), run, answer)


def _refit(spec):
    first = _estimator(spec)

    def prepare():
        estimator = first.prepare()
        first.run(estimator)
        return estimator

    prepared = functools.cache(prepare)
    return Operation(
        f"{spec.name}.refit", lambda: copy.deepcopy(prepared()), first.run, first.answer
    )


class Inputs:
    """The inputs of a function, which it must not change."""

    def __init__(self):
        self.X, self.labels, self.new = X.copy(), TARGETS["labels"].copy(), NEW.copy()

    @property
    def psi(self):
        """An expansion of all points."""
        return mc.features(KERNEL, self.X) @ np.cos(np.arange(160.0))


def _function(name, run):
    return Operation(name, Inputs, run)


FUNCTIONS = [
    _function(
        "compress",
        lambda i: mc.compress(_svc(), i.X, i.labels, n_vectors=5, random_state=0).decision_function(
            i.new
        ),
    ),
    _function("reduce", lambda i: mc.reduce(i.psi, 6).expansion(i.new)),
    _function("reduce.greedy", lambda i: mc.reduce(i.psi, 6, method="greedy").expansion(i.new)),
    _function(
        "preimage",
        lambda i: mc.preimage(mc.features(KERNEL, i.X) @ np.ones((160, 3)) * (1 / 160)).points,
    ),
    _function("ray", lambda i: mc.ray(i.psi).points),
    _function("check_kernel", lambda i: np.array([mc.check_kernel(KERNEL, i.X).error])),
    _function(
        "capacity.report",
        lambda i: np.array([b.value for b in mc.capacity.report(_svc(), i.X, i.labels).bounds]),
    ),
    _function("capacity.spectrum", lambda i: mc.capacity.spectrum(KERNEL, i.X, 9).values),
    _function(
        "capacity.smallest_ball",
        lambda i: np.array([mc.capacity.smallest_ball(KERNEL, i.X).radius]),
    ),
    _function("svd", lambda i: mc.svd(mc.features(KERNEL, i.X), 4)[1]),
    _function(
        "svc_path",
        lambda i: mc.svc_path(i.X, i.labels, [0.1, 1.0], kernel=KERNEL)[-1].decision_function(
            i.new
        ),
    ),
    _function("certify", lambda i: np.array([mc.certify(_svc(), i.X, i.labels).kkt])),
    _function("manifold.metric", lambda i: mc.manifold.metric(KERNEL, i.X)),
]
OLD = b"the earlier file\n" * 40


class Folder:
    """A folder with an earlier file, which a failed write must leave."""

    def __init__(self):
        self.path = scratch.folder() / "model"
        self.path.write_bytes(OLD)


def folder_state(folder):
    """Return the names and contents of all files."""
    return {path.name: path.read_bytes() for path in sorted(folder.path.parent.iterdir())}


def _bytes(folder):
    """Return the number of files, and the bytes of the file that was written."""
    files = folder_state(folder)
    return np.array([len(files), *np.frombuffer(files["model"], np.uint8)], float)


def _writer(name, write):
    def run(folder):
        write(_svc(), folder.path)
        return folder

    return Operation(name, Folder, run, _bytes, folder_state, writes=True)


FILES = [_writer("save", mc.save), _writer("to_c", to_c), _writer("write_libsvm", write_libsvm)]


@functools.cache
def _saved():
    path = scratch.folder() / "model"
    mc.save(_svc(), path)
    return path


FUNCTIONS.append(_function("load", lambda i: mc.load(_saved()).decision_function(i.new)))


@functools.cache
def all_operations():
    """Return all operations by name."""
    found = (
        [_estimator(spec) for spec in MERCER]
        + [_refit(spec) for spec in MERCER]
        + FUNCTIONS
        + FILES
    )
    return {operation.name: operation for operation in found}


@functools.cache
def expected(name):
    """Return the answer of an operation when nothing fails."""
    operation = all_operations()[name]
    return operation.answer(operation.run(operation.prepare()))
