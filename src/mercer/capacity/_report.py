"""Report: all bounds of a fitted estimator, or the geometry of a kernel on data, beside the true error."""

import html
from dataclasses import fields, replace
from typing import Any

import numpy as np
from sklearn.base import is_classifier, is_regressor
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.validation import check_is_fitted

from mercer._common import (
    AnyFunction,
    ArrayLike,
    Memory,
    PointsLike,
    Seed,
    check_instance,
    record,
    shown,
)
from mercer._compute.points import count_points
from mercer._compute.targets import as_real_targets, refuse_targets
from mercer._progress import counting, notify
from mercer.capacity._leave_one_out import (
    SAME_MARGIN,
    jaakkola_haussler,
    leave_one_out,
    leave_one_out_predictions,
    opper_winther,
    radius_margin,
    span_rule,
    support_fraction,
    xi_alpha,
)
from mercer.capacity._model import definite, models, own_targets, predict_left_out
from mercer.capacity._spectrum import effective_dimension, kpca_residual, mapped, spectrum
from mercer.capacity.ball import smallest_ball
from mercer.capacity.bound import Bound
from mercer.capacity.decay import ListedDecay, estimate_decay
from mercer.capacity.entropy import feature_entropy_number
from mercer.capacity.error_bounds import (
    covering_bound,
    dudley_bound,
    local_rademacher,
    pac_bayes,
    rademacher,
    sample_compression,
    vc_margin,
)
from mercer.kernels.base import Kernel
from mercer.linalg.operators import CLEAR

# Largest number of training points for the exact leave-one-out error; above it, 10 folds.
_FEW = 500
# Parts of a report: geometry, bounds and ten folds.
_PARTS = 12


@record
class Report:
    """Facts and bounds of a fitted estimator or a kernel on data; prints as text, and as a table in a notebook.

    Attributes
    ----------
    title : str
    facts : tuple of (str, str)
        Names of measured quantities and their values.
    bounds : tuple of Bound
    truth : float or None
        Measured error, which the bounds limit or estimate.
    measured : str
        How the error was measured.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> report = mc.capacity.report(mc.Gaussian(0.5), np.random.default_rng(0).normal(size=(50, 2)))
    >>> print(report.advice)
    To choose, compare errors of fitted models on held-out points: no value here estimates them.
    """

    title: str
    facts: tuple[tuple[str, str], ...]
    bounds: tuple[Bound, ...]
    truth: float | None = None
    measured: str = ""

    @property
    def advice(self) -> str:
        """One sentence: which of the values to compare models by."""
        informative = [one for one in self.bounds if not one.vacuous]
        if not informative:
            return "To choose, compare errors of fitted models on held-out points: no value here estimates them."
        # the smallest value where no error was measured
        best = min(informative, key=lambda one: abs(one.value - (self.truth or 0.0)))
        return (
            f"To choose, compare the {best.quantity} by {best.name}, {best.value:.4g} here; {len(informative)} of "
            f"{len(self.bounds)} values are informative."
        )

    def __str__(self) -> str:
        width = max((len(name) for name, _ in self.facts), default=0)
        lines = [
            self.title,
            self.advice,
            "",
            *(f"  {name:{width}}  {value}" for name, value in self.facts),
        ]
        if self.truth is not None:
            lines += ["", f"  true error  {self.truth:.4g}  ({self.measured})"]
        for one in self.bounds:
            lines += [
                "",
                f"  {one.name}: {one.value:.4g}, {_verdict(one)}",
                f"      {one.statement}",
            ]
            lines += [f"      Assumes {text}." for text in one.assumptions]
        return "\n".join(lines)

    def _repr_html_(self):
        facts = "".join(
            f"<tr><th>{_safe(name)}</th><td>{_safe(value)}</td></tr>" for name, value in self.facts
        )
        truth = (
            ""
            if self.truth is None
            else f"<p>True error: <b>{self.truth:.4g}</b> ({_safe(self.measured)})</p>"
        )
        rows = "".join(
            f"<tr><th>{_safe(one.name)}</th><td>{one.value:.4g}</td><td>{_safe(_verdict(one))}</td>"
            f"<td>{_safe(one.statement)}</td><td>{_safe('; '.join(one.assumptions))}</td></tr>"
            for one in self.bounds
        )
        head = "".join(
            f"<th>{name}</th>" for name in ("", "value", "kind", "statement", "assumptions")
        )
        table = (
            f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>" if rows else ""
        )
        lead = f"<h4>{_safe(self.title)}</h4><p>{_safe(self.advice)}</p>"
        return f"{lead}<table><tbody>{facts}</tbody></table>{truth}{table}"


def report(
    model_or_kernel: Any,
    X: PointsLike,
    y: ArrayLike | None = None,
    *,
    test: tuple[PointsLike, ArrayLike] | None = None,
    confidence: float = 0.95,
    memory: Memory = "1GB",
    random_state: Seed = None,
    callback: AnyFunction | None = None,
) -> Report:
    """Compare all bounds of a fitted estimator with its true error, or describe the geometry of a kernel on data.

    Parameters
    ----------
    model_or_kernel : fitted SVC, SVR, KernelRidge, KernelPCA or other estimator with ``expansion_``, or Kernel
        A kernel, or an estimator without y, gives the geometry of the mapped points; KernelPCA also the bound of its
        residual.
    X : points (n)
        The training points.
    y : array (n,), optional
        Classes, or values. Of more than two classes only the span rule takes all binary classifiers.
    test : (points, array), optional
        Test points and their targets, to measure the true error. Default: exact leave-one-out error for support vector
        classifiers of at most 500 points, otherwise cross-validation of 10 folds, or of as many as there are points, or
        points of the largest class.
    confidence : float
        Of each bound.
    memory, random_state
        As in ``spectrum``.
    callback : callable, optional
        ``callback(done, most)`` is called after the geometry, after the bounds and after each fold of the
        cross-validation, with the number of parts that are done and of all; an exception in it ends the call.

    Returns
    -------
    Report

    Raises
    ------
    ValueError
        For points other than the training points, or test targets that are not one for each test
        point or have a label that the fit does not have.
    TypeError
        For an argument that is neither a kernel nor an estimator with a kernel, or a ``test`` that is not a pair.
    NotFittedError
        For an estimator that is not fitted.

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
    with counting(callback, "report"):
        found = _describe(
            model_or_kernel,
            X,
            y,
            test,
            confidence,
            {"memory": memory, "random_state": random_state},
        )
        notify("report", done=_PARTS, most=_PARTS)
    return found


def _describe(fitted, X, y, test, confidence, options):
    """Return the report, without the callback."""
    kernel = _kernel(fitted).resolve(X)
    facts = _geometry(kernel, X, **options)
    notify("report", done=1, most=_PARTS)
    title = f"{fitted!r} on {count_points(X)} points"
    if isinstance(fitted, Kernel):
        return Report(title, facts, ())
    inner = definite(kernel, mapped(kernel, X).points)
    if y is None:
        k = getattr(fitted, "n_components_", None)
        bounds = (
            () if k is None else (kpca_residual(inner, X, k, confidence=confidence, **options),)
        )
        return Report(title, facts, bounds)
    if is_classifier(fitted):
        y = own_targets(fitted, y)
        own = models(fitted, X, y)
        # of several classes only the span rule takes all binary classifiers
        bounds = _classifier_bounds(own[0], confidence, options) if len(own) == 1 else ()
        is_machine = own[0].upper_bounds is not None
        if is_machine:
            bounds = span_rule(fitted, X, y, memory=options["memory"]), *bounds
        notify("report", done=2, most=_PARTS)
        if test is None and is_machine and len(y) <= _FEW:
            return Report(title, facts, bounds, leave_one_out(fitted, X, y), "leave one out")
        predictions, truth, measured = _predictions(fitted, kernel, X, y, test, StratifiedKFold)
        return Report(title, facts, bounds, float(np.mean(predictions != truth)), measured)
    if is_regressor(fitted):
        y = as_real_targets(y, type(fitted).__name__)
        # one column of targets is a vector
        y = y[:, 0] if y.shape[1:] == (1,) else y
        m = len(fitted.intercept_) if hasattr(fitted, "intercept_") else y[:1].size
        if m != y[:1].size:
            raise ValueError(
                f"y has {y[:1].size} columns, but {type(fitted).__name__} has {m} functions, one for each target or "
                "quantile; give a model of one of them."
            )
        bounds = _regression_bounds(fitted, inner, X, y, options)
        notify("report", done=2, most=_PARTS)
        predictions, truth, measured = _predictions(fitted, kernel, X, y, test, KFold)
        return Report(
            title,
            facts,
            bounds,
            float(np.mean((predictions - truth) ** 2)),
            f"squared error, {measured}",
        )
    raise TypeError(f"{type(fitted).__name__} is neither a classifier nor a regression; omit y.")


def _kernel(model_or_kernel):
    """Return the kernel itself, or the kernel of a fitted estimator."""
    kernel = getattr(model_or_kernel, "kernel_", model_or_kernel)
    if hasattr(model_or_kernel, "encode"):
        raise TypeError(
            f"{type(model_or_kernel).__name__} has a kernel of encoded rows; give model.kernel_ and model.encode(X) "
            "for their geometry, and compare errors of models of tables on held-out rows."
        )
    if not isinstance(kernel, Kernel):
        if hasattr(kernel, "fit") and not isinstance(kernel, type):
            check_is_fitted(model_or_kernel)
        check_instance(
            "model_or_kernel",
            kernel,
            Kernel,
            "a Kernel or a fitted estimator of Mercer with kernel_",
        )
    return kernel


def _geometry(kernel, X, memory, random_state):
    """Return the facts about the mapped points."""
    found = spectrum(kernel, X, memory=memory, random_state=random_state)
    ball = smallest_ball(kernel, X, memory=memory)
    n = found.n
    values = found.values
    supremum = float(found.suprema.max())
    share = np.cumsum(values) / found.trace
    known = "above rounding" if found.complete else "computed"
    more = "" if len(values) <= 5 else ", ..."
    dimensions = " and ".join(_interval(*effective_dimension(found, n * r)) for r in (1e-3, 1e-1))
    facts = [
        (
            "eigenvalues",
            f"{len(values)} {known}, of the centred matrix: {_numbers(values[:5])}{more}",
        ),
        (
            "variance of 1, 2, 5 components",
            ", ".join(f"{share[min(k, len(share)) - 1]:.1%}" for k in (1, 2, 5)),
        ),
        ("effective dimension", f"{dimensions} for a ridge of 0.001 n and 0.1 n"),
        ("smallest ball", f"radius {ball.radius:.6g}, at least {ball.least:.6g}"),
        ("box, from coordinates", f"sides {_numbers(found.sides[:5], 3)}"),
        (
            "box, from eigenfunctions",
            f"sides {_numbers(found.mercer_sides(supremum)[:5], 3)}, if no eigenfunction exceeds {supremum:.3g}, the "
            "largest value on the sample",
        ),
    ]
    clear = values[values > CLEAR * values[0]]
    if len(clear) >= 5:
        law = estimate_decay(clear / n)
        numbers = ", ".join(f"{field.name} {getattr(law, field.name):.3g}" for field in fields(law))
        entropy = feature_entropy_number(ListedDecay(values / n), 1024, supremum)
        facts += [
            ("decay, estimated", f"{type(law).__name__}: {numbers}"),
            (
                "entropy number of 1024 balls",
                f"at most {entropy:.3g}, for these eigenvalues and the same assumption",
            ),
        ]
    return tuple(facts)


def _numbers(values, digits=4):
    return ", ".join(f"{value:.{digits}g}" for value in values)


def _interval(low, high):
    return f"{low:.3g}" if high - low < 5e-3 * high else f"{low:.3g} to {high:.3g}"


def _classifier_bounds(own, confidence, options):
    """Return all bounds of a classifier of two classes but the span rule."""
    memory = options["memory"]
    ball = smallest_ball(own.kernel, own.points, memory=memory)
    plain = spectrum(own.kernel, own.points, centre=False, **options)
    bounds = (
        rademacher(own, confidence=confidence),
        dudley_bound(own, plain, confidence=confidence),
        pac_bayes(own, confidence=confidence),
        vc_margin(own, ball, confidence=confidence),
        _estimated_covering(own, plain, confidence),
    )
    if own.upper_bounds is None:
        return bounds
    return (
        opper_winther(own, memory=memory),
        jaakkola_haussler(own),
        xi_alpha(own),
        support_fraction(own),
        radius_margin(own, ball),
        sample_compression(own, confidence=confidence),
        *bounds,
    )


def _estimated_covering(own, plain, confidence):
    """Return the bound from covering numbers with the eigenvalues of the sample in place of the operator's."""
    clear = plain.values > CLEAR * plain.values[0]
    supremum = float(plain.suprema[clear].max())
    found = covering_bound(
        own, ListedDecay(plain.values[clear] / plain.n), confidence=confidence, bound=supremum
    )
    assumed = "eigenvalues and eigenfunctions of the integral operator that are those of the sample"
    return replace(found, confidence=None, assumptions=(found.assumptions[0], assumed))


def _regression_bounds(fitted, kernel, X, y, options):
    """Return the estimates of the squared error of a regression."""
    local = local_rademacher(spectrum(kernel, X, centre=False, **options))
    residuals = getattr(fitted, "loo_residuals_", None)
    if residuals is not None:
        return _squared_error(
            "leave one out, exact", residuals, y, 1.0, "a bandwidth that does not change"
        ), local
    if getattr(fitted, "loss", None) == "epsilon" or hasattr(fitted, "epsilon_"):
        residuals = y - leave_one_out_predictions(fitted, X, y, memory=options["memory"])
        return _squared_error("span rule", residuals, y, None, SAME_MARGIN), local
    return (local,)


def _squared_error(name, residuals, y, confidence, assumption):
    value = float(np.mean(np.square(residuals)))
    statement = f"The mean squared leave-one-out error is {value:.4g}."
    trivial = float(np.mean(np.square(y - y.mean(axis=0))))
    return Bound(
        name, value, statement, "squared leave-one-out error", confidence, (assumption,), trivial
    )


def _predictions(fitted, kernel, X, y, test, folds):
    """Return predictions for test points or held-out folds, the true targets, and how they were obtained."""
    if test is not None:
        return *_tested(fitted, test), f"{count_points(test[0])} test points"
    X = X if kernel.tags.points == "indices" else kernel.admit(X, "X")
    y = np.asarray(y)
    predictions = np.empty_like(y)
    # a fold has a point of the largest class
    most = np.unique(y, return_counts=True)[1].max() if is_classifier(fitted) else len(y)
    number = int(min(10, most))
    splits = folds(number, shuffle=True, random_state=0).split(np.zeros(len(y)), y)
    for i, (train, rest) in enumerate(splits):
        predictions[rest] = predict_left_out(fitted, kernel, X, y, train, rest)
        notify("report", done=3 + i, most=_PARTS)
    return predictions, y, f"{number} folds"


def _tested(fitted, test):
    """Return predictions for test points, and the true targets in the shape of the predictions."""
    if not isinstance(test, (tuple, list)) or len(test) != 2:
        raise TypeError(
            f"test = {shown(test)} must be a pair (points, targets); pass test=(X_test, y_test)."
        )
    predictions = fitted.predict(test[0])
    refuse_targets(test[1], "test[1]")
    if is_classifier(fitted):
        truth = own_targets(fitted, test[1], "test[1]")
    else:
        truth = as_real_targets(test[1], type(fitted).__name__)
    if len(truth) != len(predictions) or truth.size != predictions.size:
        raise ValueError(
            f"test[1] has shape {truth.shape}, but the predictions for test[0] have shape {predictions.shape}; give "
            "the targets of each point of test[0]."
        )
    return predictions, truth.reshape(predictions.shape)


def _verdict(bound):
    confidence = "" if bound.confidence in (None, 1.0) else f" at {bound.confidence:.0%}"
    return f"a {bound.kind}{confidence} of the {bound.quantity}" + (
        ", vacuous here" if bound.vacuous else ""
    )


def _safe(text):
    return html.escape(str(text))
