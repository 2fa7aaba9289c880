"""Tangents, invariant maps and kernels, and local kernels."""

import numpy as np
from tests.trust import data
from tests.trust.calls import call
from tests.trust.functions.valid import COUNT, MEMORY, NEW, ROWS, SOME, WEIGHTS, K, X, valid

import mercer as mc
from mercer import invariance

TRANSFORMS, WEIGHT = ("transforms", lambda: [data.moved]), valid("share, zero included", 0.5)
TANGENTS = valid("tangents", np.ones((7, 2, 3)) * [[1.0], [-0.5]] + np.eye(3)[:2])
SHAPE, STEP = valid("shape of images", (1, 3)), valid("positive or none", 0.1)


def _features(kernel, X, T):
    return invariance.tangent_features(kernel, X, T)(NEW)


def _projected(kernel, directions, weights):
    return invariance.Projected(kernel, directions, weights)(NEW)


def _directions():
    return mc.svd(mc.features(data.KERNEL, X), 3, centre=False)[0]


def _tangents():
    return invariance.tangent_features(data.KERNEL, NEW, TANGENTS[1]())


INVARIANCE = [
    call(
        "invariance.tangents",
        invariance.tangents,
        X=SOME,
        transforms=TRANSFORMS,
        step=valid("positive or none", 0.1),
    ),
    call(
        "invariance.tangent_covariance",
        invariance.tangent_covariance,
        X=ROWS,
        transforms=TRANSFORMS,
        sample_weight=WEIGHTS,
        step=STEP,
    ),
    call(
        "invariance.invariant_kernel",
        lambda **o: invariance.invariant_kernel(**o)(NEW),
        kernel=K,
        X=ROWS,
        transforms=TRANSFORMS,
        weight=WEIGHT,
        sample_weight=WEIGHTS,
    ),
    call(
        "invariance.invariant_feature_kernel",
        lambda **o: invariance.invariant_feature_kernel(**o)(NEW),
        kernel=K,
        X=ROWS,
        transforms=TRANSFORMS,
        weight=WEIGHT,
        sample_weight=WEIGHTS,
        memory=MEMORY,
    ),
    call("invariance.tangent_features", _features, kernel=K, X=SOME, T=TANGENTS),
    call(
        "invariance.tangent_components",
        lambda psi, memory: invariance.tangent_components(psi, memory=memory)[1],
        psi=("expansion", _tangents),
        memory=MEMORY,
    ),
    call("invariance.TangentFeatures.call", lambda X: _tangents()(X), X=SOME),
    call(
        "invariance.Projected",
        _projected,
        kernel=K,
        directions=("expansion", _directions),
        weights=valid("shares", np.array([0.5, 1.0, 0.25])),
    ),
    call(
        "invariance.InvariantMap",
        lambda X, transforms, weight, sample_weight: (
            invariance.InvariantMap(transforms, weight)
            .fit(X, sample_weight=sample_weight)
            .transform(NEW)
        ),
        X=valid("training rows", X),
        transforms=TRANSFORMS,
        weight=WEIGHT,
        sample_weight=WEIGHTS,
    ),
    call(
        "invariance.image_transforms",
        lambda shape, background: [
            g(NEW, 0.5) for g in invariance.image_transforms(shape, background=background).values()
        ],
        shape=SHAPE,
        background=valid("number", 0.5),
    ),
    call(
        "invariance.image_transforms.call",
        lambda X, t: [g(X, t) for g in invariance.image_transforms((1, 3)).values()],
        X=SOME,
        t=valid("number", 0.5),
    ),
    call(
        "Local",
        lambda kernel, shape, width: mc.Local(kernel, shape, width)(NEW),
        kernel=K,
        shape=SHAPE,
        width=COUNT,
    ),
    call("Local.call", lambda X: mc.Local(mc.Polynomial(2), (1, 3), 3)(X, data.X), X=SOME),
]
