"""Arrays of other libraries: their place, copies in the main memory and back, and blocks of kernel values on a device.

Solvers use NumPy arrays. Within ``computing_on(place)`` the blocks of kernel values that they ask for are evaluated on
the device of the place, and their products with coefficients too.
"""

from __future__ import annotations

import functools
import importlib.util
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from contextvars import ContextVar
from dataclasses import is_dataclass
from types import ModuleType
from typing import Any, ParamSpec, TypeVar

import array_api_compat
import numpy as np

from mercer._common import Array, record, setting
from mercer._compute import array, threads
from mercer._compute.points import Points
from mercer._compute.readable import is_dask
from mercer._compute.symmetric import Stored, stored_blocks
from mercer._elsewhere import explained

_P = ParamSpec("_P")
_R = TypeVar("_R")
# Where blocks of kernel values are evaluated; None for the processor.
_place: ContextVar[Place | None] = ContextVar("mercer_place", default=None)
# Kinds of NumPy types that other libraries have: truth values, integers and real numbers.
_KINDS = "biuf"
# Kinds of PyTorch's devices for which kernels of Triton are compiled.
_TRITON = ("cuda",)


@record
class Place:
    """The library of an array, by the name of its namespace, and the device."""

    library: str
    device: Any

    def __str__(self) -> str:
        return f"{self.library.removeprefix('array_api_compat.')} on {self.device}"

    @property
    def is_processor(self) -> bool:
        """Whether the arrays are in the main memory, where the compiled loops for NumPy are fastest."""
        return "cpu" in str(self.device).lower()

    def put(self, array: Array) -> Array:
        """Return a NumPy array of numbers as an array of the library on the device; other arrays unchanged."""
        if array.dtype.kind not in _KINDS:
            return array
        # libraries refuse views that are read-only, or of negative strides
        own = array if array.flags.c_contiguous and array.flags.writeable else array.copy(order="C")
        return importlib.import_module(self.library).asarray(own, device=self.device)


def place_of(value: object) -> Place | None:
    """Return the place of an array of another library than NumPy, or of an object that states it; otherwise None."""
    # a class has the method of its objects, but no place
    if isinstance(value, (np.ndarray, np.generic, type)):
        return None
    if hasattr(type(value), "__mercer_place__"):
        return value.__mercer_place__()
    # arrays of Dask are lazy
    if not array_api_compat.is_array_api_obj(value) or is_dask(value):
        return None
    return Place(array_api_compat.array_namespace(value).__name__, array_api_compat.device(value))


def moved(value: Any, place: Place | None) -> Any:
    """Return an array at a place, as a NumPy array in the main memory for None.

    Also the arrays in tuples, lists, dicts and records, and in objects with the method ``__mercer_move__(place)``.
    """
    if hasattr(type(value), "__mercer_move__"):
        return value.__mercer_move__(place)
    if type(value) in (tuple, list):
        return type(value)(moved(each, place) for each in value)
    if type(value) is dict:
        return {key: moved(each, place) for key, each in value.items()}
    if is_dataclass(value) and not isinstance(value, type):
        record = object.__new__(type(value))
        record.__dict__.update({name: moved(each, place) for name, each in vars(value).items()})
        return record
    if place is None:
        return _as_numpy(value)
    return place.put(value) if isinstance(value, np.ndarray) else value


def _as_numpy(value):
    place = place_of(value)
    if place is None:
        return value
    if array_api_compat.is_torch_array(value):
        # the list of devices of the array API makes an array on each, and warns
        value = value.detach().cpu()
        # NumPy has no bfloat16
        value = value.double() if "bfloat16" in str(value.dtype) else value
    elif not place.is_processor:
        devices = importlib.import_module(place.library).__array_namespace_info__().devices()
        value = array_api_compat.to_device(
            value, next((each for each in devices if "cpu" in str(each).lower()), "cpu")
        )
    return np.asarray(value)


def in_main_memory(value: _R) -> _R:
    """Return an array or a model with NumPy arrays; itself unless its arrays are those of another library."""
    return moved(value, None) if place_of(value) else value


def anywhere(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return a function of NumPy arrays that takes those of other libraries too, and returns arrays at their place."""

    @functools.wraps(function)
    def called(*args, **options):
        places = [found for each in (*args, *options.values()) if (found := place_of(each))]
        if not places:
            return function(*args, **options)
        refuse_mixed(places)
        args = moved(args, None)
        options = moved(options, None)
        with computing_on(places[0]):
            return moved(function(*args, **options), places[0])

    return explained(called)


def refuse_mixed(places: Sequence[Place | None]) -> None:
    """Raise a ValueError unless all places are the same."""
    for place in places[1:]:
        if place != places[0]:
            names = " and ".join(sorted(str(each or "NumPy") for each in (places[0], place)))
            raise ValueError(
                f"all arrays must be of one library and on one device, got {names}; move one of them."
            )


def computing_on(place: Place | None) -> AbstractContextManager[None]:
    """Evaluate blocks of kernel values of NumPy rows on the device of a place inside the ``with`` block."""
    return setting(_place, None if place is None or place.is_processor else place)


def is_elsewhere() -> bool:
    """Return whether blocks of kernel values are evaluated on another device than the processor."""
    return _place.get() is not None


def there(value: _R) -> _R:
    """Return an array, or an object with arrays, on the device where blocks are evaluated; itself on the processor."""
    place = _place.get()
    return value if place is None else moved(value, place)


def evaluating(psi: Any) -> Callable[[Any], Array]:
    """Return an expansion as a function of rows whose values stay on the device where they are computed."""
    if not is_elsewhere() or psi.kernel.tags.points != "rows":
        return psi
    own = there(psi)
    return lambda rows: own(there(rows))


def product(A: Array, B: Array) -> Array:
    """Return A @ B for two arrays of NumPy, computed where blocks are evaluated."""
    return in_main_memory(there(A) @ there(B)) if is_elsewhere() else threads.product(A, B)


def backend_of(points: Points) -> ModuleType:
    """Return the module with ``dense``, ``matmul`` and ``vjp`` for points of any library, on their device."""
    if (
        array_api_compat.is_torch_array(points.container)
        and points.container.device.type in _TRITON
        and _has_triton()
    ):
        from mercer._compute import triton

        return triton
    return array


@functools.cache
def _has_triton():
    # AMD's devices bear the same name, but have no TF32
    return (
        importlib.util.find_spec("triton") is not None
        and importlib.import_module("torch").version.hip is None
    )


# --- backend, see `pick_backend` --------------------------------------------------------------------------------------


def dense(kernel: object, X: Points, Z: Points) -> Array:
    """Return K(X, Z) (n, m)."""
    return _as_numpy(array.dense(kernel, points_there(X), points_there(Z)))


def matmul(
    kernel: object, X: Points, Z: Points, V: Array, pieces: list[slice] | None = None
) -> Array:
    """Return K(X, Z) @ V (n, p); only V and the product are copied between the memories in each call."""
    X = points_there(X)
    Z = points_there(Z)
    V = _place.get().put(np.asarray(V))
    return _as_numpy(backend_of(X).matmul(kernel, X, Z, V, pieces))


def stored(kernel: object, X: Points) -> Stored:
    """Return K(X, X) of a symmetric kernel in the main memory, see ``symmetric.Stored``."""
    return stored_blocks(dense, kernel, X)


def vjp(kernel: object, X: Points, Z: Points, weights: Callable[[slice], Array]) -> Array:
    """Return the gradient of sum_ij W_ij k(x_i, z_j) in every x_i (n, d), in float64."""
    put = _place.get().put
    return _as_numpy(
        array.vjp(
            kernel, points_there(X), points_there(Z), lambda rows: put(np.asarray(weights(rows)))
        )
    )


def points_there(points: Points) -> Points:
    """Return points on the device, copied once."""
    place = _place.get()
    return points.memo(place, lambda: Points(place.put(points.container)))
