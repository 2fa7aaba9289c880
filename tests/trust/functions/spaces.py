"""Maps to coordinates, geometry of input space, regularisation."""

import numpy as np
from tests.trust.calls import call
from tests.trust.functions.valid import (
    COUNT,
    FLAG,
    MAP,
    MEMORY,
    NEW,
    PHI,
    POSITIVE,
    PSI,
    ROWS,
    SOME,
    STATE,
    SVC,
    WEIGHTS,
    WIDTH,
    K,
    X,
    coordinates,
    valid,
)

import mercer as mc

MAPS = [
    call(
        "maps.extend",
        lambda coordinates, X, tol, most: mc.maps.extend(coordinates, X, tol, most)(NEW),
        coordinates=MAP,
        X=SOME,
        tol=valid("nonnegative or none", 1e-8),
        most=valid("count, zero or none", None),
    ),
    call(
        "maps.recentred",
        lambda coordinates, shift: mc.maps.recentred(coordinates, shift)(NEW),
        coordinates=MAP,
        shift=valid("values", np.ones(9)),
    ),
    call(
        "maps.mercer_map",
        lambda **o: mc.maps.mercer_map(**o)(NEW),
        kernel=K,
        X=ROWS,
        n=valid("count or none", 3),
        weights=WEIGHTS,
        memory=MEMORY,
        random_state=STATE,
    ),
    call("maps.nonsymmetric_whitening", mc.maps.nonsymmetric_whitening, K=valid("matrix", NEW @ X.T)),
    call(
        "maps.onto_landmarks",
        lambda **o: mc.maps.onto_landmarks(**o)(NEW),
        onto=PHI,
        phi=PHI,
        centre=FLAG,
        tol=valid("nonnegative or none", 1e-8),
        memory=MEMORY,
        random_state=STATE,
    ),
    call("maps.trace_error", mc.maps.trace_error, onto=PHI, phi=PHI, memory=MEMORY),
    call(
        "maps.ordered_monomials",
        mc.maps.ordered_monomials,
        X=SOME,
        degree=COUNT,
        coef0=valid("nonnegative", 0.5),
        memory=MEMORY,
    ),
    call(
        "maps.unordered_monomials",
        mc.maps.unordered_monomials,
        X=SOME,
        degree=COUNT,
        coef0=valid("nonnegative", 0.5),
        memory=MEMORY,
    ),
    call("maps.monomial_count", mc.maps.monomial_count, n_variables=COUNT, degree=COUNT, inhomogeneous=FLAG),
    call("maps.project_on", mc.maps.project_on, Y=valid("matrix", NEW), beta=valid("values", np.ones(3))),
    call(
        "maps.random_fourier",
        lambda **o: mc.maps.random_fourier(**o)(NEW),
        kernel=K,
        n_features_in=COUNT,
        m=valid("count", 20),
        orthogonal=FLAG,
        random_state=STATE,
    ),
    call(
        "maps.select_landmarks",
        mc.maps.select_landmarks,
        kernel=K,
        X=ROWS,
        landmarks=COUNT,
        rule=valid("choice", "greedy"),
        random_state=STATE,
    ),
    call(
        "maps.spectral",
        lambda **o: mc.maps.spectral(**o)(NEW),
        phi=PHI,
        centre=FLAG,
        tol=valid("nonnegative or none", 1e-8),
        memory=MEMORY,
        random_state=STATE,
    ),
    call(
        "maps.triangular",
        lambda **o: mc.maps.triangular(**o)(NEW),
        phi=PHI,
        centre=FLAG,
        tol=valid("nonnegative or none", 1e-8),
        memory=MEMORY,
    ),
    call(
        "maps.whitened", lambda **o: mc.maps.whitened(**o)(NEW), phi=PHI, centre=FLAG, memory=MEMORY, random_state=STATE
    ),
    call("maps.Coordinates.call", lambda X: coordinates()(X), X=SOME),
    call("maps.Coordinates.residual", lambda X: coordinates().residual(X), X=SOME),
]

MANIFOLD = [
    *[
        call(f"manifold.{name}", getattr(mc.manifold, name), k=K, X=SOME, memory=MEMORY)
        for name in (
            "christoffel",
            "determinant",
            "inverse_metric",
            "log_volume_element",
            "metric",
            "ricci",
            "riemann",
            "scalar_curvature",
            "volume_element",
        )
    ],
    call("manifold.density", mc.manifold.density, k=K, X=SOME, p=valid("density values", np.ones(7)), memory=MEMORY),
    call(
        "manifold.geodesic",
        mc.manifold.geodesic,
        k=K,
        start=valid("values", NEW[0]),
        velocity=valid("values", NEW[1]),
        time=WIDTH,
        n_points=valid("count", 5),
    ),
    call(
        "manifold.geodesic_between",
        mc.manifold.geodesic_between,
        k=K,
        start=valid("values", NEW[0]),
        end=valid("values", NEW[1]),
        n_points=valid("count", 5),
    ),
    call("manifold.length", mc.manifold.length, k=K, points=SOME),
    call(
        "manifold.magnify",
        lambda model, width: mc.manifold.metric(mc.manifold.magnify(model, width), NEW),
        model=SVC,
        width=POSITIVE,
    ),
    call("regularisation.spectral_density", mc.regularisation.spectral_density, kernel=K, frequencies=SOME),
    # its inverse, 0 where the penalty is infinite because the density underflows
    call("regularisation.penalty", lambda **o: 1 / mc.regularisation.penalty(**o), kernel=K, frequencies=SOME),
    call(
        "regularisation.transform",
        lambda psi, frequencies: abs(mc.regularisation.transform(psi, frequencies)),
        psi=PSI,
        frequencies=SOME,
    ),
    call("regularisation.energy", mc.regularisation.energy, psi=PSI, frequencies=SOME),
    call(
        "regularisation.penalise",
        mc.regularisation.penalise,
        kernel=valid("kernel", mc.Laplacian(2.0)),
        values=valid("grid", np.cos(np.arange(16.0))),
        spacing=POSITIVE,
    ),
    call(
        "datasets.smooth",
        mc.datasets.smooth,
        images=valid("rows", np.tile(NEW, 3)),
        width=POSITIVE,
        background=valid("number", -1.0),
    ),
]
