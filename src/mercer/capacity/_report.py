"""A report: everything that bounds say of a model or a kernel on data, beside the true error."""

import html
from dataclasses import dataclass, fields

import numpy as np
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from mercer._compute.points import count_points, take_points
from mercer.capacity._model import machine
from mercer.capacity._pac_bayes import pac_bayes
from mercer.capacity.ball import smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.complexity import local_rademacher, rademacher
from mercer.capacity.components import kpca_residual
from mercer.capacity.compressed import sample_compression
from mercer.capacity.decay import ListedDecay, estimate_decay
from mercer.capacity.eigenvalues import effective_dimension, spectrum
from mercer.capacity.entropy import feature_entropy_number
from mercer.capacity.leave_one_out import (
    jaakkola_haussler,
    leave_one_out,
    opper_winther,
    radius_margin,
    support_fraction,
    xi_alpha,
)
from mercer.capacity.span import leave_one_out_predictions, span_rule
from mercer.capacity.vc import vc_margin
from mercer.kernels.base import Kernel

# Points up to which a classifier is refitted without each of them; beyond, ten folds.
_FEW = 500
# Eigenvalues below this share of the first say nothing of the law they follow.
_NOISE = 1e-10


@dataclass(frozen=True)
class Report:
    """What is known of a model or kernel on data; prints as text, and as a table in a notebook.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        What was measured, with its value.
    bounds : tuple of Bound
    truth : float or None
        The error that the bounds are of, measured.
    measured : str
        How.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> report = mc.capacity.report(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(50, 2)))
    >>> print(str(report).splitlines()[0])
    Gaussian(gamma=0.5) on 50 points
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    bounds: tuple[Bound, ...]
    truth: float | None = None
    measured: str = ""

    def __str__(self):
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [self.title, "", *(f"  {name:{width}}  {value}" for name, value in self.facts)]
        if self.truth is not None:
            lines += ["", f"  true error  {self.truth:.4g}  ({self.measured})"]
        for one in self.bounds:
            lines += ["", f"  {one.name}: {one.value:.4g}, {_verdict(one)}", f"      {one.statement}"]
            lines += [f"      Assumes {text}." for text in one.assumptions]
        return "\n".join(lines)

    def _repr_html_(self):
        facts = "".join(f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in self.facts)
        truth = "" if self.truth is None else f"<p>True error: <b>{self.truth:.4g}</b> ({_safe(self.measured)})</p>"
        rows = "".join(
            f"<tr><th>{_safe(one.name)}</th><td>{one.value:.4g}</td><td>{_safe(_verdict(one))}</td>"
            f"<td>{_safe(one.statement)}</td><td>{_safe('; '.join(one.assumptions))}</td></tr>"
            for one in self.bounds
        )
        head = "".join(f"<th>{name}</th>" for name in ("", "value", "kind", "statement", "assumes"))
        table = f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        return f"<h4>{_safe(self.title)}</h4><table><tbody>{facts}</tbody></table>{truth}{table}"


def report(model_or_kernel, X, y=None, *, test=None, confidence=0.95, memory="1GB", random_state=None):
    """Put side by side what is known of a model or a kernel on data, and the true error.

    Parameters
    ----------
    model_or_kernel : fitted SVC, SVR, KernelRidge, KernelPCA or other model with ``expansion_``, or Kernel
        A kernel, or a model without y, gives the geometry of the mapped points only; KernelPCA also what it leaves out.
    X : points (n)
        Those of the fit.
    y : array (n,), optional
        Two classes, or values.
    test : (points, array), optional
        Points that were not fitted to and their answers, to measure the error on. When left out, it is the true
        leave-one-out error of support vector classifiers of at most 500 points, and that of 10 folds otherwise.
    confidence : float
        Of every bound by itself.
    memory, random_state
        As in ``spectrum``.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        For more than two classes, or points that are not those of the fit.
    TypeError
        For what is neither a kernel nor a model with one.
    NotFittedError
        For a model that is not fitted.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> rng = np.random.default_rng(0)
    >>> X, y = rng.normal(size=(80, 2)), np.arange(80) % 2
    >>> X[:, 0] += 4 * y
    >>> report = mc.capacity.report(mc.SVC(kernel=mc.Gaussian(0.1)).fit(X, y), X, y)
    >>> report.truth < 0.1, [bound.name for bound in report.bounds if not bound.vacuous][:2]
    (True, ['span rule', 'Opper-Winther'])
    """
    kernel = _kernel(model_or_kernel).resolve(X)
    facts = _geometry(kernel, X, memory, random_state)
    title = f"{model_or_kernel!r} on {count_points(X)} points"
    if kernel is model_or_kernel or not hasattr(model_or_kernel, "kernel_"):
        return Report(title, facts, ())
    model, about = model_or_kernel, (kernel, X, confidence, memory, random_state)
    if y is None:
        k = getattr(model, "n_components_", None)
        if k is None:
            return Report(title, facts, ())
        left = kpca_residual(kernel, X, k, confidence=confidence, memory=memory, random_state=random_state)
        return Report(title, facts, (left,))
    if is_classifier(model):
        return Report(title, facts, *_classifier(model, X, y, test, about))
    if is_regressor(model):
        return Report(title, facts, *_regression(model, X, y, test, about))
    raise TypeError(f"{type(model).__name__} is no classifier and no regression; leave out y.")


def _kernel(model_or_kernel):
    """Return the kernel itself, or that of a fitted model."""
    kernel = getattr(model_or_kernel, "kernel_", model_or_kernel)
    if not isinstance(kernel, Kernel):
        check_is_fitted(model_or_kernel)
        raise TypeError(f"a report needs a Kernel, or a fitted model of Mercer with a kernel_; got {kernel!r}.")
    return kernel


def _geometry(kernel, X, memory, random_state):
    """Return what the kernel makes of the points."""
    found = spectrum(kernel, X, memory=memory, random_state=random_state)
    ball = smallest_ball(kernel, X, memory=memory)
    share = np.cumsum(found.values) / found.trace
    n, values = found.n, found.values
    dimensions = [effective_dimension(found, n * r) for r in (1e-3, 1e-1)]
    facts = [
        ("eigenvalues", f"{len(values)} {'above rounding' if found.complete else 'computed'}, of the centred matrix: "
         + ", ".join(f"{value:.4g}" for value in values[:5]) + ("" if len(values) <= 5 else ", ...")),
        ("variance of 1, 2, 5 components", ", ".join(f"{share[min(k, len(share)) - 1]:.1%}" for k in (1, 2, 5))),
        ("effective dimension", " and ".join(
            f"{low:.3g}" + ("" if high - low < 5e-3 * high else f" to {high:.3g}") for low, high in dimensions)
         + " for a ridge of 0.001 n and 0.1 n"),
        ("smallest ball", f"radius {ball.radius:.6g}, at least {ball.least:.6g}"),
        ("sides of the box", ", ".join(f"{side:.3g}" for side in found.sides[:5])
         + "; from eigenfunctions, assumed to stay below the largest value seen, "
         + f"{found.suprema.max():.3g}: " + ", ".join(f"{s:.3g}" for s in found.mercer_sides(found.suprema.max())[:5])),
    ]  # fmt: skip
    clear = values[values > _NOISE * values[0]]
    if len(clear) >= 5:
        law = estimate_decay(clear / n)
        entropy = feature_entropy_number(ListedDecay(values / n), 1024, float(found.suprema.max()))
        facts += [
            ("decay, estimated", _law(law)),
            ("entropy number of 1024 balls", f"at most {entropy:.3g}, with the same assumption and these eigenvalues"),
        ]
    return tuple(facts)


def _law(law):
    numbers = ", ".join(f"{field.name} {getattr(law, field.name):.3g}" for field in fields(law))
    return f"{type(law).__name__}: {numbers}"


def _classifier(model, X, y, test, about):
    """Return bounds, the true error and how it was measured."""
    kernel, _, confidence, memory, _ = about
    own = machine(model, X, y)
    ball = smallest_ball(kernel, X, memory=memory)
    bounds = [
        rademacher(own, confidence=confidence),
        pac_bayes(own, confidence=confidence),
        vc_margin(own, ball, confidence=confidence),
    ]
    if own.prices is not None:
        bounds = [
            span_rule(model, X, y, memory=memory), opper_winther(own, memory=memory), jaakkola_haussler(own),
            xi_alpha(own), support_fraction(own), radius_margin(own, ball),
            sample_compression(own, confidence=confidence), *bounds,
        ]  # fmt: skip
    if test is None and own.prices is not None and len(own) <= _FEW:
        return tuple(bounds), leave_one_out(model, X, y), "leave one out"
    predictions, truth, measured = _measured(model, kernel, X, y, test, StratifiedKFold)
    return tuple(bounds), float(np.mean(predictions != truth)), measured


def _regression(model, X, y, test, about):
    """Return estimates of the squared error, the true one and how it was measured."""
    kernel, X, _, memory, random_state = about
    y = np.asarray(y, np.float64)
    plain = spectrum(kernel, X, centre=False, memory=memory, random_state=random_state)
    bounds = [local_rademacher(plain)]
    residuals = getattr(model, "loo_residuals_", None)
    if residuals is not None:
        bounds.insert(0, _squared("leave one out, exact", residuals, y, 1.0, ("the bandwidth of the fit",)))
    elif getattr(model, "loss", None) == "epsilon" or hasattr(model, "epsilon_"):
        rest = y - leave_one_out_predictions(model, X, y, memory=memory)
        bounds.insert(0, _squared("span rule", rest, y, None, ("no vector enters or leaves the margin",)))
    predictions, truth, measured = _measured(model, kernel, X, y, test, KFold)
    return tuple(bounds), float(np.mean((predictions - truth) ** 2)), f"squared error, {measured}"


def _squared(name, residuals, y, confidence, assumptions):
    value = float(np.mean(np.square(residuals)))
    statement = f"Models fitted without a point miss it by {value:.4g} on average (squared)."
    trivial = float(np.mean(np.square(y - y.mean(axis=0))))
    return Bound(name, value, statement, "squared leave-one-out error", confidence, assumptions, trivial)


def _measured(model, kernel, X, y, test, folds):
    """Return predictions for points that were not fitted to, their true answers, and how."""
    if test is not None:
        return model.predict(test[0]), np.asarray(test[1]), f"{count_points(test[0])} other points"
    y, given = np.asarray(y), kernel.tags.points == "indices"
    fresh = clone(model) if given else clone(model).set_params(kernel=kernel)
    predictions = np.empty_like(y)
    for train, rest in folds(min(10, count_points(X)), shuffle=True, random_state=0).split(np.zeros(len(y)), y):
        own = X[np.ix_(train, train)] if given else take_points(X, train)
        other = X[np.ix_(rest, train)] if given else take_points(X, rest)
        predictions[rest] = fresh.fit(own, y[train]).predict(other)
    return predictions, y, "10 folds"


def _verdict(bound):
    sure = "" if bound.confidence in (None, 1.0) else f" at {bound.confidence:.0%}"
    return f"a {bound.kind}{sure} of the {bound.quantity}" + (", vacuous here" if bound.vacuous else "")


def _safe(text):
    return html.escape(str(text))
