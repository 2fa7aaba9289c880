"""plan: the route, the memory and about the time of a fit, before anything is allocated."""

from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np

from mercer._common import check_integer, shown
from mercer._compute.loops import WIDE
from mercer._compute.memory import human_bytes, parse_memory, refusal
from mercer._compute.points import count_points
from mercer._compute.readable import refuse_container
from mercer._compute.symmetric import count_values, working_bytes
from mercer.estimators._rates import rates
from mercer.kernels.shorthand import as_kernel
from mercer.learning.tuning import check_tune, tuning_bytes, tuning_refusal
from mercer.least_squares import preconditioner_bytes, preconditioner_rank
from mercer.linalg import cholesky, eigh, lanczos
from mercer.solvers import landmark_ridge, pca
from mercer.solvers.ridge import check_alphas
from mercer.solvers.svm.engine import LARGEST

# Matrices that LAPACK takes for all eigenvectors, the matrix included, and the share of its time that none would take.
_ALL, _REDUCED = 5.7, 0.3
# Matrices of axes beside the eigenvectors.
_AXES = 2.55
# Arrays of residuals, and blocks of columns, in a Lanczos step.
_RESIDUALS, _BLOCKS = 3, 5
# Products of Lanczos, for up to so many pairs, and steps of conjugate gradients, that are typical; data decide them.
_PRODUCTS, _PAIRS, _STEPS, _LANDMARK_STEPS = 16, 50, 30, 20
# Costs in units of one kernel value: to write an entry of the matrices of a Cholesky factor, and of all passes of a
# linear SVC over one coordinate.
_WRITTEN, _PASSES = 6, 40
# Steps of a search for bandwidths and a ridge on all points, and their operations for n^3.
_SEARCH_STEPS, _SEARCH_FLOPS = 20, {"marginal_likelihood": 22.0, "loo": 60.0}
# Time of a product of a stored matrix with few columns, against that of as many operations of a square product.
_NARROW = 2.0
# Arrays of the size of its coordinates.
_COORDINATES = 2.5
# Operations for m^3 of the triangles of a preconditioner over m landmarks.
_TRIANGLES = 4.0
# Operations for n m^2 over m landmarks: of a scatter from kernel values, or coordinates, 1 or 3; of a linear system.
_SCATTER, _EQUATIONS = 1.5, 3.0
# Points whose coordinates, and whose leverage scores, are in memory at a time, and arrays of their size.
_ROWS, _SCORED, _TILES = 1024, 4096, 2
# Bytes of tiles that no limit forbids.
_SMALL_MEMORY = 1 << 24
# Remedies that take less memory.
_FEWER_LANDMARKS, _FEWER_COMPONENTS = "fewer landmarks, rule='uniform'", "fewer components, landmarks="


@dataclass(frozen=True)
class Plan:
    """What a fit takes.

    Attributes
    ----------
    seconds : float
        About the processor time of this machine, in wall-clock seconds without other processes.
    bytes : int
        Largest memory beside the interpreter and the points.
    route : str
        "dense": a matrix and its factorisation; "stored": a matrix and products with it; "lazy": kernel values are
        evaluated where they are needed; "landmarks": nothing of size n x n.
    reason : str
        Why this route, and how sure the numbers are; for a fit that ``memory`` does not hold, the error that it raises.
    """

    seconds: float
    bytes: int
    route: str
    reason: str


@dataclass(frozen=True)
class Need:
    """Route, memory and operations: kernel ``values``, ``flops`` of products, and ``cubes`` n^3 of eigenproblems.

    ``matrices`` are the bytes of those that a rule or a tile does not decide, all of them for None; ``instead`` takes
    less memory; ``assumed`` is the number of steps or products on which the seconds depend; ``wide`` are the bytes that
    many columns add.
    """

    route: str
    bytes: int
    reason: str
    values: float
    flops: float = 0.0
    cubes: float = 0.0
    matrices: int | None = None
    instead: str = "landmarks="
    assumed: str = ""
    wide: int = 0


def plan(estimator: Any, n: int, d: int) -> Plan:
    """Return the route, the memory and about the time of the fit of an estimator to n points of d features.

    Parameters
    ----------
    estimator : KernelPCA, KernelRidge, KernelFisher, KernelMap, Nystroem or a support vector machine
        Not fitted; its parameters decide, ``memory`` among them. SVC, NuSVC, SVR, NuSVR, OneClassSVM or SVDD.
    n, d : int
        Numbers of points, in float64, and of their features.

    Returns
    -------
    Plan
        With ``seconds``, ``bytes``, ``route`` and ``reason``. Nothing of the size of the problem is allocated.

    Raises
    ------
    TypeError
        For other estimators, and for kernels on points that are not rows.

    Notes
    -----
    The first call for a kernel and a d measures kernel values, a matrix product and an eigenproblem, less than a
    second; the process keeps the results. The number of steps of iterative solvers depends on the data: ``reason``
    says where ``seconds`` assumes one. The bytes are those that a MemoryError of ``fit`` names; ``reason`` then starts
    with "fit raises MemoryError:" and continues with the text of this error. A support vector machine takes up to
    160 MB more where up to 2 000 coefficients are between their bounds, which it solves for in float64.

    Examples
    --------
    >>> import mercer as mc
    >>> found = mc.plan(mc.KernelPCA(16, kernel=mc.Gaussian(0.1)), 10_000, 20)
    >>> found.route, round(found.bytes / 1e6)
    ('stored', 470)
    >>> mc.plan(mc.KernelPCA(16, kernel=mc.Gaussian(0.1), memory="300MB"), 10_000, 20).route
    'lazy'
    """
    check_integer("n", n)
    check_integer("d", d)
    # products of integers of NumPy overflow
    n, d = int(n), int(d)
    need, kernel = need_of(estimator, n), as_kernel(estimator.kernel)
    if kernel.tags.points not in ("rows", "any", "rows or objects", "indices"):
        raise TypeError(
            f"plan needs a kernel on rows of d features, got {type(kernel).__name__}; time a fit on a part of the data."
        )
    per_value, per_flop, per_cube = rates(kernel, d)
    seconds = need.values * per_value + need.flops * per_flop + need.cubes * per_cube
    refused = _refusal(estimator, n, need)
    assumed = f"; seconds assume {need.assumed}" if need.assumed else ""
    reason = need.reason + assumed if refused is None else f"fit raises MemoryError: {refused}"
    return Plan(float(seconds), int(need.bytes + (need.wide if d >= WIDE else 0)), need.route, reason)


def require_plan(model: Any, n: int) -> None:
    """Raise a MemoryError unless the memory of an estimator holds what its fit to n points takes."""
    text = _refusal(model, n, need_of(model, n))
    if text is not None:
        raise MemoryError(text)


def _refusal(model, n, need):
    """Return the text of the MemoryError of a fit, None for a fit that the memory holds."""
    if getattr(model, "tune", None) is not None:
        return tuning_refusal(n, model.tune, model.memory)
    budget = parse_memory(model.memory)
    matrices = need.bytes if need.matrices is None else need.matrices
    # tiles, what a rule holds and a few columns are small beside the points, unless these are many
    exceeds = (matrices > budget and need.route != "lazy") or need.bytes > max(budget, _SMALL_MEMORY)
    if need.route == "stored" or not exceeds:
        return None
    what = f"{type(model).__name__} of {n} points ({need.reason})"
    return refusal(need.bytes, model.memory, what, f"{need.instead}, or a larger memory=")


def need_of(model: Any, n: int) -> Need:
    """Return what the fit of an estimator to n points takes."""
    name = next((cls.__name__ for cls in type(model).__mro__ if cls.__name__ in _NEEDS), None)
    if isinstance(model, type) or name is None:
        raise TypeError(f"estimator must be one of {', '.join(_NEEDS)}, got {shown(model)}.")
    return _NEEDS[name](model, n)


# --- one function an estimator ----------------------------------------------------------------------------------------


def _kernel_pca(model, n):
    pca.check_components(model.n_components)
    m, k, memory = _number(model.landmarks), model.n_components, parse_memory(model.memory)
    k = int(k) if isinstance(k, Integral) else k
    if m is not None and m < n or _is_given(model.landmarks):
        return _over_landmarks(_rule(model), n, m, _ALL + 4, _SCATTER)
    first = min(pca.LEAST, n) if k is not None and k < 1 else k
    if first is None or lanczos.is_dense(n, first, memory):
        wanted = "all components are wanted" if k is None else f"n_components = {k} are many of n = {n}"
        reason = f"n = {n} is small" if n <= eigh.DENSE_ORDER else wanted
        return replace(_dense(n, n if k is None or k < 1 else min(k, n), reason), instead=_FEWER_COMPONENTS)
    width = lanczos.block_width(first)
    # the basis and its image, residuals, and the block that is multiplied
    basis = 8 * n * (2 * lanczos.basis_size(first) + _RESIDUALS * (first + width) + _BLOCKS * width)
    products = _PRODUCTS * max(1.0, first / _PAIRS)
    flops = products * (2.0 * n * n * width + 4.0 * n * lanczos.basis_size(first) * width)
    assumed = f"{products:.0f} products"
    matrix = 8 * count_values(n)
    if matrix <= memory:
        return Need(
            "stored",
            matrix + basis,
            f"half of the matrix fits memory = {human_bytes(memory)}",
            float(n) ** 2,
            _NARROW * flops,
            assumed=assumed,
        )
    reason = f"half of the matrix, {human_bytes(matrix)}, exceeds memory = {human_bytes(memory)}"
    values = (products + 1.0) * n * n / 2
    needed = basis + working_bytes(n, width)
    return Need("lazy", needed, reason, values, flops, instead=_FEWER_COMPONENTS, assumed=assumed)


def _least_squares(model, n, matrices=_ALL - 0.8, tiles=_TILES):
    m, memory = _number(model.landmarks), parse_memory(model.memory)
    if m is not None and m < n or _is_given(model.landmarks):
        return _over_landmarks(_rule(model), n, m, matrices, _EQUATIONS, tiles)
    alpha = getattr(model, "alpha", 1.0)
    check_alphas(alpha)
    if not np.asarray(alpha).min():
        return _dense(n, n, "alpha = 0 needs all eigenvectors")
    if 8 * n * n <= memory:
        reason = f"the matrix fits memory = {human_bytes(memory)}"
        return Need("dense", 8 * n * n, reason, (_WRITTEN + 1.0) * n * n, float(n) ** 3 / 3)
    r = preconditioner_rank(n, memory)
    reason = f"the matrix exceeds memory = {human_bytes(memory)}"
    values = (_STEPS + 1.0) * n * n / 2 + n * r
    return Need("lazy", preconditioner_bytes(n, r), reason, values, 6.0 * n * r * r, assumed=f"{_STEPS} steps")


def _ridge(model, n):
    check_tune(model.tune, model.landmarks)
    once = _least_squares(model, n, _ALL + 2.3, 0)
    fits = len(np.unique(model.alpha))
    m = _number(model.landmarks)
    # landmarks are selected once for all alphas
    held, selected, flops = _selection(_rule(model), n, m) if once.route == "landmarks" else (0, 0.0, 0.0)
    values, products = fits * (once.values - selected), fits * (once.flops - flops)
    need = replace(once, values=selected + values, flops=flops + products, cubes=fits * once.cubes)
    if model.tune is not None:
        values = need.values + 2.0 * _SEARCH_STEPS * n * n
        flops = need.flops + _SEARCH_FLOPS[model.tune] * n**3
        n_bytes = tuning_bytes(n, model.tune)
        return Need("dense", n_bytes, "matrices of a search", values, flops, assumed=f"{_SEARCH_STEPS} steps")
    if need.route != "landmarks" or need.matrices <= parse_memory(model.memory):
        return need
    own = landmark_ridge.stored_bytes(m)
    reason = f"{m} landmarks span the solution"
    steps = float(fits) * n * m * _LANDMARK_STEPS
    return Need(
        "landmarks",
        max(own, held),
        reason,
        selected + steps,
        flops + 4.0 * steps + fits * _TRIANGLES * m**3,
        0.0,
        own,
        _FEWER_LANDMARKS,
        f"{_LANDMARK_STEPS} steps",
    )


def _kernel_map(model, n):
    m = _number(model.landmarks)
    if model.landmarks is None:
        need = _dense(n, n, "landmarks = None needs all eigenvectors")
        return replace(need, bytes=need.bytes + int(8 * _AXES * n * n))
    m = m if _is_given(model.landmarks) else min(m, n)
    return _over_landmarks(_rule(model), n, m, _ALL + 4, _SCATTER)


def _nystroem(model, n):
    given = not isinstance(model.landmarks, str)
    if given:
        refuse_container(model.landmarks, "landmarks")
    else:
        check_integer("n_components", model.n_components)
    m = count_points(model.landmarks) if given else min(int(model.n_components), n)
    held, values, flops = _selection("given" if given else model.landmarks, n, m)
    own = int(8 * (_ALL - 0.6) * m * m)
    reason = f"{m} landmarks span the features"
    return Need(
        "landmarks", max(own, held), reason, values + float(m) ** 2, flops, float(m) ** 3, own, _FEWER_LANDMARKS
    )


def _svm(model, n):
    landmarks = getattr(model, "landmarks", None)
    m, memory = _number(landmarks), parse_memory(model.memory)
    if m is not None and m < n or _is_given(landmarks):
        need = _over_landmarks(_rule(model), n, m, _ALL + 1, _EQUATIONS)
        coordinates = int(8 * m * (_COORDINATES * n + m))
        coordinates += min(coordinates, _SMALL_MEMORY)
        values = need.values + float(_PASSES) * n * m
        return replace(need, bytes=max(need.bytes, coordinates), matrices=None, values=values, cubes=float(m) ** 3)
    whole = 4 * n * n
    assumed = "half of the kernel rows; the data decide how many are needed, and whether less memory is"
    if whole <= memory:
        reason = f"all kernel values fit memory = {human_bytes(memory)}"
        wide = whole if n <= LARGEST and 2 * whole <= memory else 0
        return Need("stored", whole, reason, n * n / 2.0, assumed=assumed, wide=wide)
    reason = f"kernel values exceed memory = {human_bytes(memory)}"
    return Need("lazy", memory, reason, n * n / 2.0, assumed=assumed)


def _nu_svm(model, n):
    """Return the need of a machine whose coefficients have a given sum of sizes: its rows are computed on demand."""
    return replace(_svm(model, n), wide=0)


_NEEDS = {
    "KernelPCA": _kernel_pca,
    "KernelRidge": _ridge,
    "KernelFisher": _least_squares,
    "KernelMap": _kernel_map,
    "Nystroem": _nystroem,
    **dict.fromkeys(("SVC", "SVR", "OneClassSVM", "SVDD"), _svm),
    **dict.fromkeys(("NuSVC", "NuSVR"), _nu_svm),
}


def _dense(n, k, reason):
    """Return what k eigenpairs of a matrix of order n take."""
    cubes = (_REDUCED + (1 - _REDUCED) * k / n) * n**3
    return Need("dense", eigh.dense_bytes(n, k), reason, 2.0 * n * n, 0.0, cubes)


def _over_landmarks(rule, n, m, matrices, per_square, tiles=0):
    """Return what a model over m landmarks takes: the eigenproblems of two matrices of order m, and coordinates.

    ``per_square`` are the operations for n m^2.
    """
    held, values, flops = _selection(rule, n, m)
    own = int(8 * matrices * m * m)
    return Need(
        "landmarks",
        max(own + 8 * m * tiles * min(n, _ROWS), held),
        f"{m} landmarks span the solution",
        values + n * m,
        flops + per_square * n * m * m,
        2.0 * m**3,
        own,
        _FEWER_LANDMARKS,
    )


def _selection(rule, n, m):
    """Return bytes, kernel values and operations of the selection of m landmarks by a rule."""
    match rule:
        case "randomly_pivoted":
            # a factor, and values of a tenth of its columns at some points for each of a few threads
            return 8 * (n * m + min(n * m // 10, 4 * cholesky.VALUES)), float(n * m), 2.0 * n * m * m
        case "greedy" | "pivoted":
            # products with one vector wait for memory
            return 8 * n * m, float(n * m), 13.0 * n * m * m
        case "leverage":
            return 8 * _TILES * min(n, _SCORED) * m, 2.0 * n * m, 4.0 * n * m * m
        case "k_means":
            return 16 * n, 20.0 * n * m, 0.0
        case _:
            return 0, 0.0, 0.0


def _number(landmarks):
    """Return the number of landmarks, None for none."""
    if landmarks is None:
        return None
    if np.isscalar(landmarks):
        check_integer("landmarks", landmarks)
        return int(landmarks)
    refuse_container(landmarks, "landmarks")
    return count_points(landmarks)


def _rule(model):
    """Return the rule that selects the landmarks of an estimator, "given" where they are points."""
    return "given" if _is_given(model.landmarks) else model.rule


def _is_given(landmarks):
    return landmarks is not None and not np.isscalar(landmarks)
