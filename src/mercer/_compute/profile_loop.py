"""Compiled loops of formulas; those of a profile replace the scalars of a tile by profile values, in place."""

import functools

import numpy as np

from mercer._compute.compile import EXACT, compiled, dispatcher, fingerprint, specialised
from mercer._compute.intrinsics import address, wide
from mercer._compute.profile import compiling


def compile_profile(profile, order, kind, dtype, n_parameters):
    """Return the compiled loop that replaces scalars in columns of a block by profile values; kinds: see ``_loop``."""
    return _compiled_loop(profile, order, kind, dtype, n_parameters)[0]


def profile_address(profile, kind, dtype, n_parameters):
    """Return the address of such a loop, by which other compiled code calls it."""
    return _compiled_loop(profile, 0, kind, dtype, n_parameters)[1]


# an address is valid as long as its loop lives
@functools.cache
def _compiled_loop(profile, order, kind, dtype, n_parameters):
    loop = _loop(profile, order, kind, n_parameters)
    block = np.ones((1, 1), dtype)
    with compiling(profile):
        return loop, address(loop, block, block, block, 0, block[0])


def loops_of_formulas(make, flags=EXACT):
    """Decorate ``make(value, xp, *options)``, which returns a loop over values of a formula, to be compiled.

    The result takes the formula, whose last argument is ``order=0``, the order of its derivative, and the options.
    """

    @functools.lru_cache(maxsize=256)
    def loop_of(formula, order, *options):
        # imported here: it imports Numba
        from mercer._compute import fastmath

        # machine code is kept on disk if the formula uses only xp
        key = fingerprint(formula, order, make.__qualname__, *options, fastmath)
        # branches on parameters, as in powers, leave the loops
        loop = make(specialised(formula, order), fastmath, *options)
        return dispatcher(loop, flags, key, unswitched=True)

    return loop_of


@loops_of_formulas
def _loop(value, xp, kind, n_parameters):
    """Return the loop over a block, compiled at its first call.

    Kinds: "plain" takes scalars, "clamped" raises negative ones to 0, "direct" computes distances of padded rows.
    """
    # imported here: it imports Numba
    from numba.np.unsafe.ndarray import to_fixed_tuple

    if kind == "direct":
        return _direct_epilogue(value, xp, n_parameters, to_fixed_tuple)
    clamped = kind == "clamped"

    def epilogue(left, right, block, start, parameters):
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        for i in range(block.shape[0]):
            # counting from 0 shows the compiler that no index is negative
            row = block[i, start : start + right.shape[1]]
            for j in range(row.size):
                s = row[j]
                row[j] = value(xp, xp.maximum(s, xp.const(s, 0)) if clamped else s, *values)

    return epilogue


def _direct_epilogue(value, xp, n_parameters, to_fixed_tuple):
    def epilogue(left, right, block, start, parameters):
        wide()
        values = to_fixed_tuple(parameters, n_parameters)
        last = right.shape[0] - 4
        for i in range(block.shape[0]):
            x = left[i]
            row = block[i, start : start + right.shape[1]]
            for k in range(0, last, 4):
                for j in range(row.size):
                    s = _square(x, right, k, j)
                    row[j] = s if k == 0 else row[j] + s
            # the last four go into the profile at once: up to four coordinates need no second pass
            for j in range(row.size):
                s = _square(x, right, last, j)
                if last > 0:
                    s = s + row[j]
                row[j] = value(xp, s, *values)

    return epilogue


@functools.partial(compiled, flags=EXACT, inline=True)
def _square(x, Z, k, j):
    """Return the sum of (x_l - z_lj)^2 over four coordinates l from k on."""
    a = x[k] - Z[k, j]
    b = x[k + 1] - Z[k + 1, j]
    c = x[k + 2] - Z[k + 2, j]
    d = x[k + 3] - Z[k + 3, j]
    return a * a + b * b + c * c + d * d
