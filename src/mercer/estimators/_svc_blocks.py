"""SVC of Dask arrays: a classifier for each block, one over their support vectors, and passes for rows that violate."""

import copy
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from mercer._common import Array, ArrayLike, as_float64, record, warn
from mercer._compute.points import PROBES, widened
from mercer._compute.readable import is_dask
from mercer._compute.saved import Saved
from mercer._compute.threads import limit_threads
from mercer._progress import notify
from mercer.distributed.blocks import Blocks
from mercer.estimators.base import require_classes, require_rows
from mercer.estimators.classifier import Labels, class_weights, labels_of
from mercer.estimators.model import Model
from mercer.expansion import Expansion
from mercer.kernels.base import Kernel
from mercer.kernels.shorthand import with_kernel
from mercer.linalg.operators import in_float64
from mercer.solvers.certify import Certificate, certify, total
from mercer.solvers.svm import multiclass

# Share of the tolerance of the classifier over the support vectors. Of rows that are left out one of each class may
# violate: each has half of the rest.
_INSIDE = 0.5
# Least number of rows that a pass adds, and number of passes.
_LEAST = 1000
_PASSES = 50


def columns_of(
    model: Model, blocks: Blocks, y: ArrayLike, sample_weight: ArrayLike | None
) -> Labels:
    """Return the labels and weights of the rows of blocks, checked; Dask arrays are computed."""
    y, sample_weight = (np.asarray(each) if is_dask(each) else each for each in (y, sample_weight))
    return labels_of(np.empty((blocks.shape[0], 0)), y, sample_weight, type(model).__name__)


def fit_blocks(model: Model, kernel: Kernel, blocks: Blocks, columns: Labels) -> None:
    """Store the classifier of the rows of blocks as fitted attributes of an SVC, with the certificate over all rows.

    The classifier over the support vectors of all blocks is that of all rows unless another row violates its
    conditions; such rows join it. Graf, Cosatto, Bottou, Durdanovic, Vapnik, *Parallel support vector machines: the
    cascade SVM*, NIPS 17 (2005).
    """
    if np.isinf(model.C):
        raise ValueError(
            "C = inf must be finite for a Dask array; give a large C, or rows in memory."
        )
    used = columns.weights > 0
    y = columns.classes[columns.codes]
    factors = class_weights(model.class_weight, columns.classes, y[used], columns.weights[used])
    inner = with_kernel(clone(model), kernel).set_params(
        class_weight=dict(enumerate(factors.tolist())), tol=_INSIDE * model.tol
    )
    saved = Saved(f"SVC of {len(y)} rows in blocks")
    if saved.state is None:
        found = blocks.total(_support, inner, columns.codes, columns.weights, np.arange(len(y)))
        rows = np.unique(np.concatenate(found))
    else:
        with saved.resuming():
            rows = np.unique(saved.state["rows"])
            saved.require(bool(rows[0] >= 0 and used[rows].all()))
            # each binary classifier needs rows of both of its classes
            saved.require(len(np.unique(columns.codes[rows])) == len(columns.classes))
    stopped = False
    added = rows
    for _ in range(_PASSES):
        rows = np.union1d(rows, added)
        saved.write({"rows": rows})
        fitted = clone(inner).fit(blocks.take(rows), columns.codes[rows], columns.weights[rows])
        outside = _outside_of(fitted, fitted.certificate_, blocks, columns, rows)
        worst = np.argsort(-outside.violations, kind="stable")[: max(_LEAST, len(rows))]
        added = outside.rows[worst]
        stopped = notify("passes", rows=len(rows), violating=len(outside.rows))
        if stopped or not len(added):
            break
    if not stopped:
        saved.end()
    _store(model, fitted, rows, columns, outside)


def _store(model, fitted, rows, columns, outside):
    for name, value in vars(fitted).items():
        if name.endswith("_") or name == "_multi_class":
            setattr(model, name, value)
    model.support_ = rows[fitted.support_]
    model.classes_ = columns.classes
    model.certificate_ = outside.certificate
    if model.certificate_.kkt > model.tol and fitted.certificate_.kkt <= fitted.tol:
        warn(
            f"SVC of blocks ended with a violation of {model.certificate_.kkt:.3g}, above tol = {model.tol:.3g}; let "
            "callbacks not stop it, or scale the features (StandardScaler).",
            ConvergenceWarning,
        )


def certified_blocks(model: Model, blocks: Blocks, columns: Labels) -> Certificate:
    """Return the certificate in float64 of a fitted SVC over the rows of blocks."""
    require_rows(model, blocks.shape[0])
    require_classes(model, columns.classes)
    rows = np.sort(model.support_)
    inner = copy.copy(model)
    vars(inner).update(
        kernel=model.kernel_,
        class_weight=dict(enumerate(model.class_weight_.tolist())),
        classes_=np.arange(len(columns.classes)),
        support_=np.searchsorted(rows, model.support_),
        _n_rows=len(rows),
    )
    found = certify(inner, blocks.take(rows), columns.codes[rows], columns.weights[rows])
    return _outside_of(model, found, blocks, columns, rows).certificate


# --- tasks ------------------------------------------------------------------------------------------------------------


def _support(inner, rows, codes, weights, numbers):
    """Return the numbers of the support vectors of the classifier of a block; some rows of a block with one class."""
    used = np.flatnonzero(weights > 0)
    if len(np.unique(codes[used])) < 2:
        return [
            numbers[used[np.unique(np.linspace(0, len(used) - 1, PROBES).astype(int))]]
            if len(used)
            else used
        ]
    # the scheduler runs several tasks
    with limit_threads(1):
        return [numbers[clone(inner).fit(rows, codes, weights).support_]]


class _Outside(NamedTuple):
    """The certificate of a classifier over all rows, and the rows beside its vectors that violate its conditions."""

    certificate: Certificate
    rows: Array
    violations: Array


@record
class _Decision:
    """The decision values of a classifier in float64, upper bounds of its classes, and a violation that is none."""

    normals: Expansion
    intercept: Array
    upper: Array
    multi_class: str
    least: float


def _outside_of(fitted, inside, blocks, columns, rows):
    """Return what a classifier leaves out of all rows but some, of which it has the certificate ``inside``."""
    normals = in_float64(fitted.expansion_)
    numbers = np.arange(len(columns.codes))
    numbers[rows] = -1
    intercept = as_float64(fitted.intercept_)
    upper = fitted.C * fitted.class_weight_
    decision = _Decision(
        normals, intercept, upper, fitted.multi_class, (1 - _INSIDE) / 2 * fitted.tol
    )
    parts = blocks.total(_outside, decision, columns.codes, columns.weights, numbers)
    certificates, outside, violations = zip(*parts, strict=True)
    found = total([inside, *certificates])
    # a row of each class may violate
    kkt = inside.kkt + 2 * max(each.kkt for each in certificates)
    return _Outside(replace(found, kkt=kkt), np.concatenate(outside), np.concatenate(violations))


def _outside(decision, rows, codes, weights, numbers):
    """Return the fields of `_outside_of` in a block, in a list; rows of the number -1 are vectors."""
    used = np.flatnonzero((weights > 0) & (numbers >= 0))
    used = used[np.argsort(codes[used], kind="stable")]
    violations = np.zeros(len(used))
    loss = 0.0
    if len(used):
        values = as_float64(decision.normals(widened(rows[used])))
        upper = decision.upper[codes[used]] * weights[used]
        counts = np.bincount(codes[used], minlength=len(decision.upper))
        duals = multiclass.subproblems(counts, decision.multi_class).duals(upper)
        signs = duals.target
        number = duals.number
        slack = 1 - signs * (values[duals.points, number] + decision.intercept[number])
        np.maximum.at(violations, duals.points, slack)
        loss = float((duals.upper - duals.lower) @ slack.clip(0))
    found = Certificate(loss, 0.0, float(violations.max(initial=0.0)))
    violating = violations > decision.least
    return [(found, numbers[used[violating]], violations[violating])]
