"""Bounds, spectra, entropy numbers, leave-one-out estimates."""

import numpy as np
from tests.trust import data
from tests.trust.calls import call
from tests.trust.functions.valid import (
    COUNT,
    DECAY,
    FLAG,
    KERNEL,
    LABELS,
    MEMORY,
    MODEL,
    POSITIVE,
    REALS,
    ROWS,
    SHARE,
    SPECTRUM,
    STATE,
    SVC,
    SVR,
    WIDTH,
    K,
    X,
    model,
    valid,
)

import mercer as mc

BOUNDS = (
    "jaakkola_haussler",
    "opper_winther",
    "pac_bayes",
    "rademacher",
    "radius_margin",
    "sample_compression",
    "support_fraction",
    "vc_margin",
    "xi_alpha",
    "leave_one_out_outputs",
    "squared_spans",
)


def _finite(bound):
    """Return a bound, None for the infinity that the function states where it has none."""
    return None if bound == np.inf else bound


CAPACITY = [
    *[call(f"capacity.{name}", getattr(mc.capacity, name), model=MODEL) for name in BOUNDS],
    *[
        call(
            f"capacity.{name}.confidence",
            lambda confidence, name=name: getattr(mc.capacity, name)(
                model(), confidence=confidence
            ),
            confidence=SHARE,
        )
        for name in ("pac_bayes", "rademacher", "sample_compression", "vc_margin")
    ],
    call(
        "capacity.covering_bound",
        lambda **options: _finite(mc.capacity.covering_bound(**options).value),
        model=MODEL,
        decay=DECAY,
        confidence=SHARE,
        bound=WIDTH,
    ),
    call(
        "capacity.dudley_bound",
        mc.capacity.dudley_bound,
        model=MODEL,
        spectrum=SPECTRUM,
        confidence=SHARE,
    ),
    call(
        "capacity.effective_dimension",
        mc.capacity.effective_dimension,
        spectrum=SPECTRUM,
        ridge=POSITIVE,
    ),
    call(
        "capacity.entropy_numbers",
        mc.capacity.entropy_numbers,
        scales=valid("list of values", np.array([1.0, 0.5])),
        n=valid("count or array", 3),
    ),
    call(
        "capacity.estimate_decay",
        mc.capacity.estimate_decay,
        values=valid("list of values", 3.0 * np.arange(1.0, 20) ** -2.5),
    ),
    call(
        "capacity.feature_entropy_number",
        mc.capacity.feature_entropy_number,
        decay=DECAY,
        n=valid("count or array", 3),
        bound=WIDTH,
    ),
    call(
        "capacity.log_entropy_number",
        mc.capacity.log_entropy_number,
        scales=DECAY,
        log_n=valid("nonnegative or array", 1.0),
    ),
    call(
        "capacity.log_feature_entropy_number",
        mc.capacity.log_feature_entropy_number,
        decay=DECAY,
        log_n=valid("nonnegative or array", 1.0),
        bound=WIDTH,
    ),
    call(
        "capacity.kpca_residual",
        mc.capacity.kpca_residual,
        kernel=K,
        X=ROWS,
        n_components=COUNT,
        confidence=SHARE,
        memory=MEMORY,
        random_state=STATE,
    ),
    call("capacity.leave_one_out", mc.capacity.leave_one_out, fitted=SVC, X=ROWS, y=LABELS),
    call(
        "capacity.leave_one_out_predictions",
        mc.capacity.leave_one_out_predictions,
        fitted=SVR,
        X=ROWS,
        y=REALS,
        memory=MEMORY,
    ),
    call("capacity.local_complexity", mc.capacity.local_complexity, spectrum=SPECTRUM, r=POSITIVE),
    call("capacity.local_rademacher", mc.capacity.local_rademacher, spectrum=SPECTRUM),
    call(
        "capacity.log_covering_number",
        lambda **o: _finite(mc.capacity.log_covering_number(**o)),
        spectrum=SPECTRUM,
        epsilon=POSITIVE,
        radius=WIDTH,
    ),
    call("capacity.model", mc.capacity.model, fitted=SVC, X=ROWS, y=LABELS),
    call("capacity.models", mc.capacity.models, fitted=SVC, X=ROWS, y=LABELS),
    call(
        "capacity.report",
        mc.capacity.report,
        model_or_kernel=SVC,
        X=ROWS,
        y=valid("labels or none", data.TWO),
        confidence=SHARE,
        memory=MEMORY,
        random_state=STATE,
    ),
    call(
        "capacity.ridge_score",
        mc.capacity.ridge_score,
        estimator=("model", lambda: mc.KernelRidge(0.1, kernel=KERNEL).fit(X, data.TARGETS)),
        X=ROWS,
        y=REALS,
    ),
    call(
        "capacity.smallest_ball",
        mc.capacity.smallest_ball,
        kernel=K,
        X=ROWS,
        tol=POSITIVE,
        memory=MEMORY,
    ),
    call("capacity.span_rule", mc.capacity.span_rule, fitted=SVC, X=ROWS, y=LABELS, memory=MEMORY),
    call("capacity.span_score", mc.capacity.span_score, estimator=SVC, X=ROWS, y=LABELS),
    call(
        "capacity.spectrum",
        mc.capacity.spectrum,
        kernel=K,
        X=ROWS,
        # without a number the rank of the precision
        n_values=valid("count or none", 10),
        centre=FLAG,
        memory=MEMORY,
        random_state=STATE,
    ),
    call(
        "capacity.srm",
        mc.capacity.srm,
        models=("model", lambda: [mc.SVC(kernel=KERNEL)]),
        X=ROWS,
        y=LABELS,
        confidence=SHARE,
        bound=("function", lambda: mc.capacity.vc_margin),
    ),
    call(
        "capacity.vc_bound",
        mc.capacity.vc_bound,
        training_error=valid("rate", 0.1),
        h=COUNT,
        n=valid("count", 10_000),
        confidence=SHARE,
    ),
    call(
        "capacity.vc_confidence",
        lambda **o: _finite(mc.capacity.vc_confidence(**o)),
        h=valid("positive", 3.0),
        n=valid("count", 10_000),
        confidence=SHARE,
    ),
    *[
        call(
            f"capacity.{cls.__name__}",
            lambda cls=cls, **o: np.exp(cls(**o).log_values(np.arange(1, 4))),
            **options,
        )
        for cls, options in {
            mc.capacity.ExponentialDecay: {"rate": WIDTH, "power": WIDTH, "scale": WIDTH},
            mc.capacity.PolynomialDecay: {"power": ("positive", lambda: 2.0), "scale": WIDTH},
            mc.capacity.ListedDecay: {"values": valid("list of values", np.array([1.0, 0.5, 0.2]))},
        }.items()
    ],
]
