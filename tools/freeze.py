"""Record the numbers of the fits of `tools.freeze_cases`, or compare them with an earlier record.

    python -m tools.freeze record before.npz
    python -m tools.freeze compare before.npz
    python -m tools.freeze compare before.npz --only NuSVC      # fits whose name contains a text

A change without effect on results keeps every number. A new solver may take other steps to the same answer, so that a
fit fails only if its answer is another one:

objectives
    The intervals between dual and primal objective hold the optimum and must meet up to 1e-8 of its size; the dual
    objective may move by that and by three times the gap. Compared are `certificate_` and the certificate that
    `mercer.certify` recomputes in float64.
certificates
    The violation of the optimality conditions must not exceed both `tol` and three times that before; the gap must not
    exceed both 1e-8 of the objective and three times that before.
coefficients
    Within 1e-6 of the largest, where the solution is unique: where such a change violates the optimality conditions by
    more than the certificates do, by the smallest eigenvalue of the kernel matrix of the support vectors. Elsewhere,
    and with many support vectors, decision values stand for them.
decision values, intercepts and other numbers
    Within 1e-6 of the largest (float32: 1e-5), or 1 000 times the violation where that is larger. Labels of points with
    a decision value of that size may change.
offsets of OneClassSVM and SVDD
    Within ``--offset-margin`` of their size, in either direction; so are decision values, and the violation and the gap
    as far as such an offset moves them. Scores, which have no offset, are compared as other numbers.

Fits at the default tolerance are compared by certificates alone. What is computed from solutions and magnifies their
changes, such as reduced sets, may move by 1e-4. Models that solve linear systems and eigenproblems must keep each
number to 1e-12, relative to the largest of its array (float32: 1e-6).

Steps (`n_iter_`), numbers of support vectors and of kernel values are recorded and printed where they moved. These, and
a certificate that got better, are information and no failure.
"""

import argparse
import contextlib
import sys
import time
import warnings
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

import mercer as mc
from tools.freeze_cases import EQUAL, FINE, LOOSE, SOLVED, cases

ROUNDING = {"f8": 1e-12, "f4": 1e-6}
OBJECTIVE, COEFFICIENTS, MOVED = 1e-8, 1e-6, 1e-4
VALUES = {"f8": 1e-6, "f4": 1e-5}
# Decision values may move by this multiple of the violation of the optimality conditions.
VIOLATIONS = 1000
# Violations and gaps up to this multiple of those before count as equal.
WORSE = 3
OFFSET_MARGIN = 1e-4
# Most support vectors whose kernel matrix is decomposed.
LARGEST = 300

SKIPPED = ("kernel_", "estimator_", "map_", "feature_names_in_")
OUTPUTS = ("predict", "decision_function", "transform", "score_samples", "predict_proba")
# The support vectors of a model, which `coefficients` replaces, and numbers that are information.
REPLACED = {
    "support_",
    "support_vectors_",
    "dual_coef_",
    "n_support_",
    "n_iter_",
    "fit_status_",
    "shape_fit_",
}
SHIFTED = {"offset_", "intercept_", "decision_function", "radius_"}
INFORMATION = "n_iter", "n_support", "kernel_values"


def numbers(model, new):
    """Return the fitted attributes and the outputs of a model as arrays by name."""
    found = {}
    names = sorted(
        {name for name in dir(model) if name.endswith("_") and not name.startswith("_")}
        - {*SKIPPED}
    )
    for name in names:
        value = getattr(model, name, None)
        if isinstance(value, (int, float, np.number, np.ndarray)) and not callable(value):
            found[name] = np.asarray(value)
    if sp.issparse(getattr(model, "support_vectors_", None)):
        found["support_vectors_"] = model.support_vectors_.toarray()
    for name in OUTPUTS:
        # a given matrix has no k(x, x) of new points, which some outputs need; `compare` reports a missing output
        if hasattr(model, name):
            with contextlib.suppress(ValueError):
                found[name] = np.asarray(getattr(model, name)(new))
    return found


def solution(model, case):
    """Return the numbers of a support vector machine: coefficients of training rows, certificates, steps, outputs."""
    found = numbers(model, case.new)
    coef, support = found.get("dual_coef_"), found.get("support_")
    if coef is not None and support is not None:
        found["coefficients"] = np.zeros(
            (support.max() + 1, coef.reshape(len(support), -1).shape[1])
        )
        found["coefficients"][support] = coef.reshape(len(support), -1)
        found["n_support"] = np.array(len(support))
        found["smallest_eigenvalue"] = _smallest_eigenvalue(model)
    if "n_iter_" in found:
        found["n_iter"] = found["n_iter_"]
    if hasattr(model, "certificate_"):
        found["certificate"] = _objectives(model.certificate_)
    if case.certified:
        found["certified"] = _objectives(mc.certify(model, case.X, case.y, case.weights))
    if case.counter:
        found["kernel_values"] = np.array(sum(case.counter))
    found["tol"] = np.array(getattr(model, "tol", FINE))
    return {name: value for name, value in found.items() if name not in REPLACED}


def _objectives(certificate):
    """Return the objectives and the violation; objectives are NaN if the problem is not convex."""
    primal, dual = (
        (certificate.primal, certificate.dual) if certificate.convex else (np.nan, np.nan)
    )
    return np.array([primal, dual, certificate.kkt])


def _smallest_eigenvalue(model):
    """Return the smallest eigenvalue of the kernel matrix of the support vectors, 0 where there are many."""
    if len(model.support_) > LARGEST:
        return np.array(0.0)
    points = model.support_vectors_
    K = model.kernel_(
        points.astype(float) if getattr(points, "dtype", None) == np.float32 else points
    )
    return np.array(np.linalg.eigvalsh(np.asarray(K, float))[0])


def record(wanted="", show=None):
    """Return {name of a fit: arrays by name}; ``show`` gets the name and the seconds of each."""
    found = {}
    for case in cases():
        if wanted not in case.name:
            continue
        if case.name in found:
            raise ValueError(f"two fits have the name {case.name}")
        started = time.perf_counter()
        model = case.fit()
        if isinstance(model, np.ndarray):
            arrays = {"result": model}
        else:
            arrays = numbers(model, case.new) if case.kind == EQUAL else solution(model, case)
        found[case.name] = {
            name: value for name, value in arrays.items() if value.dtype.kind != "O"
        }
        found[case.name]["kind"] = np.array(case.kind)
        if show:
            show(case.name, time.perf_counter() - started)
    return found


@dataclass
class Comparison:
    """What moved in one fit: failures, and information."""

    before: dict
    after: dict
    margin: float = OFFSET_MARGIN
    failures: list = field(default_factory=list)
    notes: list = field(default_factory=list)

    def __post_init__(self):
        kind = str(self.before["kind"])
        self._require_same_names()
        if kind == EQUAL:
            self._require_equal(ROUNDING)
        elif kind == LOOSE:
            self._require_equal(dict.fromkeys(ROUNDING, MOVED))
        else:
            self._compare_certificates()
            self._note_steps()
            if kind == SOLVED:
                self._compare_coefficients()
                self._compare_outputs()

    def _pairs(self):
        return {
            name: (self.before[name], self.after[name])
            for name in self.before
            if name in self.after
        }

    def _require_same_names(self):
        # a number that is information may be missing
        missing = set(self.before) - set(self.after) - {*INFORMATION, "smallest_eigenvalue"}
        self.failures += [f"{name} is missing" for name in sorted(missing)]

    def _require_same_form(self, name, a, b):
        if a.shape == b.shape and a.dtype == b.dtype:
            return True
        self.failures.append(f"{name}: {a.dtype}{a.shape} became {b.dtype}{b.shape}")
        return False

    def _require_equal(self, limits):
        for name, (a, b) in self._pairs().items():
            if name == "kind" or not self._require_same_form(name, a, b):
                continue
            if a.dtype.kind not in "fc":
                self.failures += [] if np.array_equal(a, b) else [f"{name}: values differ"]
            elif not (
                _change(a, b) <= limits[_type(a)] * _size(a) or np.array_equal(a, b, equal_nan=True)
            ):
                self.failures.append(f"{name} moved by {_change(a, b) / _size(a):.1e} of its size")

    @property
    def _shift(self):
        """How far the offset of a one-class model may move."""
        return self.margin * _size(self.before["offset_"]) if "offset_" in self.before else 0.0

    def _compare_certificates(self):
        for name in ("certificate", "certified"):
            if name in self.before and name in self.after:
                self._compare_certificate(name, *self.before[name], *self.after[name])

    def _compare_certificate(self, name, primal, dual, kkt, new_primal, new_dual, new_kkt):
        if new_kkt > max(WORSE * kkt, float(self.before["tol"])) + self._shift:
            self.failures.append(f"{name} got worse: violation {kkt:.1e} became {new_kkt:.1e}")
        if np.isnan(primal):
            return
        size = max(abs(primal), abs(dual))
        gap, new_gap, room = primal - dual, new_primal - new_dual, OBJECTIVE * size
        if max(dual - new_primal, new_dual - primal, abs(dual - new_dual) - WORSE * gap) > room:
            before, after = (
                f"{low:.10g} to {high:.10g}"
                for low, high in ((dual, primal), (new_dual, new_primal))
            )
            self.failures.append(f"{name}: objectives {before} became {after}")
        # the loss moves with the offset of a one-class model, its multiple of twice the objective
        moved = 2 * self.margin * size if self._shift else 0.0
        if new_gap > max(WORSE * gap, room) + moved:
            self.failures.append(f"{name} got worse: gap {gap:.1e} became {new_gap:.1e}")
        elif name == "certified" and abs(new_gap - gap) > room:
            self.notes.append(f"gap {gap:.1e} became {new_gap:.1e}")

    def _note_steps(self):
        for name, (a, b) in self._pairs().items():
            if name in INFORMATION and not np.array_equal(a, b):
                self.notes.append(f"{name} {a.sum():.0f} became {b.sum():.0f}")

    @property
    def _violation(self):
        """The violation of the conditions before and after, as far as it is known."""
        name = "certified" if "certified" in self.before else "certificate"
        found = [
            each[name][2] if name in each else float(each["tol"])
            for each in (self.before, self.after)
        ]
        return sum(found)

    def _compare_coefficients(self):
        if "coefficients" not in self.before or "coefficients" not in self.after:
            return
        a, b = _as_long(self.before["coefficients"], self.after["coefficients"])
        limit = COEFFICIENTS * _size(a)
        least = float(self.before["smallest_eigenvalue"])
        unique = least * limit >= np.sqrt(len(a)) * self._violation
        if unique and _change(a, b) > limit:
            self.failures.append(
                f"coefficients moved by {_change(a, b) / _size(a):.1e} of the largest"
            )

    def _compare_outputs(self):
        limits = {}
        for name, (a, b) in self._pairs().items():
            if name in {
                "kind",
                "tol",
                "coefficients",
                "smallest_eigenvalue",
                "certificate",
                "certified",
                *INFORMATION,
            }:
                continue
            if not self._require_same_form(name, a, b):
                continue
            if a.dtype.kind in "fc":
                shift = self._shift if name in SHIFTED else 0.0
                limits[name] = (
                    max(VALUES[_type(a)] * _size(a), VIOLATIONS * self._violation) + shift
                )
                if not (_change(a, b) <= limits[name] or np.array_equal(a, b, equal_nan=True)):
                    self.failures.append(
                        f"{name} moved by {_change(a, b):.1e}, more than {limits[name]:.1e}"
                    )
        self._compare_labels(limits)

    def _compare_labels(self, limits):
        for name, (a, b) in self._pairs().items():
            if (
                name == "kind"
                or name in INFORMATION
                or a.dtype.kind in "fc"
                or a.shape != b.shape
                or np.array_equal(a, b)
            ):
                continue
            other = np.flatnonzero(a != b) if name == "predict" else []
            values = self.before.get("decision_function")
            if (
                len(other)
                and values is not None
                and np.all(_margins(values)[other] <= limits["decision_function"])
            ):
                self.notes.append(f"{len(other)} labels on the boundary changed")
            else:
                self.failures.append(f"{name}: values differ")


def _margins(values):
    """Return how far the decision values of each point are from another class."""
    if values.ndim == 1:
        return np.abs(values)
    last = np.sort(values, axis=1)
    return last[:, -1] - last[:, -2]


def _as_long(a, b):
    """Return two arrays of rows with as many rows, by rows of zeros."""
    n = max(len(a), len(b))
    return [np.vstack([each, np.zeros((n - len(each), each.shape[1]))]) for each in (a, b)]


def _type(a):
    return "f4" if a.dtype in (np.float32, np.complex64) else "f8"


def _size(a):
    return float(np.abs(a[np.isfinite(a)]).max(initial=1e-300))


def _change(a, b):
    # equal infinities have not moved
    with np.errstate(invalid="ignore"):
        return float(np.where(a == b, 0.0, np.abs(a - b)).max(initial=0))


def save(path, found):
    np.savez_compressed(
        path, **{f"{fit}|{name}": a for fit, arrays in found.items() for name, a in arrays.items()}
    )


def load(path):
    found = {}
    with np.load(path) as arrays:
        for key, value in arrays.items():
            fit, name = key.split("|")
            found.setdefault(fit, {})[name] = value
    return found


def compare(before, after, margin=OFFSET_MARGIN, show=print):
    """Show what moved in each fit; return the number of fits that fail."""
    failed = moved = 0
    for fit in before:
        if fit not in after:
            failed += 1
            show(f"FAILED {fit}: the fit is missing")
            continue
        found = Comparison(before[fit], after[fit], margin)
        failed += bool(found.failures)
        moved += bool(found.notes)
        for failure in found.failures:
            show(f"FAILED {fit}: {failure}")
        if found.notes:
            show(f"       {fit}: {', '.join(found.notes)}")
    show(f"{len(before)} fits, {failed} failed, {moved} took other steps")
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("action", choices=["record", "compare"])
    parser.add_argument("path")
    parser.add_argument("after", nargs="?", help="a record to compare, instead of new fits")
    parser.add_argument("--only", default="", help="fits whose name contains this text")
    parser.add_argument("--offset-margin", type=float, default=OFFSET_MARGIN)
    parser.add_argument("--times", action="store_true", help="print the seconds of each fit")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    show = (
        (lambda name, seconds: print(f"{seconds:7.2f} s  {name}", flush=True))
        if options.times
        else None
    )
    if options.action == "record":
        found = record(options.only, show)
        save(options.path, found)
        print(f"{len(found)} fits, {sum(map(len, found.values()))} arrays")
        return 0
    before = {name: arrays for name, arrays in load(options.path).items() if options.only in name}
    after = load(options.after) if options.after else record(options.only, show)
    return int(compare(before, after, options.offset_margin) > 0)


if __name__ == "__main__":
    sys.exit(main())
