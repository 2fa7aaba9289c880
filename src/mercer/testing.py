"""Checks of the laws of kernels and expansions, for new kernels; a failed check names the law."""

import importlib.util
import pickle
import tempfile
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from mercer._common import as_float64
from mercer._compute import array, pick_backend
from mercer._compute.points import as_rows, count_points, dense, take_points
from mercer._compute.profile import evaluate_profile
from mercer._compute.tile import Tile
from mercer.expansion import Expansion, features
from mercer.formats import load, save
from mercer.gram import Gram
from mercer.kernels import Coordinatewise, Dot, Kernel, Mapped, Normalized, Product, Radial
from mercer.kernels.base import admit_pair, has_function, inner_kernels, require_kernel, with_params

_LIBRARIES = ("torch", "array_api_strict")


def check_kernel_implementation(kernel: Kernel, X: object = None) -> None:
    """Check that a kernel obeys the laws of kernels, so that all other functions work with it.

    The laws are: symmetry, to the last bit when both arguments are the same points; ``diag`` equal to the diagonal; no
    negative eigenvalue if ``tags`` promise it; ``vjp`` equal to central differences, also inside products and
    normalised kernels; float32 for float32; equal values from every backend, tiling, container and installed array
    library; equality, hash, pickle and clone by value; derivatives of a profile equal to differences of the order
    below; an error for bandwidth rules that are not resolved.

    Parameters
    ----------
    kernel : Kernel
        With its bandwidth resolved.
    X : points (n), optional
        From 6 to 100 distinct points that the kernel takes; rows should have coordinates of order 1. The default is 12
        rows with coordinates in (0, 1). Kernels on other points need X.

    Raises
    ------
    AssertionError
        With a sentence that names the law, the kernel and the number that broke it.
    ValueError
        When the kernel does not take rows and X is not given.
    TypeError
        When ``kernel`` is not a Kernel.

    Notes
    -----
    Costs several hundred blocks of n^2 values. Tolerances are 1e-10 in float64 and 1e-4 in float32, relative to the
    largest value, and 1e-6 for differences.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.testing import check_kernel_implementation
    >>> check_kernel_implementation(mc.Gaussian(0.5) * mc.Linear() + 1.0)
    """
    require_kernel(kernel)
    X = _default_points(kernel) if X is None else X
    for law in _KERNEL_LAWS:
        law(kernel, X)
    if kernel.tags.points == "rows":
        for law in _ROW_LAWS:
            law(kernel, as_rows(X, dtype=np.float64))


def check_expansion_laws(psi: Expansion, X: object = None) -> None:
    """Check that an expansion obeys the laws of a vector space with an inner product.

    The laws are: psi(x) = <phi(x), psi>; <psi C, chi> = C' <psi, chi> and its transpose; norms are those of the inner
    product, which obeys the Cauchy-Schwarz inequality; values of sums, differences, multiples and selected columns are
    those of the values; ``gradient`` equals central differences.

    Parameters
    ----------
    psi : Expansion
    X : points, optional
        Where vectors are evaluated; by default the first six points of psi.

    Raises
    ------
    AssertionError
        With a sentence that names the law, the kernel and the number that broke it.

    Notes
    -----
    Tolerances are 1e-10 (float64) or 1e-4 (float32), relative to the largest value or product of norms.

    Examples
    --------
    >>> import numpy as np, mercer as mc
    >>> from mercer.testing import check_expansion_laws
    >>> check_expansion_laws(mc.features(mc.Gaussian(1.0), np.eye(4)) @ np.ones((4, 2)))
    """
    X = take_points(psi.points, slice(0, min(6, psi.shape[0]))) if X is None else X
    for law in _EXPANSION_LAWS:
        law(psi, X)


def check_structured_estimator(estimator: object, X: Sequence[object], y: object = None) -> None:
    """Check that an estimator works with points that are objects: strings, sets, graphs, series or any others.

    The laws are: an error before ``fit``; ``fit`` changes no parameter, and a second fit changes no result; clone,
    pickle and, unless it holds functions, a model file give the same results; the order of new points does not matter,
    and each is treated alone; lists, object arrays and Series of pandas, if installed, are equal; cross-validation, if
    there are targets and a ``score``.

    Parameters
    ----------
    estimator : estimator of Mercer, with ``predict`` or ``transform``
    X : list of n objects
        At least 12.
    y : array (n,), optional
        Targets. Each class of a classifier needs at least 6 points.

    Raises
    ------
    AssertionError
        With a sentence that names the law, the estimator and what broke it.

    Examples
    --------
    >>> import mercer as mc
    >>> from mercer.testing import check_structured_estimator
    >>> words = ["aab", "aba", "baa", "aaa", "aaba", "abaa", "bbb", "bba", "babb", "bab", "abbb", "bbbb"]
    >>> check_structured_estimator(mc.SVC(kernel=mc.strings.Spectrum(1)), words, [0] * 6 + [1] * 6)
    """
    X = list(X)
    params = repr(estimator.get_params())
    model = clone(estimator)
    try:
        _require(False, "results before fit are an error", estimator, _results(model, X))
    except ValueError:
        expected = _results(model.fit(X, y), X)
    same = {
        "a second fit": model.fit(X, y),
        "an array": clone(model).fit(np.fromiter(X, object, len(X)), y),
    }
    if importlib.util.find_spec("pandas"):
        series = importlib.import_module("pandas").Series(X, range(7, 7 + len(X)), object)
        same["a Series"] = clone(model).fit(series, y)
    if not has_function(model.kernel_):
        same["a pickle"] = pickle.loads(pickle.dumps(model))
        with tempfile.TemporaryDirectory() as folder:
            save(model, f"{folder}/model")
            same["a model file"] = load(f"{folder}/model")
    for name, other in same.items():
        _equal(
            f"equality of the results of {name}, in any order",
            estimator,
            _results(other, X[::-1]),
            expected[::-1],
        )
    _equal(
        "equality of the results of points alone",
        estimator,
        _results(model, X[:1]),
        expected[:1],
        expected,
    )
    _require(repr(estimator.get_params()) == params, "fit keeps the parameters", estimator, params)
    if y is not None and hasattr(estimator, "score"):
        _require(
            np.isfinite(cross_val_score(estimator, X, y, cv=3)).all(),
            "finite scores",
            estimator,
            "NaN",
        )


def _results(model, X):
    return np.asarray(
        getattr(model, min({"decision_function", "predict", "transform"} & {*dir(model)}))(X)
    )


# --- laws of kernels -------------------------------------------------------------------------------------------------


def _symmetry(kernel, X):
    K = kernel(X)
    _require(bool((K == K.T).all()), "bitwise symmetry of k(X)", kernel, abs(K - K.T).max())
    half = count_points(X) // 2
    _equal(
        "symmetry k(x, z) = k(z, x)", kernel, kernel(X, take_points(X, slice(0, half))), K[:, :half]
    )


def _diagonal(kernel, X):
    K = kernel(X)
    _equal("diag(X) = diagonal of k(X)", kernel, kernel.diag(X), np.diagonal(K), K)


def _positive_semidefinite(kernel, X):
    if kernel.tags.positive_semidefinite:
        eigenvalues = np.linalg.eigvalsh(as_float64(kernel(X)))
        least = -_tolerance(kernel(X)) * max(1e-300, abs(eigenvalues).max())
        _require(eigenvalues[0] >= least, "no negative eigenvalue", kernel, eigenvalues[0])


def _backends(kernel, X):
    """The selected backend and the reference agree, and so do all tilings."""
    points = admit_pair(kernel, X, X)[0]
    selected = pick_backend(kernel, points)
    V = np.linspace(-1, 1, 3 * len(points)).reshape(len(points), 3)
    reference = array.dense(kernel, points, points)
    name = selected.__name__
    _equal(
        f"dense of {name} = reference", kernel, selected.dense(kernel, points, points), reference
    )
    product = reference @ V.astype(reference.dtype)
    for backend in (selected, array):
        _equal(
            f"matmul of {backend.__name__} = K @ V",
            kernel,
            backend.matmul(kernel, points, points, V),
            product,
        )
    tiles = [Tile(points.take(slice(i, i + 3)), points, i) for i in range(0, len(points), 3)]
    _equal(
        "tiles of 3 rows = one tile",
        kernel,
        np.concatenate([kernel.evaluate(tile) for tile in tiles]),
        reference,
    )
    _equal(
        "Gram[I, J] = block",
        kernel,
        Gram(kernel, X)[[1, 0], 2:5],
        reference[[1, 0], 2:5],
        reference,
    )
    if kernel.tags.differentiable and kernel.tags.points == "rows":
        W = np.sin(np.arange(len(points) ** 2)).reshape(reference.shape)
        _equal(
            f"vjp of {name} = reference",
            kernel,
            selected.vjp(kernel, points, points, W.__getitem__),
            array.vjp(kernel, points, points, W.__getitem__),
        )


def _value(kernel, X):
    twin = replace(kernel)
    _require(
        kernel == twin and hash(kernel) == hash(twin),
        "equality and hash by content",
        kernel,
        "a copy differs",
    )
    _require(kernel != kernel * 2.0, "inequality of different kernels", kernel, "k equals 2 k")
    params = kernel.get_params(deep=False)
    _require(type(kernel)(**params) == kernel, "k = type(k)(**get_params())", kernel, params)
    _require(
        with_params(kernel, params) == kernel, "k = with_params(k, get_params())", kernel, params
    )
    copies = {"clone": clone(kernel)}
    if not (has_function(kernel) or _is_local(kernel)):
        copies["pickle"] = pickle.loads(pickle.dumps(kernel))
        _require(
            all(copy == kernel for copy in copies.values()),
            "copies are equal",
            kernel,
            "a copy differs",
        )
    for name, copy in copies.items():
        _require(
            bool((copy(X) == kernel(X)).all()),
            f"{name} keeps the values",
            kernel,
            abs(copy(X) - kernel(X)).max(),
        )


def _refusal(kernel, X):
    """Evaluating a bandwidth rule is an error until it is resolved."""
    for name in kernel.rules:
        unresolved = replace(kernel, **{name: "scale"})
        try:
            unresolved(X)
        except ValueError as error:
            _require(
                "resolve" in str(error),
                "the error for an unresolved rule names resolve",
                kernel,
                error,
            )
        else:
            _require(
                False, "an unresolved rule is an error", kernel, f"{name}='scale' was evaluated"
            )
        number = getattr(unresolved.resolve(X), name)
        _require(
            isinstance(number, float) and number > 0,
            "rules resolve to positive numbers",
            kernel,
            number,
        )


# --- laws of kernels on rows of numbers ------------------------------------------------------------------------------


def _gradient(kernel, X):
    """Check that vjp equals central differences, also in a product, and through the diagonal in a normalised kernel."""
    if not kernel.tags.differentiable:
        return
    normalised = [Normalized(kernel)] if float(kernel.diag(X).min()) > 0 else []
    Z = X[1::2]
    X = X[::2]
    W = np.cos(np.arange(len(X) * len(Z))).reshape(len(X), len(Z))
    for member in [kernel, Product(kernel, kernel), *normalised]:
        G = member.vjp(X, Z, W)
        differences = _differences(lambda Y, k=member: (W * k(Y, Z)).sum(axis=1), X)
        _close("vjp = central differences", member, G, differences, abs(member(X, Z)).max())


def _values(kernel, X, xp=np):
    """Return what a kernel computes of rows, and of rows and the first 5 of these, by the name of the call."""
    Z = X[:5, :]
    V = xp.eye(X.shape[0], dtype=xp.float64)
    found = {
        "k(X)": kernel(X),
        "k(X, Z)": kernel(X, Z),
        "diag": kernel.diag(X),
        "Gram @ V": Gram(kernel, X) @ V,
        "Gram of X and Z @ V": Gram(kernel, X, Z) @ V[:5, :],
    }
    if kernel.tags.differentiable:
        found["vjp"] = kernel.vjp(X, Z, xp.ones((X.shape[0], 5), dtype=xp.float64))
    return found


def _single_precision(kernel, X):
    """float32 in gives float32 out, with the values of float64 up to rounding."""
    X32 = X.astype(np.float32)
    wide = _values(kernel, X32.astype(np.float64))
    for name, narrow in _values(kernel, X32).items():
        _require(
            narrow.dtype == np.float32, f"float32 in, float32 out, of {name}", kernel, narrow.dtype
        )
        law = f"{name} in float32 = in float64"
        _close(law, kernel, wide[name], as_float64(narrow), abs(wide["k(X)"]).max(), 1e-4)


def _sparse(kernel, X):
    if kernel.tags.sparse:
        S = sp.csr_array(X)
        Z = X[:5]
        _equal("sparse rows = dense rows", kernel, kernel(S), kernel(X))
        _equal("sparse and dense rows together", kernel, kernel(S, Z), kernel(X, Z))
        _equal("dense and sparse rows together", kernel, kernel(Z, S), kernel(Z, X))
        _equal("diag of sparse rows", kernel, kernel.diag(S), kernel.diag(X))


def _libraries(kernel, X):
    """Other array libraries give the values of NumPy, as their own arrays."""
    if has_function(kernel):
        return
    here = _values(kernel, X)
    for name in filter(importlib.util.find_spec, _LIBRARIES):
        xp = importlib.import_module(name)
        Y = xp.asarray(X)
        for what, there in _values(kernel, Y, xp).items():
            _require(type(there) is type(Y), f"{what} of {name} arrays is one", kernel, type(there))
            law = f"{what} of {name} = of NumPy"
            _equal(law, kernel, np.asarray(there), here[what], here["k(X)"])


def _profile(kernel, _):
    """Every order of a profile is the derivative of the order below, in the dtype of its argument."""
    if not isinstance(kernel, (Radial, Dot, Coordinatewise)):
        return
    s = np.linspace(0.2, 2.0, 25)
    h = 1e-4
    for order in range(1, 5):
        below, above = (evaluate_profile(kernel, t, order - 1) for t in (s - h, s + h))
        stated = evaluate_profile(kernel, s, order)
        law = f"profile of order {order} = slope of order {order - 1}"
        _close(law, kernel, stated, (above - below) / (2 * h), abs(below).max())
        found = evaluate_profile(kernel, s.astype(np.float32), order).dtype
        _require(found == np.float32, f"profile of order {order} keeps float32", kernel, found)


# --- laws of expansions ----------------------------------------------------------------------------------------------


def _evaluation(psi, X):
    _agree("psi(x) = <phi(x), psi>", psi, features(psi.kernel, X).inner(psi), psi(X))


def _adjoint(psi, X):
    C = _combinations(psi)
    chi = features(psi.kernel, X)
    _agree("<psi C, chi> = C' <psi, chi>", psi, (psi @ C).inner(chi), C.T @ psi.inner(chi))
    _agree("<psi, chi> = <chi, psi>'", psi, psi.inner(chi), chi.inner(psi).T)


def _linearity(psi, X):
    C = _combinations(psi)
    _agree("(psi C)(x) = psi(x) C", psi, (psi @ C)(X), psi(X) @ C)
    _agree("(3 psi)(x) = 3 psi(x)", psi, (psi * 3.0)(X), 3 * psi(X))
    _agree("(-psi / 2)(x) = -psi(x) / 2", psi, (-psi / 2.0)(X), -psi(X) / 2)


def _inner_product(psi, X):
    products = psi.inner(psi)
    norms = psi.norms()
    _agree("inner products are symmetric", psi, products, products.T)
    if psi.kernel.tags.positive_semidefinite:
        _agree("|psi|^2 = <psi, psi>", psi, norms**2, np.diagonal(products), products)
        excess = (abs(products) - norms[:, None] * norms[None, :]).max() / max(
            norms.max() ** 2, 1e-300
        )
        _require(excess < _tolerance(psi(X)), "the Cauchy-Schwarz inequality", psi.kernel, excess)


def _addition(psi, X):
    values = psi(X)
    _agree("(psi + psi)(x) = 2 psi(x)", psi, (psi + psi)(X), 2 * values)
    _agree("(psi - psi)(x) = 0", psi, (psi - psi)(X), 0 * values, values)
    n = count_points(X)
    chi = Expansion(psi.kernel, X, np.linspace(-1, 1, n).astype(values.dtype))
    _agree("(psi + chi)(x) = psi(x) + chi(x)", psi, (psi + chi)(X), values + chi(X))
    _agree("(chi - psi)(x) = chi(x) - psi(x)", psi, (chi - psi)(X), chi(X) - values)


def _columns(psi, X):
    values = psi(X)
    for index in (0, -1, [len(psi) - 1, 0], slice(0, 2)):
        expected = values[:, [index] if isinstance(index, int) else index]
        _agree(f"psi[:, {index}](x) = psi(x)[:, {index}]", psi, psi[:, index](X), expected, values)


def _slopes(psi, X):
    if psi.kernel.tags.differentiable and psi.kernel.tags.points == "rows":
        psi = Expansion(psi.kernel, as_rows(psi.points, dtype=np.float64), psi.coef)
        # move away from the points of psi, where a kernel may have a kink
        X = as_rows(X, dtype=np.float64)
        X = dense(X) + 0.01 * (1 + np.arange(X.shape[1]))
        _close(
            "gradient = central differences",
            psi.kernel,
            psi.gradient(X),
            _differences(psi, X),
            abs(psi(X)).max(),
        )


# --- shared ----------------------------------------------------------------------------------------------------------

_KERNEL_LAWS = (_symmetry, _diagonal, _positive_semidefinite, _backends, _value, _refusal)
_ROW_LAWS = (_gradient, _single_precision, _sparse, _libraries, _profile)
_EXPANSION_LAWS = (_evaluation, _adjoint, _linearity, _inner_product, _addition, _columns, _slopes)


def _require(holds, law, kernel, number):
    if not holds:
        raise AssertionError(f"{law} does not hold for {kernel!r}: {number}.")


def _close(law, kernel, stated, expected, scale, tolerance=1e-6):
    """Require equal arrays, relative to the largest stated value or the scale."""
    error = abs(stated - expected).max() / max(abs(stated).max(), scale, 1e-300)
    _require(error < tolerance, law, kernel, error)


def _equal(law, kernel, left, right, scale=None):
    """Require equal arrays up to the tolerance of their dtype, relative to the largest value."""
    size = max(float(abs(right if scale is None else scale).max()), 1e-300)
    error = float(abs(as_float64(left) - as_float64(right)).max()) / size
    _require(error < max(_tolerance(left), _tolerance(right)), law, kernel, error)


def _agree(law, psi, left, right, scale=None):
    """Require equal values of vectors, relative to the sizes of their terms, which may cancel."""
    coef = np.ones(1) if psi.coef is None else abs(psi.coef).sum(axis=0)
    size = float(max(coef.max(), 1) * max(abs(psi.kernel(psi.points)).max(), abs(right).max()))
    _equal(law, psi.kernel, left, right, np.append(right if scale is None else scale, size))


def _tolerance(values):
    return 1e-4 if "float32" in str(values.dtype) else 1e-10


def _combinations(psi):
    return (
        np.cos(np.arange(2 * len(psi)))
        .reshape(len(psi), 2)
        .astype(psi(take_points(psi.points, slice(0, 1))).dtype)
    )


def _differences(function, X):
    """Return central differences (n, ..., d) of a function of rows, one coordinate at a time."""
    h = 1e-5
    slopes = []
    for k in range(X.shape[1]):
        step = h * (np.arange(X.shape[1]) == k)
        slopes.append((function(X + step) - function(X - step)) / (2 * h))
    return np.moveaxis(np.array(slopes), 0, -1)


def _is_local(kernel):
    """Return whether the class of a kernel or an inner kernel is defined in a function, where pickle cannot find it."""
    return "<locals>" in type(kernel).__qualname__ or any(
        map(_is_local, inner_kernels(kernel).values())
    )


def _default_points(kernel):
    if kernel.tags.points == "indices":
        return np.arange(len(kernel.matrix))
    if kernel.tags.points != "rows":
        raise ValueError(
            f"{kernel!r} does not take rows of numbers; give points that it takes as X."
        )
    return np.random.default_rng(0).random((12, _n_features(kernel)))


def _n_features(kernel):
    """Return a number of features that the kernel takes: 3, unless a linear map inside needs another."""
    if isinstance(kernel, Mapped) and not callable(kernel.A):
        return (
            kernel.A.shape[-1]
            if kernel.A.dtype.kind == "f"
            else max(3, int(abs(kernel.A).max()) + 1)
        )
    if hasattr(kernel, "c") and isinstance(kernel.c, Expansion):
        return kernel.c.points.shape[1]
    return max([3, *(_n_features(part) for part in inner_kernels(kernel).values())])
