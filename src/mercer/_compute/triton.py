"""Backend for rows of PyTorch on a CUDA device: ``matmul`` as one Triton kernel that stores no kernel values.

A program multiplies the kernel values of some rows, tile after tile, so that equal calls give equal bits. For float32
rows tensor cores compute three products: with a = a1 + a2 and both parts in TF32, a b is a1 b1 + a1 b2 + a2 b1 up to
2^-21 |a b|. Sums over the d features are float32, sums over tiles of columns float64. Squared distances of centred rows
have errors of at most (4 d + 16) 2^-23 (|x|^2 + |z|^2), since tensor cores truncate sums; small distances are computed
from differences.
"""

import functools
import hashlib
import linecache
import logging

import torch
import triton
import triton.language as tl
from triton.errors import TritonError

from mercer._common import Array
from mercer._compute import array
from mercer._compute.costs import DEVICE_COLUMNS, PROGRAMS
from mercer._compute.distances import close_share
from mercer._compute.symbols import INFIX, PAIRS, folded, ordered, trace

__all__ = ["dense", "matmul", "vjp"]

dense = array.dense
vjp = array.vjp

_logger = logging.getLogger(__name__)
# Operations of symbols; other kernels take the tiles of ``array``.
_FORMS = INFIX | {
    "Max": "tl.maximum({}, {})",
    "Min": "tl.minimum({}, {})",
    "Abs": "tl.abs({})",
    "Exp": "tl.exp({})",
    "Log": "tl.log({})",
    "Sqrt": "tl.sqrt({})",
    "Tanh": "_tanh({})",
    "Where": "tl.where({}, {}, {})",
}


def matmul(kernel, X, Z, V, pieces=None) -> Array:
    """Return K(X, Z) @ V (n, p), or the products of q pieces (n, q p), see ``array.matmul``."""
    expression = None if kernel.explicit else _expression(kernel)
    try:
        product = None if expression is None else _pieces(expression, X, Z, V, pieces or [slice(0, len(Z))])
    except (RuntimeError, TritonError) as error:
        # no memory, no C compiler, a device without enough shared memory, ...
        _logger.info("products of %r take tiles, since its Triton kernel does not run: %s", kernel, error)
        product = None
    # tiles name what overflows
    if product is None or not bool(torch.isfinite(product).all()):
        return array.matmul(kernel, X, Z, V, pieces)
    return product


def _expression(kernel):
    """Return the expression of a kernel, or None unless it consists of distances, inner products and ``_FORMS``."""
    try:
        expression = trace(kernel)
    except TypeError:
        return None
    symbols = ordered(expression)
    known = {"constant", "dot", "sqdist", *_FORMS}
    supported = all(each.operation in known and not each.maps for each in symbols)
    return expression if supported and any(each.operation in PAIRS for each in symbols) else None


def _rows(inputs, X, Z):
    """Return the rows of X and Z for inner products, those for distances, and the squared norms of the latter."""
    pair = (X, Z)
    centre = Z.centre
    rows = [points.container.contiguous() for points in pair]
    if "sqdist" not in inputs:
        # arguments that the kernel does not read
        return rows * 3
    centred = [points.about(centre).contiguous() for points in pair]
    return [*rows, *centred, *(points.sqnorms(centre) for points in pair)]


def _pieces(expression, X, Z, V, pieces):
    """Return the products of pieces side by side (n, q p)."""
    inputs = {each.operation for each in ordered(expression)}
    rows = _rows(inputs, X, Z)
    V = V.to(X.dtype).contiguous()
    value, constants = _profile(expression)
    largest = torch.finfo(V.dtype).max
    constants = torch.tensor(constants, dtype=torch.float64, device=V.device).clamp(-largest, largest).to(V.dtype)
    options = {"VALUE": value, "DOT": "dot" in inputs, "RADIAL": "sqdist" in inputs, "SAME": X is Z}
    return torch.cat([_product(rows, V, constants, piece, options) for piece in pieces], dim=1)


def _profile(expression):
    """Return the compiled function of an expression, shared by kernels that differ in numbers only, and the numbers."""
    lines = []
    constants = []

    def written(each, operands):
        if each.operation in PAIRS:
            return each.operation
        if each.operation == "constant":
            constants.append(each.value)
            form = f"tl.load(constants + {len(constants) - 1})"
        else:
            form = _FORMS[each.operation].format(*operands)
        lines.append(f"    t{len(lines)} = {form}\n")
        return f"t{len(lines) - 1}"

    result = folded(expression, written)
    return _compiled(f"(dot, sqdist, constants):\n{''.join(lines)}    return {result}\n"), constants


@functools.cache
def _compiled(body):
    # old versions of Triton tell functions apart by their names alone
    name = f"profile_{hashlib.sha256(body.encode()).hexdigest()}"
    source = f"def {name}{body}"
    place = f"<{name}>"
    # Triton reads the source of a function
    linecache.cache[place] = len(source), None, source.splitlines(keepends=True), place
    defined = {"tl": tl, "_tanh": _tanh, "__name__": __name__}
    exec(compile(source, place, "exec"), defined)
    return triton.jit(defined[name])


def _product(rows, V, constants, piece, options):
    """Return K(X, Z[piece]) @ V[piece] (n, p)."""
    n, d = rows[0].shape
    p = V.shape[1]
    wide = V.dtype == torch.float64
    first, last, _ = piece.indices(len(V))
    # larger tiles do not fit into the registers
    tile = {"ROWS": 64 if wide else 128, "COLUMNS": 64, "FEATURES": 16}
    tile["WIDTH"] = 1 if p == 1 else max(16, min(DEVICE_COLUMNS, triton.next_power_of_2(p)))
    blocks = triton.cdiv(n, tile["ROWS"])
    parts = triton.cdiv(p, tile["WIDTH"])
    # few rows would leave most of the device idle, so columns are divided too; the order of the sums follows from sizes
    tiles = triton.cdiv(max(last - first, 1), tile["COLUMNS"])
    step = triton.cdiv(tiles, min(triton.cdiv(tiles, 8), triton.cdiv(PROGRAMS, blocks * max(parts, 1))))
    step *= tile["COLUMNS"]
    segments = triton.cdiv(last - first, step)
    sums = torch.empty((segments, n, p), dtype=torch.float64, device=V.device)
    with torch.cuda.device_of(V):
        _multiply[blocks, segments, parts](
            sums, *rows, V, constants, n, d, p, first, last, step, **options, **tile, TF32=not wide,
            CLOSE=close_share(torch.finfo(V.dtype)), num_warps=8, num_stages=2, enable_fp_fusion=True,
        )  # fmt: skip
    return sums.sum(0).to(V.dtype)


# --- the kernel -------------------------------------------------------------------------------------------------------


@triton.jit(do_not_specialize=["n", "first", "last", "step"])
def _multiply(
    sums, dot_x, dot_z, x, z, x_norms, z_norms, v, constants, n, d, p, first, last, step,
    VALUE: tl.constexpr, DOT: tl.constexpr, RADIAL: tl.constexpr, SAME: tl.constexpr, TF32: tl.constexpr,
    CLOSE: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr, FEATURES: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Write K @ V of ROWS rows, one segment of columns and WIDTH columns of V to ``sums``."""
    i = tl.program_id(0).to(tl.int64) * ROWS + tl.arange(0, ROWS)
    q = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    start = first + tl.program_id(1) * step
    last = tl.minimum(start + step, last)
    total = tl.zeros((ROWS, WIDTH), tl.float64)
    for column in range(start, last, COLUMNS):
        j = column + tl.arange(0, COLUMNS).to(tl.int64)
        dot = _products(dot_x, dot_z, i, j, n, last, d, TF32, FEATURES) if DOT else 0.0
        sqdist = 0.0
        if RADIAL:
            sizes = tl.load(x_norms + i, i < n, 0.0)[:, None] + tl.load(z_norms + j, j < last, 0.0)[None, :]
            products = _products(x, z, i, j, n, last, d, TF32, FEATURES)
            # rows minus a centre may have fewer digits
            sqdist = _distances(products, sizes, dot_x, dot_z, i, j, n, last, d, SAME, CLOSE)
        values = tl.where((j < last)[None, :], VALUE(dot, sqdist, constants), 0.0)
        weights = tl.load(v + j[:, None] * p + q[None, :], (j < last)[:, None] & (q < p)[None, :], 0.0)
        if WIDTH == 1:
            part = tl.sum(values * tl.trans(weights), axis=1)[:, None]
        else:
            part = _add_product(tl.zeros((ROWS, WIDTH), values.dtype), values, weights, TF32)
        total += part.to(tl.float64)
    at = (tl.program_id(1).to(tl.int64) * n + i)[:, None] * p + q[None, :]
    tl.store(sums + at, total, (i < n)[:, None] & (q < p)[None, :])


@triton.jit
def _products(x, z, i, j, n, last, d, TF32: tl.constexpr, FEATURES: tl.constexpr):
    """Return the inner products of rows i of x and j of z."""
    total = tl.zeros((i.shape[0], j.shape[0]), x.dtype.element_ty)
    for start in range(0, d, FEATURES):
        k = start + tl.arange(0, FEATURES)
        a = tl.load(x + i[:, None] * d + k[None, :], (i < n)[:, None] & (k < d)[None, :], 0.0)
        b = tl.load(z + j[None, :] * d + k[:, None], (j < last)[None, :] & (k < d)[:, None], 0.0)
        total = _add_product(total, a, b, TF32)
    return total


@triton.jit
def _distances(products, sizes, x, z, i, j, n, last, d, SAME: tl.constexpr, CLOSE: tl.constexpr):
    """Return squared distances, of nearly equal points from differences, see ``Tile.sqdist``."""
    s = tl.maximum(sizes - 2 * products, 0.0)
    close = s < CLOSE * sizes
    if SAME:
        own = i[:, None] == j[None, :]
        s = tl.where(own, 0.0, s)
        close = close & (own == 0)
    if tl.max(close.to(tl.int32)) > 0:
        exact = tl.zeros_like(s)
        for k in range(d):
            a = tl.load(x + i * d + k, i < n, 0.0)
            b = tl.load(z + j * d + k, j < last, 0.0)
            exact += (a[:, None] - b[None, :]) * (a[:, None] - b[None, :])
        s = tl.where(close, exact, s)
    return s


@triton.jit
def _add_product(total, a, b, TF32: tl.constexpr):
    """Return total + a b, for float32 from three products in TF32."""
    if TF32:
        a1 = _rounded(a)
        b1 = _rounded(b)
        total = tl.dot(_rounded(a - a1), b1, total, input_precision="tf32")
        total = tl.dot(a1, _rounded(b - b1), total, input_precision="tf32")
        total = tl.dot(a1, b1, total, input_precision="tf32")
    else:
        total = tl.dot(a, b, total, input_precision="ieee", out_dtype=tl.float64)
    return total


@triton.jit
def _rounded(a):
    """Return float32 numbers rounded to TF32, 11 significant bits."""
    return ((a.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(tl.float32, bitcast=True)


@triton.jit
def _tanh(a):
    """Return tanh a, near 0 by its continued fraction, where the sigmoid function loses digits."""
    square = a * a
    near = a / (1 + square / (3 + square / (5 + square / (7 + square / 9))))
    return tl.where(square < 0.01, near, 2 * tl.sigmoid(2 * a) - 1)
