"""Kernels that are learned from labels: alignment, weights, scales, metrics."""

from tests.trust import data
from tests.trust.calls import call
from tests.trust.functions.valid import COUNT, KERNEL, LABELS, MEMORY, NEW, POSITIVE, ROWS, K, valid

import mercer as mc

SUPERVISED = {"kernel": K, "X": ROWS, "y": valid("labels or values", data.TWO)}
LABELLED = SUPERVISED | {"y": LABELS}
OPTIONS = {"tol": valid("confidence", 1e-3), "max_iter": COUNT, "memory": MEMORY}


def _with_linear(kernel, **options):
    return mc.learning.combination([kernel, mc.Linear()], method="svm", **options)


LEARNING = [
    call("alignment", mc.alignment, **SUPERVISED),
    call("learning.alignment_gradient", mc.learning.alignment_gradient, **SUPERVISED),
    call(
        "combine",
        lambda kernel, **o: mc.combine([kernel, mc.Linear()], **o)(NEW),
        **SUPERVISED,
        method=valid("choice", "alignment"),
        C=POSITIVE,
    ),
    call(
        "learning.combination",
        lambda **o: _with_linear(**o).shares,
        **LABELLED,
        C=POSITIVE,
        **OPTIONS,
    ),
    call(
        "learn_scales",
        lambda **o: mc.learn_scales(**o)(NEW),
        **LABELLED,
        method=valid("choice", "span"),
        C=POSITIVE,
        max_iter=COUNT,
    ),
    call(
        "learn_metric",
        lambda **o: mc.learn_metric(mc.SVC(kernel=KERNEL), **o).decision_function(NEW),
        X=ROWS,
        y=LABELS,
        n_iter=COUNT,
        power=POSITIVE,
    ),
]
