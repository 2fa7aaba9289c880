"""Expansions and functions of them, pre-images, reduced sets, compression."""

import numpy as np
from tests.trust import data
from tests.trust.calls import call
from tests.trust.functions.valid import (
    COUNT,
    FLAG,
    KERNEL,
    LABELS,
    MEMORY,
    NEW,
    PHI,
    POSITIVE,
    PSI,
    REALS,
    ROWS,
    SOME,
    STATE,
    SVC,
    SVR,
    WEIGHTS,
    K,
    X,
    valid,
)

import mercer as mc

TESTED = valid("known labels or none", data.TWO)
EXPANSIONS = [
    call("features", lambda kernel, X: mc.features(kernel, X)(NEW), kernel=K, X=ROWS),
    call(
        "Gram",
        lambda kernel, X, Z, memory: mc.Gram(kernel, X, Z, memory).dense(),
        kernel=K,
        X=ROWS,
        Z=valid("rows or none", NEW),
        memory=MEMORY,
    ),
    call("Gram.matmul", lambda V: mc.Gram(KERNEL, X) @ V, V=valid("values", data.TARGETS)),
    call(
        "Expansion",
        lambda kernel, points, coef: mc.Expansion(kernel, points, coef)(NEW),
        kernel=K,
        points=ROWS,
        coef=valid("values or none", data.TARGETS),
    ),
    call("Expansion.call", lambda X: PSI[1]()(X), X=SOME),
    call("Expansion.gradient", lambda X: PSI[1]().gradient(X), X=SOME),
    call("Expansion.inner", lambda chi: PSI[1]().inner(chi), chi=PHI),
    call("Expansion.matmul", lambda C: PHI[1]() @ C, C=valid("values", data.TARGETS)),
    call("mean", mc.mean, phi=PHI, weights=WEIGHTS),
    call("mmd", mc.mmd, phi=PHI, chi=PHI),
    call(
        "mmd_test", mc.mmd_test, X=ROWS, Z=SOME, kernel=K, n_permutations=COUNT, random_state=STATE
    ),
    call(
        "hsic_test",
        lambda X, **options: mc.hsic_test(X, data.TARGETS[:, None], **options),
        X=ROWS,
        kernel_x=K,
        kernel_y=K,
        n_permutations=COUNT,
        random_state=STATE,
    ),
    call(
        "ksd_test",
        lambda X, **options: mc.ksd_test(X, np.negative, **options),
        X=ROWS,
        kernel=valid("kernel or none", data.KERNEL),
        n_bootstrap=COUNT,
        random_state=STATE,
    ),
    call("sqdist", mc.sqdist, psi=PHI, chi=PHI, paired=FLAG),
    call(
        "svd",
        mc.svd,
        phi=PHI,
        n=valid("count or none", 3),
        centre=FLAG,
        memory=MEMORY,
        random_state=STATE,
    ),
    call("qr", mc.qr, phi=PHI, tol=valid("nonnegative or none", 1e-8), memory=MEMORY),
    call(
        "lstsq",
        mc.lstsq,
        phi=PHI,
        Y=REALS,
        ridge=valid("nonnegative", 0.1),
        memory=MEMORY,
        random_state=STATE,
    ),
    call("project", mc.project, psi=PSI, onto=PHI, tol=valid("nonnegative or none", 1e-8)),
    call(
        "preimage",
        mc.preimage,
        psi=PSI,
        method=valid("choice", "auto"),
        start=valid("rows or none", X[:1]),
    ),
    call(
        "ProgressBar",
        lambda most: float(mc.ProgressBar("any", most)(1, 2)),
        most=valid("count or none", 3),
    ),
    call(
        "ray", mc.ray, psi=PSI, method=valid("choice", "auto"), start=valid("rows or none", X[:1])
    ),
    call(
        "reduce",
        mc.reduce,
        psi=PSI,
        n_vectors=valid("count or none", 3),
        tol=valid("nonnegative or none", 1e-3),
        method=valid("choice or none", "greedy"),
    ),
    call("check_kernel", mc.check_kernel, k=K, X=valid("rows or none", X)),
    call("certify", mc.certify, model=SVC, X=ROWS, y=LABELS),
    call("certify.regressor", mc.certify, model=SVR, X=ROWS, y=REALS),
    call(
        "compress",
        mc.compress,
        model=SVC,
        X=ROWS,
        y=TESTED,
        n_vectors=valid("count", 5),
        random_state=STATE,
    ),
    call(
        "compress.max_loss",
        mc.compress,
        model=SVC,
        X=ROWS,
        y=TESTED,
        max_loss=valid("share or zero", 0.1),
    ),
    call(
        "compress.neighbours",
        mc.compress,
        model=SVC,
        X=ROWS,
        y=TESTED,
        n_vectors=valid("count", 5),
        neighbours=("function", lambda: np.copy),
    ),
    call(
        "compress.method",
        mc.compress,
        model=SVC,
        X=ROWS,
        y=TESTED,
        n_vectors=valid("count", 5),
        method=valid("choice or none", "greedy"),
        shared=FLAG,
        threshold=valid("choice", "train"),
        holdout=valid("confidence or none", 0.5),
        random_state=STATE,
    ),
    call(
        "from_expansion",
        lambda expansion, intercept, like: mc.from_expansion(expansion, intercept, like).predict(
            NEW
        ),
        expansion=(
            "expansion",
            lambda: mc.features(KERNEL, X) @ np.cos(np.arange(144.0)).reshape(48, 3),
        ),
        intercept=valid("value or values", np.array([0.5, -0.5, 0.25])),
        like=(
            "model",
            lambda: mc.KernelRidge(kernel=KERNEL).fit(
                X, np.column_stack([data.TARGETS, data.TWO, data.THREE])
            ),
        ),
    ),
    call("plan", lambda n, d: mc.plan(mc.KernelRidge(kernel=KERNEL), n, d).bytes, n=COUNT, d=COUNT),
    call(
        "svc_path",
        mc.svc_path,
        X=ROWS,
        y=LABELS,
        Cs=valid("list of values", np.array([0.1, 1.0])),
        kernel=K,
        tol=POSITIVE,
        class_weight=valid("class weight", None),
        sample_weight=WEIGHTS,
        multi_class=valid("choice", "ovo"),
        memory=MEMORY,
    ),
]

METHODS = (
    [
        call(
            f"preimages.{method.__name__}",
            lambda method=method, **options: mc.preimage(PSI[1](), method(**options)),
            **options,
        )
        for method, options in {
            mc.FixedPoint: {
                "max_iter": COUNT,
                "tol": POSITIVE,
                "restarts": valid("count or zero", 3),
                "pull": valid("nonnegative", 0.1),
                "normalise": FLAG,
            },
            mc.Gradient: {
                "max_iter": COUNT,
                "tol": POSITIVE,
                "restarts": valid("count or zero", 3),
                "pull": valid("nonnegative", 0.1),
                "memory": COUNT,
            },
            mc.Distances: {"neighbours": COUNT, "normalise": FLAG},
            mc.Exact: {"tol": POSITIVE},
            mc.Learned: {
                "noise": ("function", lambda: None),
                "copies": COUNT,
                "landmarks": COUNT,
                "ridge": POSITIVE,
                "random_state": STATE,
                "kernel": K,
            },
        }.items()
    ]
    + [
        call(
            "preimages.Search",
            lambda **options: mc.preimage(
                mc.mean(mc.features(mc.strings.Spectrum(1), ["aab", "abb", "aabb"])),
                mc.Search(**options),
            ),
            max_iter=COUNT,
            neighbours=("function", lambda: None),
        )
    ]
    + [
        call(
            f"reduction.{method.__name__}",
            lambda method=method, **options: mc.reduce(PSI[1](), 3, method=method(**options)),
            **options,
        )
        for method, options in {
            mc.Construct: {"starts": COUNT, "max_iter": COUNT, "tol": POSITIVE, "memory": MEMORY},
            mc.Eigenvector: {"memory": MEMORY},
            mc.Greedy: {"memory": MEMORY},
            mc.L1: {
                "weighted": FLAG,
                "gap": POSITIVE,
                "memory": MEMORY,
                "penalty": valid("positive or none", 0.5),
            },
            mc.Exhaustive: {"limit": valid("positive", 1e6), "memory": MEMORY},
            mc.MaxNorm: {"weighted": FLAG, "gap": POSITIVE, "memory": MEMORY},
            mc.Merge: {"steps": COUNT, "memory": MEMORY},
            mc.Pivoted: {"aimed": FLAG},
            mc.Refine: {"max_iter": COUNT, "tol": POSITIVE, "start": valid("choice", mc.Greedy())},
            mc.VariableWidths: {
                "max_iter": COUNT,
                "tol": POSITIVE,
                "start": valid("choice", mc.Greedy()),
            },
        }.items()
    ]
)
