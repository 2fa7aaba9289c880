"""Backend for rows of PyTorch on a CUDA device: ``matmul`` as Triton kernels that store no kernel values.

A program multiplies the kernel values of some rows, tile after tile, in a fixed order, so that equal calls give equal
bits. Float32 rows are split once into two parts of half precision, x = u (x1 + x2) with a power of two u, and tensor
cores compute x z = u_x u_z (x1 z1 + x1 z2 + x2 z1) up to 2^-21 |x| |z|. Up to three features need no tensor cores:
differences and products are those of the rows as given. Sums over features are float32, and so are sums over a chunk of
a few tiles; those of chunks are float64. Squared distances of centred rows have errors of at most
(4 d + 16) 2^-23 (|x|^2 + |z|^2), since tensor cores truncate sums. Chunks of columns where small ones occur are left
out and computed in a second launch, from differences. The rows are in the order of their norms, so that points which
lie together, and each point and itself, are in few chunks.
"""

import functools
import hashlib
import linecache
import logging
import math
from dataclasses import replace
from typing import Any

import torch
import triton
import triton.language as tl
from triton.errors import TritonError

from mercer._common import Array, record
from mercer._compute import array
from mercer._compute.costs import DEVICE_COLUMNS, FEW_FEATURES, PROGRAMS, device_tile
from mercer._compute.distances import CLOSE_SHARES
from mercer._compute.points import Points
from mercer._compute.symbols import INFIX, PAIRS, Symbol, as_symbol, folded, ordered, trace

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
    "Exp2": "tl.exp2({})",
    "Log": "tl.log({})",
    "Sqrt": "tl.sqrt({})",
    "Tanh": "_tanh({})",
    "Where": "tl.where({}, {}, {})",
}
# Rows are padded to a multiple of it, that of all tiles.
_PADDING = 256
# Exponent of the largest number of a row in half precision, whose numbers are below 2^16.
_EXPONENT = 14
# Numbers up to which rows are 0: their squares are.
_LEAST = 2.0**-100
# Ratio of numbers in half precision to the largest above which both parts have all their bits.
_RANGE = 2.0**16


def matmul(kernel, X, Z, V, pieces=None) -> Array:
    """Return K(X, Z) @ V (n, p), or the products of q pieces (n, q p), see ``array.matmul``."""
    expression = None if kernel.explicit or V.shape[1] > DEVICE_COLUMNS else _expression(kernel)
    try:
        product = (
            None
            if expression is None
            else _pieces(_form(kernel, expression, X.dtype), X, Z, V, pieces)
        )
    except (RuntimeError, TritonError) as error:
        # no memory, no C compiler, a device without enough shared memory, ...
        _logger.info(
            "products of %r take tiles, since its Triton kernel does not run: %s", kernel, error
        )
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


# --- formulas ---------------------------------------------------------------------------------------------------------


@record
class _Form:
    """A kernel as a compiled function of inner products (``dot``) or squared distances (``radial``) and its numbers."""

    kernel: Any
    value: Any
    constants: list[float]
    dot: bool
    radial: bool

    def is_steep(self, error, eps):
        """Return whether an error of small squared distances moves kernel values by more than rounding does."""
        if self.dot or not self.radial:
            return self.radial
        points = Points(torch.tensor([[0.0], [error**0.5]], dtype=torch.float64))
        own, moved = array.dense(self.kernel, points, points)[0].tolist()
        return not abs(moved - own) <= eps * abs(own)


def _form(kernel, expression, dtype):
    inputs = {each.operation for each in ordered(expression)}
    if dtype == torch.float32:
        # a multiplication less than exp, and no scaling of subnormal numbers
        expression = folded(expression, _in_powers_of_two)
    return _Form(kernel, *_profile(expression), "dot" in inputs, "sqdist" in inputs)


def _in_powers_of_two(each, operands):
    """Return a symbol with exp(a) as 2^(a log2 e), the factor in the constant of a where it has one."""
    if each.operation != "Exp":
        return replace(each, operands=tuple(operands))
    exponent = operands[0]
    factor = math.log2(math.e)
    if exponent.operation == "Mul" and exponent.operands[0].operation == "constant":
        first, exponent = exponent.operands
        factor *= first.value
    return Symbol("Exp2", (as_symbol(factor) * exponent,))


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


# --- rows -------------------------------------------------------------------------------------------------------------


class _Rows:
    """The n rows of points in the order of their norms about a centre, padded by copies of the last one to N rows.

    A formula sees no points but the given ones, and no program needs a mask. Without a centre the order is that of the
    points.
    """

    def __init__(self, points, centre):
        self._given = points.container
        self._centred = points.about(centre)
        self._centre = centre
        self.shape = tuple(self._given.shape)
        n = self.shape[0]
        norms = torch.zeros_like(self._given[:, 0]) if centre is None else points.sqnorms(centre)
        self.order = torch.argsort(norms, stable=True)
        self._padded = torch.cat([self.order, self.order[-1:].expand(-n % _PADDING)])
        self.norms = norms[self._padded]

    def __len__(self):
        return len(self._padded)

    @functools.cached_property
    def largest(self):
        """The largest squared norm."""
        return float(self.norms[-1])

    @functools.cached_property
    def columns(self):
        """The features as given (d, N): neighbouring threads read neighbours."""
        return self._given[self._padded].T.contiguous()

    @functools.cached_property
    def shifts(self):
        """<x, c> - |c|^2 / 2 (N,), so that <x, z> is <x - c, z - c> and the sum of two."""
        c = self._centre
        return (self._given.double() @ c - c @ c / 2).to(self.norms.dtype)[self._padded]

    @functools.cached_property
    def width(self):
        """The number of features with zeros that fill the last step of a tile."""
        d = self.shape[1]
        step = min(64, max(16, triton.next_power_of_2(d)))
        return triton.cdiv(d, step) * step

    @functools.cached_property
    def parts(self):
        """Two parts (N, width) of the rows minus the centre, their unit (N,), and whether units differ.

        Of float64 rows the first is all.
        """
        rows = torch.nn.functional.pad(self._centred[self._padded], (0, self.width - self.shape[1]))
        if rows.dtype == torch.float64:
            return rows, rows, torch.ones_like(self.norms), False
        # the power of two of the largest number, from its bits
        largest = rows.abs().amax(1).clamp(min=_LEAST)
        powers = (largest.view(torch.int32) & 0x7F800000).view(torch.float32)
        differ = bool(
            powers.amax() > _RANGE * torch.where(largest > _LEAST, powers, torch.inf).amin()
        )
        units = (powers if differ else powers.amax().expand(len(rows))) * 2.0**-_EXPONENT
        rows = rows / units[:, None]
        first = rows.half()
        return first, (rows - first.float()).half(), units.contiguous(), differ


def _rows(points, centre):
    """Return the rows of points about a centre, prepared once."""
    # those of its norms hold the centre, so that its id is not reused
    return points.memo(("in order", id(centre)), lambda: _Rows(points, centre))


# --- products ---------------------------------------------------------------------------------------------------------


def _pieces(form, X, Z, V, pieces):
    """Return K(X, Z) @ V, or the products of pieces side by side (n, q p)."""
    centre = Z.centre if form.radial else None
    V = V.to(X.dtype)
    rows = _rows(X, centre)
    if pieces is None:
        return _product(form, rows, _rows(Z, centre), V)
    products = []
    for piece in pieces:
        part = V[piece]
        if len(part):
            own = Z.memo(("piece", *piece.indices(len(Z))), lambda piece=piece: Z.take(piece))
            products.append(_product(form, rows, _rows(own, centre), part))
        else:
            products.append(X.full((len(X), V.shape[1]), 0.0))
    return torch.cat(products, dim=1)


def _product(form, X, Z, V):
    """Return K(X, Z) @ V (n, p)."""
    n, d = X.shape
    p = V.shape[1]
    tile = device_tile(d, p, V.dtype == torch.float64, _capability(V.device))
    width = min(tile.width, triton.next_power_of_2(max(p, 1)))
    if width > 1 and not tile.few:
        # tensor cores multiply 16 columns at least, of float32 the two parts of 8
        width = max(width, 16 if V.dtype == torch.float64 else 8)
    columns = triton.cdiv(max(p, 1), width) * width
    blocks = len(X) // tile.rows
    # few rows would leave most of the device idle, so columns are divided too; the order of the sums follows from sizes
    chunks = triton.cdiv(len(Z), tile.chunk)
    step = triton.cdiv(chunks, triton.cdiv(PROGRAMS, blocks * (columns // width))) * tile.chunk
    grid = blocks, triton.cdiv(len(Z), step), columns // width
    largest = torch.finfo(V.dtype).max
    constants = torch.tensor(form.constants, dtype=torch.float64, device=V.device).clamp(
        -largest, largest
    )
    V = torch.nn.functional.pad(V[Z.order], (0, columns - p, 0, len(Z) - len(V)))
    sums = torch.empty((grid[1], len(X), columns), dtype=torch.float64, device=V.device)
    call = _Call(form, X, Z, V, constants.to(V.dtype), sums, tile, step, width)
    with torch.cuda.device_of(V):
        (_launch_few if tile.few else _launch_many)(call, grid)
    total = sums.sum(0)[:n, :p].to(V.dtype)
    return torch.empty_like(total).index_copy_(0, X.order, total)


@record
class _Call:
    """A product K(X, Z) @ V: padded coefficients, sums of segments of ``step`` columns, ``width`` columns of V each."""

    form: _Form
    X: _Rows
    Z: _Rows
    V: torch.Tensor
    constants: torch.Tensor
    sums: torch.Tensor
    tile: Any
    step: int
    width: int

    @property
    def close(self):
        """The share of norms below which squared distances are computed from differences, 0 where none need be."""
        d = self.X.shape[1]
        finfo = torch.finfo(self.V.dtype)
        error = (4 * d + 16) * finfo.eps * (self.X.largest + self.Z.largest)
        return (
            CLOSE_SHARES[finfo.bits]
            if d > FEW_FEATURES and self.form.is_steep(error, finfo.eps)
            else 0.0
        )

    @property
    def weights(self):
        """V, of float32 numbers its two parts side by side, so that one product takes both."""
        if self.V.dtype == torch.float64 or self.width == 1:
            return self.V
        first = _as_tf32(self.V)
        return torch.stack((first, _as_tf32(self.V - first)), dim=2).flatten(1)


def _as_tf32(a):
    """Return float32 numbers rounded to TF32, 11 significant bits."""
    return ((a.view(torch.int32) + 0x1000) & -0x2000).view(torch.float32)


@functools.cache
def _capability(device):
    """Return the compute capability of a device, in Triton's interpreter that for which the tiles were measured."""
    return torch.cuda.get_device_capability(device)[0] if device.type == "cuda" else 9


def _launch_few(call, grid):
    tile = call.tile
    _multiply_few[grid[:2]](
        call.sums, call.X.columns, call.Z.columns, call.V, call.constants, len(call.X), len(call.Z), call.step,
        VALUE=call.form.value, D=call.X.shape[1], P=call.width, ROWS=tile.rows, COLUMNS=tile.columns, FLUSH=tile.flush,
        num_warps=tile.warps, num_stages=tile.stages, enable_fp_fusion=True,
    )  # fmt: skip


def _launch_many(call, grid):
    form = call.form
    tile = call.tile
    X = call.X
    Z = call.Z
    d = X.shape[1]
    x1, x2, x_units, x_differ = X.parts
    z1, z2, z_units, z_differ = Z.parts
    close = call.close
    marks = torch.empty(
        (grid[0], triton.cdiv(len(Z), tile.chunk)), dtype=torch.int8, device=call.V.device
    )
    features = min(tile.features, X.width)
    for again in (False, True) if close else (False,):
        _multiply_many[grid](
            call.sums, marks, x1, x2, z1, z2, x_units, z_units, X.norms, Z.norms,
            X.shifts if form.dot and form.radial else X.norms, Z.shifts if form.dot and form.radial else Z.norms,
            X.columns, Z.columns, call.weights, call.constants, len(X), len(Z), call.sums.shape[2], d, X.width,
            call.step, VALUE=form.value, DOT=form.dot, RADIAL=form.radial, DIFFER=x_differ or z_differ, AGAIN=again,
            CLOSE=close, D=d if d <= FEW_FEATURES else triton.cdiv(d, features) * features, FEATURES=features,
            ROWS=tile.rows, COLUMNS=tile.columns, WIDTH=call.width, FLUSH=tile.flush,
            STAGES=1 if again else tile.stages, num_warps=tile.warps, enable_fp_fusion=True,
        )  # fmt: skip


# --- kernels ----------------------------------------------------------------------------------------------------------


@triton.jit
def _multiply_few(
    sums, x, z, v, constants, n, m, step, VALUE: tl.constexpr, D: tl.constexpr, P: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, FLUSH: tl.constexpr,
):  # fmt: skip
    """Write K @ V of ROWS rows and one segment of columns to ``sums``, for features x (D, n), z (D, m) and v (m, P)."""
    i = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    if P > 1:
        # otherwise a thread would load neighbours, and have other rows of the sums: values would be exchanged
        i = tl.max_contiguous(i, 1)
    q = tl.arange(0, P)
    first = tl.program_id(1) * step
    last = tl.minimum(first + step, m)
    x0 = tl.load(x + i)
    x1 = tl.load(x + n + i) if D > 1 else x0
    x2 = tl.load(x + 2 * n + i) if D > 2 else x0
    total = tl.zeros((P, ROWS), tl.float64)
    for chunk in range(first, last, FLUSH * COLUMNS):
        end = tl.minimum(chunk + FLUSH * COLUMNS, last)
        if P == 1:
            part = tl.zeros((ROWS, COLUMNS), x.dtype.element_ty)
            for start in range(chunk, end, COLUMNS):
                j = start + tl.arange(0, COLUMNS)
                values = _of_few(
                    x0[:, None], x1[:, None], x2[:, None], (z + j)[None, :], m, constants, VALUE, D
                )
                part += values * tl.load(v + j)[None, :]
            total += tl.sum(part, axis=1)[None, :].to(tl.float64)
        else:
            # a thread has some rows, and the sums of all columns of V for them
            part = tl.zeros((P, ROWS), x.dtype.element_ty)
            for start in range(chunk, end, COLUMNS):
                for column in tl.static_range(COLUMNS):
                    values = _of_few(x0, x1, x2, z + start + column, m, constants, VALUE, D)
                    part += tl.load(v + (start + column) * P + q)[:, None] * values[None, :]
            total += part.to(tl.float64)
    sums += (tl.program_id(1).to(tl.int64) * n + i[None, :]) * P + q[:, None]
    tl.store(sums, total)


@triton.jit
def _of_few(x0, x1, x2, z, m, constants, VALUE: tl.constexpr, D: tl.constexpr):
    """Return kernel values of up to three features of rows, and of those at ``z``."""
    z0 = tl.load(z)
    dot = x0 * z0
    sqdist = (x0 - z0) * (x0 - z0)
    if D > 1:
        z1 = tl.load(z + m)
        dot += x1 * z1
        sqdist += (x1 - z1) * (x1 - z1)
    if D > 2:
        z2 = tl.load(z + 2 * m)
        dot += x2 * z2
        sqdist += (x2 - z2) * (x2 - z2)
    return VALUE(dot, sqdist, constants)


@triton.jit
def _multiply_many(
    sums, marks, x1, x2, z1, z2, x_units, z_units, x_norms, z_norms, x_shifts, z_shifts, x, z, v, constants, n, m, p, d,
    stride, step, VALUE: tl.constexpr, DOT: tl.constexpr, RADIAL: tl.constexpr, DIFFER: tl.constexpr,
    AGAIN: tl.constexpr, CLOSE: tl.constexpr, D: tl.constexpr, FEATURES: tl.constexpr, ROWS: tl.constexpr,
    COLUMNS: tl.constexpr, WIDTH: tl.constexpr, FLUSH: tl.constexpr, STAGES: tl.constexpr,
):  # fmt: skip
    """Write K @ V of ROWS rows, one segment of columns and WIDTH columns of V to ``sums``.

    If CLOSE > 0, chunks of columns with close pairs are left out and marked; AGAIN adds these, with close pairs from
    differences. Rows (n, stride) and (m, stride) are in two parts; x (d, n) and z (d, m) are as given.
    """
    dtype: tl.constexpr = x.dtype.element_ty
    row = tl.program_id(0) * ROWS
    i = row + tl.arange(0, ROWS)
    j = tl.arange(0, COLUMNS)
    k = tl.arange(0, FEATURES)
    first = tl.program_id(1) * step
    last = tl.minimum(first + step, m)
    CHUNK: tl.constexpr = COLUMNS * FLUSH
    marks += tl.program_id(0) * ((m + CHUNK - 1) // CHUNK)
    x1 += row.to(tl.int64) * stride
    x2 += row.to(tl.int64) * stride
    here = tl.arange(0, ROWS)[:, None] * stride + k[None, :]
    there = j[:, None] * stride + k[None, :]
    x_sizes = tl.load(x_norms + i)
    x_scale = tl.load(x_units + i)[:, None] if DIFFER else tl.load(x_units)
    if D == FEATURES:
        # few enough: the rows stay in shared memory
        a1 = tl.load(x1 + here)
        a2 = tl.load(x2 + here)
    # of float32, products with both parts of V, which alternate
    PARTS: tl.constexpr = WIDTH if WIDTH == 1 or dtype == tl.float64 else 2 * WIDTH
    v += tl.program_id(2) * PARTS
    total = tl.zeros((ROWS, WIDTH), tl.float64)
    part = tl.zeros((ROWS, PARTS), dtype)
    nearest = tl.zeros((ROWS,), dtype) + float("inf")
    for start in tl.range(first, last, COLUMNS, num_stages=STAGES if D <= FEATURES else 1):
        if (tl.load(marks + start // CHUNK) != 0) | (not AGAIN):
            acc = tl.zeros((ROWS, COLUMNS), dtype)
            dot = acc
            sqdist = acc
            if D <= 3:
                for feature in tl.static_range(D):
                    a = tl.load(x + feature * n + i)[:, None]
                    b = tl.load(z + feature * m + start + j)[None, :]
                    dot += a * b
                    sqdist += (a - b) * (a - b)
            else:
                at = start * stride.to(tl.int64)
                if D == FEATURES:
                    acc = _add_products(a1, a2, z1 + at + there, z2 + at + there, acc)
                else:
                    for feature in tl.range(0, D, FEATURES, num_stages=STAGES):
                        b1 = tl.load(x1 + here + feature)
                        b2 = tl.load(x2 + here + feature)
                        acc = _add_products(
                            b1, b2, z1 + at + there + feature, z2 + at + there + feature, acc
                        )
                scale = x_scale * (
                    tl.load(z_units + start + j)[None, :] if DIFFER else tl.load(z_units)
                )
                dot = acc * scale
                if RADIAL:
                    z_sizes = tl.load(z_norms + start + j)
                    sqdist = tl.maximum(
                        (x_sizes[:, None] + z_sizes[None, :]) - (2 * scale) * acc, 0.0
                    )
                    if DOT:
                        dot += (
                            tl.load(x_shifts + i)[:, None] + tl.load(z_shifts + start + j)[None, :]
                        )
                    if AGAIN:
                        close = sqdist < CLOSE * (x_sizes[:, None] + z_sizes[None, :])
                        sqdist = tl.where(
                            close, _differences(sqdist, x + i, z + start + j, n, m, d), sqdist
                        )
                    elif CLOSE > 0:
                        # norms are in order
                        top = tl.load(z_norms + start + (COLUMNS - 1))
                        nearest = tl.minimum(
                            nearest, tl.min(sqdist, axis=1) - CLOSE * (x_sizes + top)
                        )
            part = _add_values(part, VALUE(dot, sqdist, constants), v, start + j, p, WIDTH)
        if ((start + COLUMNS) % CHUNK == 0) | (start + COLUMNS >= last):
            if CLOSE > 0 and not AGAIN:
                found = tl.min(nearest, axis=0) < 0
                tl.store(marks + start // CHUNK, found.to(tl.int8))
                part = tl.where(found, 0.0, part)
                nearest = tl.zeros((ROWS,), dtype) + float("inf")
            if PARTS > WIDTH:
                total += tl.sum(tl.reshape(part, (ROWS, WIDTH, 2)), axis=2).to(tl.float64)
            else:
                total += part.to(tl.float64)
            part = tl.zeros((ROWS, PARTS), dtype)
    q = tl.program_id(2) * WIDTH + tl.arange(0, WIDTH)
    sums += (tl.program_id(1).to(tl.int64) * n + i[:, None]) * p + q[None, :]
    if AGAIN:
        total += tl.load(sums)
    tl.store(sums, total)


@triton.jit
def _add_products(a1, a2, b1, b2, total):
    """Return total + a b' for a of two parts and b at two addresses, the smaller products first."""
    first = tl.trans(tl.load(b1))
    if a1.dtype == tl.float64:
        total = tl.dot(a1, first, total, input_precision="ieee", out_dtype=tl.float64)
    else:
        total = tl.dot(a2, first, total)
        total = tl.dot(a1, tl.trans(tl.load(b2)), total)
        total = tl.dot(a1, first, total)
    return total


@triton.jit
def _differences(like, x, z, n, m, d):
    """Return squared distances of columns (d, n) and (d, m) from differences, in the shape of others."""
    total = tl.zeros_like(like)
    for _ in range(d):
        difference = tl.load(x)[:, None] - tl.load(z)[None, :]
        total += difference * difference
        x += n
        z += m
    return total


@triton.jit
def _add_values(part, values, v, j, p, WIDTH: tl.constexpr):
    """Return the sums with products of kernel values and rows j of V, of float32 numbers those with both parts of V."""
    PARTS: tl.constexpr = part.shape[1]
    if WIDTH == 1:
        part += tl.sum(values * tl.load(v + j)[None, :], axis=1)[:, None]
    else:
        weights = tl.load(v + j[:, None] * (p * (PARTS // WIDTH)) + tl.arange(0, PARTS)[None, :])
        if values.dtype == tl.float64:
            part = tl.dot(values, weights, part, input_precision="ieee", out_dtype=tl.float64)
        else:
            # tensor cores ignore the digits of the second part after its 11th
            large = ((values.to(tl.int32, bitcast=True) + 0x1000) & -0x2000).to(
                tl.float32, bitcast=True
            )
            part = tl.dot(values - large, weights, part, input_precision="tf32")
            part = tl.dot(large, weights, part, input_precision="tf32")
    return part


@triton.jit
def _tanh(a):
    """Return tanh a, near 0 by its continued fraction, where the sigmoid function loses digits."""
    square = a * a
    near = a / (1 + square / (3 + square / (5 + square / (7 + square / 9))))
    return tl.where(square < 0.01, near, 2 * tl.sigmoid(2 * a) - 1)
