"""LAPACK and BLAS without Python's lock, so that other threads run meanwhile and Ctrl-C is heard."""

import ctypes
import functools
import operator
from collections.abc import Callable, Iterable

import numpy as np
from scipy.linalg import cython_blas, cython_lapack

from mercer._common import Array, MaybeNone
from mercer._compute.loops import mirror
from mercer._compute.threads import run_interruptible, threaded_blas

_ADDRESS = operator.attrgetter("ctypes.data")


def eigenvectors(K: Array, first: int, last: int) -> tuple[Array, Array]:
    """Return the eigenvalues ``first`` to ``last`` (from 0) of a symmetric float64 array, ascending, and vectors.

    The result is that of scipy.linalg.eigh(driver="evr"), which keeps the lock.
    """
    n = len(K)
    k = last - first + 1
    # LAPACK overwrites it; rows and columns of a symmetric array are the same
    A = np.array(K, np.float64, order="C")
    found = np.zeros(1, np.int32)
    values = np.empty(n)
    vectors = np.empty((k, n))
    support = np.empty(2 * max(k, 1), np.int32)
    unused = np.zeros(1)
    # for blocks of 32 columns, as LAPACK asks for
    work = np.empty(33 * n)
    iwork = np.empty(10 * n, np.int32)
    outputs = found, values, vectors, n, support, work, len(work), iwork, len(iwork)
    numbered = unused, unused, first + 1, last + 1, unused
    info = _checked("dsyevr", 2 * n**3, b"V", b"I", b"L", n, A, n, *numbered, *outputs)
    if info:
        raise np.linalg.LinAlgError(
            f"LAPACK's dsyevr failed for a matrix of order {n}, info = {info}."
        )
    return values[:k], vectors.T


def factorise(A: Array) -> None:
    """Overwrite a symmetric floating array in Fortran order with its lower Cholesky factor, or raise LinAlgError.

    Entries above the diagonal stay as they are.
    """
    info = _in_place("potrf", A, len(A) ** 3 / 3, b"L")
    if info:
        raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive definite.")


def factorise_shifted(A: Array, shifts: Iterable[float]) -> float | MaybeNone:
    """Overwrite a symmetric array as `factorise` does, plus the first of some multiples of I with which it is definite.

    Return that multiple; None, and the array as it was, if there is none.
    """
    diagonal = A.diagonal().copy()
    for shift in shifts:
        np.fill_diagonal(A, diagonal + shift)
        try:
            factorise(A)
        except np.linalg.LinAlgError:
            mirror(A.T, 0, len(A))
        else:
            return float(shift)
    np.fill_diagonal(A, diagonal)
    return None


def solve_lower(L: Array, B: Array) -> None:
    """Overwrite an array (n, s) with contiguous rows by L^-1 B, for L lower triangular in Fortran order."""
    if len(L) == 1:
        # the call would take longer
        B /= L
        return
    # in Fortran order the array is B', and B' L'^-1 is wanted
    shape = B.shape[1], len(L)
    stride = B.strides[0] // B.itemsize
    arrays = np.ones(1, L.dtype), L, len(L), B, stride
    _call(_of_type("trsm", L), 0, b"R", b"L", b"T", b"N", *shape, *arrays)


def clear_upper(A: Array) -> None:
    """Set the entries of an array in Fortran order above the diagonal to 0."""
    for j in range(1, len(A)):
        A[:j, j] = 0


def invert(L: Array) -> None:
    """Overwrite a lower triangular floating array in Fortran order, with diagonal entries above 0, with its inverse."""
    _in_place("trtri", L, len(L) ** 3 / 3, b"L", b"N")


def invert_factored(L: Array) -> None:
    """Overwrite a lower Cholesky factor in Fortran order with the inverse (L L')^-1; its upper triangle is not read."""
    _in_place("potri", L, 2 * len(L) ** 3 / 3, b"L")
    mirror(L, 0, len(L))


def _of_type(name, A):
    return ("s" if A.dtype == np.float32 else "d") + name


def _in_place(name, A, operations, *letters):
    """Call a function of LAPACK that overwrites a square array, and return its error number."""
    return _checked(_of_type(name, A), operations, *letters, len(A), A, len(A))


def _checked(name, operations, *arguments):
    """Call a function of LAPACK, where Ctrl-C is heard if it has many operations, and return its error number."""
    info = np.zeros(1, np.int32)
    run_interruptible(_call, name, operations, *arguments, info, operations=operations)
    return int(info[0])


def _call(name, operations, *arguments):
    """Call a function of LAPACK or BLAS with arrays, letters and whole numbers."""
    # which live until the end of the call
    arrays = [
        each
        if isinstance(each, np.ndarray)
        else np.frombuffer(each, np.uint8)
        if isinstance(each, bytes)
        else np.array([each], np.int32)
        for each in arguments
    ]
    with threaded_blas(operations):
        _published(name)(*map(_ADDRESS, arrays))


@functools.cache
def _published(name: str) -> Callable[..., None]:
    """Return a function that SciPy publishes for Cython; all arguments are addresses."""
    capsule = (cython_lapack.__pyx_capi__ | cython_blas.__pyx_capi__)[name]
    api = ctypes.pythonapi
    signature = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))(
        capsule
    )
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    return ctypes.CFUNCTYPE(None, *(ctypes.c_void_p,) * signature.count(b"*"))(
        pointer(capsule, signature)
    )
