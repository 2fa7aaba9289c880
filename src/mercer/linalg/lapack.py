"""LAPACK and BLAS without Python's lock, so that other threads run meanwhile and Ctrl-C is heard."""

import ctypes
import functools
import operator
from typing import Any

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from mercer._common import Array
from mercer._compute.loops import mirror
from mercer._compute.threads import threaded_blas

_ADDRESS = operator.attrgetter("ctypes.data")
# Arguments of LAPACK: a letter, and a whole number of 32 bits.
_text = functools.partial(np.frombuffer, dtype=np.uint8)
_whole = functools.partial(np.full, 1, dtype=np.int32)


def eigenvectors(K: Array, first: int, last: int) -> tuple[Array, Array]:
    """Return the eigenvalues ``first`` to ``last`` (from 0) of a symmetric float64 array, ascending, and vectors.

    The result is that of scipy.linalg.eigh(driver="evr"), which keeps the lock.
    """
    n, k = len(K), last - first + 1
    # LAPACK overwrites it; rows and columns of a symmetric array are the same
    A = np.array(K, np.float64, order="C")
    found, info = np.zeros(1, np.int32), np.zeros(1, np.int32)
    values, vectors, support = np.empty(n), np.empty((k, n)), np.empty(2 * max(k, 1), np.int32)
    texts = _text(b"V"), _text(b"I"), _text(b"L")
    order = _whole(n)
    wanted = _whole(first + 1), _whole(last + 1)
    zero, work, iwork = np.zeros(1), np.empty(1), np.empty(1, np.int32)
    with threaded_blas(2 * n**3):
        # the first call asks for the sizes of the workspace
        for asks in (True, False):
            lwork = _whole(-1 if asks else len(work))
            liwork = _whole(-1 if asks else len(iwork))
            arrays = (*texts, order, A, order, zero, zero, *wanted, zero, found, values,
                      vectors, order, support, work, lwork, iwork, liwork, info)  # fmt: skip
            _call("dsyevr", *arrays)
            if info[0]:
                raise np.linalg.LinAlgError(f"LAPACK's dsyevr failed for a matrix of order {n}, info = {info[0]}.")
            if asks:
                work, iwork = np.empty(int(work[0])), np.empty(int(iwork[0]), np.int32)
    return values[:k], vectors.T


def factorise(A: Array) -> None:
    """Overwrite a symmetric floating array in Fortran order with its lower Cholesky factor, or raise LinAlgError.

    Entries above the diagonal stay as they are.
    """
    n, info = np.array([len(A)], np.int32), np.zeros(1, np.int32)
    with threaded_blas(len(A) ** 3 / 3):
        _call(_of_type("potrf", A), np.frombuffer(b"L", np.uint8), n, A, n, info)
    if info[0]:
        raise np.linalg.LinAlgError(f"the leading minor of order {info[0]} is not positive definite.")


def solve_lower(L: Array, B: Array) -> None:
    """Overwrite an array (n, s) with contiguous rows by L^-1 B, for L lower triangular in Fortran order."""
    # in Fortran order the array is B', and B' L'^-1 is wanted
    texts = [np.frombuffer(letter, np.uint8) for letter in (b"R", b"L", b"T", b"N")]
    order, width, stride = (np.array([k], np.int32) for k in (len(L), B.shape[1], B.strides[0] // B.itemsize))
    _call(_of_type("trsm", L), *texts, width, order, np.ones(1, L.dtype), L, order, B, stride)


def clear_upper(A: Array) -> None:
    """Set the entries of an array in Fortran order above the diagonal to 0."""
    for j in range(1, len(A)):
        A[:j, j] = 0


def invert(L: Array) -> None:
    """Overwrite a lower triangular floating array in Fortran order, with diagonal entries above 0, with its inverse."""
    n, info = np.array([len(L)], np.int32), np.zeros(1, np.int32)
    texts = [np.frombuffer(letter, np.uint8) for letter in (b"L", b"N")]
    with threaded_blas(len(L) ** 3 / 3):
        _call(_of_type("trtri", L), *texts, n, L, n, info)


def invert_factored(L: Array) -> None:
    """Overwrite a lower Cholesky factor in Fortran order with the inverse (L L')^-1; its upper triangle is not read."""
    n, info = np.array([len(L)], np.int32), np.zeros(1, np.int32)
    with threaded_blas(2 * len(L) ** 3 / 3):
        _call(_of_type("potri", L), np.frombuffer(b"L", np.uint8), n, L, n, info)
    mirror(L, 0, len(L))


def _of_type(name, A):
    return ("s" if A.dtype == np.float32 else "d") + name


def _call(name, *arrays):
    """Call a function of LAPACK or BLAS with the addresses of arrays; integers have 32 bits."""
    _published(name)(*map(_ADDRESS, arrays))


@functools.cache
def _published(name: str) -> Any:
    """Return a function that SciPy publishes for Cython; all arguments are addresses."""
    capsule, api = (cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__)[name], ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))(capsule)
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(("PyCapsule_GetPointer", api))
    return ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * signature.count(b"*"))(pointer(capsule, signature))
