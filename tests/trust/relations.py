"""Exact relations: a changed problem whose answer is known from the answer of another problem.

Shifts and scales are powers of two and data are multiples of 1/256, so that no rounding enters with the change.
"""

from dataclasses import dataclass, field, replace

import numpy as np
from tests.trust import data
from tests.trust.estimators import SPECS, TARGETS, fit
from tests.wide_rows import spread

import mercer as mc

COMPARED = ("decision_function", "predict", "transform", "score_samples")
LINEAR = ("SVR", "NuSVR", "KernelRidge", "Kernelized")


@dataclass(frozen=True)
class Problem:
    """Training data, new points, parameters of the estimator, and how to undo the change in its predictions."""

    X: np.ndarray
    y: object
    new: np.ndarray
    w: object = None
    params: dict = field(default_factory=dict)
    undo: object = lambda values: values


@dataclass(frozen=True)
class Relation:
    """Two problems with one answer, for the estimators with the given names that have a parameter; None means all."""

    name: str
    sides: object
    names: tuple | None = None
    rtol: float = 1e-5
    needs: str | None = None


def kernel(spec, gamma=data.GAMMA):
    """Return the parameters of an estimator for a Gaussian kernel."""
    return (
        {"kernel": mc.Gaussian(gamma)}
        if spec.library == "mercer"
        else {"kernel": "rbf", "gamma": gamma}
    )


def function(A, B):
    """Return Gaussian kernel values."""
    return np.exp(-data.GAMMA * ((A[:, None] - B[None]) ** 2).sum(2))


def _shift(c):
    return lambda spec, P: (P, replace(P, X=P.X + c, new=P.new + c))


def _scale(k):
    def sides(spec, P):
        return P, replace(
            P, X=P.X * 2.0**k, new=P.new * 2.0**k, params=kernel(spec, data.GAMMA * 4.0**-k)
        )

    return sides


def _column(value):
    def sides(spec, P):
        grow = lambda A: np.column_stack([A, np.full(len(A), value)])  # noqa: E731
        return P, replace(P, X=grow(P.X), new=grow(P.new))

    return sides


def _empty_columns(d):
    return lambda spec, P: (P, replace(P, X=spread(P.X, d), new=spread(P.new, d)))


def _targets_shifted(c):
    return lambda spec, P: (P, replace(P, y=P.y + c, undo=lambda values: values - c))


def _targets_scaled(k):
    def sides(spec, P):
        s = 2.0**k
        valid = {name: spec.params[name][1]() for name in ("C", "epsilon") if name in spec.params}
        return P, replace(
            P,
            y=P.y * s,
            params={**P.params, **{n: v * s for n, v in valid.items()}},
            undo=lambda v: v / s,
        )

    return sides


def _squared(sides):
    """Use the squared loss, whose C does not change with the scale of the targets."""

    def squared(spec, P):
        A, B = sides(spec, replace(P, params={**P.params, "loss": "squared_epsilon"}))
        return A, replace(B, params={**B.params, "C": A.params.get("C", 1.0)})

    return squared


def _permuted(spec, P):
    order = np.random.default_rng(0).permutation(len(P.X))
    return P, replace(P, X=P.X[order], y=None if P.y is None else P.y[order])


def _columns_permuted(spec, P):
    return P, replace(P, X=P.X[:, ::-1], new=P.new[:, ::-1])


def _zero_weights(value):
    def sides(spec, P):
        w = np.where(np.arange(len(P.X)) % 4 == 0, 0.0, 1.0)
        kept = w > 0
        X = np.where(kept[:, None], P.X, P.X + value)
        short = replace(P, X=P.X[kept], y=None if P.y is None else P.y[kept], w=w[kept])
        return short, replace(P, X=X, w=w)

    return sides


def _repeats(spec, P):
    w = 1.0 + np.arange(len(P.X)) % 3
    times = w.astype(int)
    y = None if P.y is None else np.repeat(P.y, times)
    return replace(P, X=np.repeat(P.X, times, axis=0), y=y), replace(P, w=w)


def _unit_weights(spec, P):
    return P, replace(P, w=np.ones(len(P.X)))


def _weights_scaled(k):
    def sides(spec, P):
        return replace(P, w=data.WEIGHTS), replace(
            P, w=data.WEIGHTS * 2.0**k, params={**P.params, "C": 2.0**-k}
        )

    return sides


def _precomputed(spec, P):
    return P, replace(
        P, X=function(P.X, P.X), new=function(P.new, P.X), params={"kernel": "precomputed"}
    )


def _callable(spec, P):
    return P, replace(P, params={"kernel": function})


def _float32(spec, P):
    return P, replace(P, X=P.X.astype(np.float32), new=P.new.astype(np.float32))


def _float32_scaled(k):
    def sides(spec, P):
        A, B = _scale(k)(spec, P)
        return A, replace(B, X=B.X.astype(np.float32), new=B.new.astype(np.float32))

    return sides


def _three_classes(spec, P):
    names = np.array(["ash", "birch", "cedar"])
    return replace(P, y=data.THREE), replace(P, y=names[data.THREE])


SVMS = ("SVC", "NuSVC", "SVCCV", "SVR", "NuSVR", "OneClassSVM", "SVDD")
WITH_C = ("SVC", "SVR")
FULL = (*SVMS, "KernelRidge", "KernelPCA", "KernelFisher", "Kernelized", "KernelMap")
ROW_ORDER = tuple(name for name in FULL if name not in ("SVCCV",))
MERCER_KERNELS = (*FULL, "Nystroem", "KernelPerceptron")
WEIGHTED = (
    "SVC",
    "NuSVC",
    "SVR",
    "NuSVR",
    "OneClassSVM",
    "SVDD",
    "KernelRidge",
    "KernelFisher",
    "Kernelized",
)
RELATIONS = [
    *[
        Relation(f"points_plus_{c:g}", _shift(c), MERCER_KERNELS)
        for c in (1.0, 2.0**10, 2.0**20, 2.0**30, -(2.0**35))
    ],
    *[
        Relation(f"points_times_2^{k}", _scale(k), MERCER_KERNELS)
        for k in (-500, -300, -100, -30, 30, 100, 300, 490)
    ],
    *[
        Relation(f"constant_column_{v:g}", _column(v), MERCER_KERNELS)
        for v in (0.0, 0.5, 2.0**20, 2.0**40)
    ],
    *[
        Relation(f"empty_columns_2^{k}", _empty_columns(1 << k), MERCER_KERNELS)
        for k in (10, 18, 30)
    ],
    *[
        Relation(f"targets_plus_{c:g}", _targets_shifted(c), ("SVR", "NuSVR", "Kernelized"), 1e-4)
        for c in (1.0, 2.0**10, 2.0**20, 2.0**30)
    ],
    *[
        Relation(f"targets_times_2^{k}", _targets_scaled(k), LINEAR, 1e-4)
        for k in (-1000, -300, -100, -33, -20, 20, 33, 100, 300, 900)
    ],
    *[
        Relation(
            f"squared_loss_targets_plus_{c:g}",
            _squared(_targets_shifted(c)),
            ("SVR",),
            1e-4,
            "loss",
        )
        for c in (2.0**10, 2.0**20, 2.0**30)
    ],
    *[
        Relation(
            f"squared_loss_targets_times_2^{k}",
            _squared(_targets_scaled(k)),
            ("SVR",),
            1e-4,
            "loss",
        )
        for k in (-33, -20, 20, 33)
    ],
    Relation("rows_permuted", _permuted, ROW_ORDER),
    Relation("columns_permuted", _columns_permuted, MERCER_KERNELS),
    *[
        Relation(f"zero_weights_of_rows_plus_{v:g}", _zero_weights(v), WEIGHTED)
        for v in (0.0, 2.0**10, 2.0**30)
    ],
    Relation("repeated_rows", _repeats, WEIGHTED, 1e-4),
    Relation("unit_weights", _unit_weights, WEIGHTED),
    *[
        Relation(f"weights_times_2^{k}", _weights_scaled(k), WITH_C, 1e-4)
        for k in (-900, -300, -30, 30, 300, 900)
    ],
    Relation("kernel_as_matrix", _precomputed, FULL),
    Relation("kernel_as_callable", _callable, FULL),
    Relation("float32", _float32, MERCER_KERNELS, 2e-3),
    *[
        Relation(f"float32_times_2^{k}", _float32_scaled(k), MERCER_KERNELS, 2e-3)
        for k in (-76, -60, -30, 30, 60)
    ],
    Relation(
        "names_of_classes",
        _three_classes,
        ("SVC", "NuSVC", "SVCCV", "KernelFisher", "KernelPerceptron"),
    ),
]


def answers(spec, problem):
    """Return the outputs of an estimator on a problem; of transformers their inner products, which have no sign."""
    params = {**kernel(spec), **problem.params}
    if (
        params["kernel"] == "precomputed"
        or callable(params["kernel"])
        and not isinstance(params["kernel"], mc.Kernel)
    ):
        params.pop("gamma", None)
    if "tol" in spec.params and spec.name not in ("KernelMap", "Kernelized"):
        params["tol"] = 1e-9
    estimator = fit(spec.build(**params), problem.X, problem.y, problem.w)
    found = {}
    for name in COMPARED:
        if hasattr(estimator, name):
            values = np.asarray(getattr(estimator, name)(problem.new))
            if values.dtype.kind == "f":
                found[name] = (
                    values @ values.T if name == "transform" else problem.undo(values.astype(float))
                )
    return found


def applicable():
    """Yield the pairs of estimators and relations."""
    for spec in SPECS:
        if spec.name == "PCAL1":
            continue
        for relation in RELATIONS:
            if (relation.names is None or spec.name in relation.names) and relation.needs in {
                None,
                *spec.params,
            }:
                yield spec, relation


def plain(spec):
    """Return the problem that relations change."""
    return Problem(data.X, TARGETS.get(spec.target), data.NEW)
