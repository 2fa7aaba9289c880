"""SVC with few vectors: its decision values or the labels fitted by free vectors, the better by rows held out."""

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from mercer._compute.memory import require_memory
from mercer._compute.points import dense
from mercer.estimators._svm import Problem
from mercer.expansion import Expansion, features
from mercer.kernels.shorthand import with_kernel
from mercer.linalg.generator import drawn_seed
from mercer.reduction import reduce
from mercer.solvers.few_vectors.objective import Rows
from mercer.solvers.few_vectors.refit import refit
from mercer.solvers.few_vectors.trials import FOLDS, Model, Trials, starts
from mercer.solvers.svm import multiclass

# Rows held out that are enough.
_ENOUGH = 1000
# Fitted attributes of a solution of the dual, which models over free vectors do not have.
_OF_DUALS = ("support_", "n_support_", "certificate_")


def selected_features(model: Model) -> Expansion:
    """Return the features of ``max_vectors`` support vectors of a fitted SVC, selected greedily."""
    found = reduce(model.expansion_, n_vectors=model.max_vectors, method="greedy").expansion
    return features(found.kernel, found.points)


def replace_vectors(model: Model, problem: Problem) -> None:
    """Store ``max_vectors`` free vectors in a fitted SVC, and the accuracies by which the fit was chosen."""
    n, d = problem.points.shape
    if sp.issparse(problem.points):
        require_memory(
            8 * n * d,
            model.memory,
            f"{n} dense rows of {d} features",
            "landmarks, which stay sparse",
        )
    X, codes, weights = _distinct(dense(problem.points), problem.codes, problem.upper_bounds(1.0))
    seed = drawn_seed(model.random_state)
    accuracies = _accuracies(model, X, codes, weights, seed)
    best = max(_FITS, key=lambda name: accuracies.get(name, 0.0))
    kernel, found = _FITS[best](model, X, codes, weights, seed)
    for name in _OF_DUALS:
        vars(model).pop(name)
    model.kernel_ = kernel
    model.support_vectors_ = found.points.astype(X.dtype)
    model.dual_coef_ = found.coef.astype(problem.dtype)
    model.intercept_ = found.intercept.astype(problem.dtype)
    model.fitted_to_ = best
    model.held_out_accuracies_ = accuracies


def _distinct(X, codes, weights):
    """Return distinct rows of each class in an order of their values, their classes, and the sums of their weights.

    A weight of 2 is then the same as a repeated row.
    """
    # bytes are sorted far faster than rows of numbers; the sum with 0 has no negative zeros
    rows = (
        np.ascontiguousarray(X + X.dtype.type(0))
        .view(np.dtype((np.void, X.dtype.itemsize * X.shape[1])))
        .ravel()
    )
    _, place = np.unique(rows, return_inverse=True)
    _, first, place = np.unique(codes * len(X) + place, return_index=True, return_inverse=True)
    # single precision, since sums of repeated rows and products of weights differ in their last bits
    mantissa, exponent = np.frexp(np.bincount(place, weights))
    return (
        X[first],
        codes[first],
        np.ldexp(mantissa.astype(np.float32).astype(np.float64), exponent),
    )


def _to_decision_values(model, X, codes, weights, seed):
    """Return a kernel and vectors that give the decision values of a fitted SVC on rows, as `compress` does."""
    answers = _answers(model)
    signs = _signs(model)[codes]

    def afresh(rows):
        if len(np.unique(codes[rows])) < len(model.classes_):
            return None
        return _answers(_plain(model).fit(X[rows], codes[rows], weights[rows]))

    values, own = answers(X)
    start = starts(X, values, signs, model.max_vectors, model.expansion_.points, seed)
    rows = Rows(X, values, own, signs, weights / weights.mean())
    choice, found = Trials(rows, Model(answers, afresh), start, seed=seed).choose(model.kernel_)
    return choice.kernel, found


def _answers(model):
    """Return the function that gives the decision values of a fitted SVC on rows, and the signs of its predictions."""
    table = _signs(model)

    def answers(points):
        # solutions from repeated rows and from weights differ by less than single precision
        values = np.asarray(model.expansion_(points) + model.intercept_, np.float32).astype(
            np.float64
        )
        return values, table[multiclass.decided(model, values)]

    return answers


def _plain(model):
    """Return an unfitted SVC like a fitted one, with all its vectors, whose class weights are in those of the rows."""
    return with_kernel(clone(model), model.kernel_).set_params(max_vectors=None, class_weight=None)


def _to_labels(model, X, codes, weights, seed):
    """Return the kernel of a fitted SVC and vectors fitted to labels: squared errors, then the squared hinge loss."""
    signs = _signs(model)[codes]
    start = starts(X, np.zeros(signs.shape), signs, model.max_vectors, X, seed)
    rows = Rows(X, signs, labels=signs, weights=weights / weights.mean())
    return model.kernel_, refit(model.kernel_, start, rows, random_state=seed)


# The first one of equal accuracy is used.
_FITS = {"decision values": _to_decision_values, "labels": _to_labels}


def _signs(model):
    """Return the sign of each class in each binary classifier (c, m)."""
    return multiclass.class_signs(len(model.classes_), model.multi_class)


def _accuracies(model, X, codes, weights, seed):
    """Return the accuracy of each fit on rows held out of the SVC too; none if all classes have few rows."""
    fold = _folds(codes, seed)
    right = dict.fromkeys(_FITS, 0.0)
    held = 0
    total = 0.0
    for k in range(FOLDS):
        out = fold == k
        if held >= _ENOUGH or not out.any():
            break
        rest = weights[~out]
        part = (
            _plain(model).fit(X[~out], codes[~out], rest).set_params(max_vectors=model.max_vectors)
        )
        for name, fit in _FITS.items():
            kernel, found = fit(part, X[~out], codes[~out], rest, seed)
            values = np.asarray(kernel(X[out], found.points)) @ found.coef + found.intercept
            answer = multiclass.decided(part, values)
            right[name] += float(weights[out] @ (answer == codes[out]))
        held = held + int(out.sum())
        total = total + float(weights[out].sum())
    return {name: count / total for name, count in right.items()} if held else {}


def _folds(codes, seed):
    """Return the fold of each row, evenly within each class; -1 for classes with fewer rows than folds."""
    fold = np.full(len(codes), -1)
    rng = np.random.default_rng(seed)
    for c in np.unique(codes):
        rows = rng.permutation(np.flatnonzero(codes == c))
        if len(rows) >= FOLDS:
            fold[rows] = np.arange(len(rows)) % FOLDS
    return fold
