"""Compile functions with Numba at their first call, with a disk cache in a folder that only the user can write to."""

import functools
import hashlib
import os
import types
from collections.abc import Callable
from typing import Any

# LLVM flags: sums may be reordered, so that loops vectorise. NaN and infinities keep their meaning, and x / y does not
# become x * (1 / y), which is infinite for subnormal y.
REORDER = frozenset({"contract", "reassoc", "nsz"})
# For formulas in which the order of operations matters.
EXACT = frozenset({"contract"})
# Machine code is compiled again after an edit of these files.
_FILES = __file__, os.path.join(os.path.dirname(__file__), "numba_compiler.py")


class compiled:  # noqa: N801 - a decorator
    """Decorate a function of numbers and arrays to be compiled at its first call; Numba is imported then.

    The function runs without the GIL and divides by zero as NumPy does. ``flags`` is REORDER or EXACT; ``inline``
    copies it into compiled callers, whose loops are not vectorised otherwise.
    """

    def __init__(
        self, function: Callable[..., Any], *, flags: frozenset[str] = REORDER, inline: bool = False
    ) -> None:
        functools.update_wrapper(self, function)
        self._flags = flags
        self._inline = inline

    def described(self) -> tuple[Any, ...]:
        """Return what the machine code depends on."""
        return self.__wrapped__, self._flags, self._inline

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Return Numba's dispatcher of the function, for calls from Python."""
        # an edited function that this one calls is compiled again
        return dispatcher(self.__wrapped__, self._flags, fingerprint(self))

    @functools.cached_property
    def _part(self):
        return part(self.__wrapped__, self._flags, self._inline)

    @property
    def _numba_type_(self):
        # Numba reads this attribute of names inside compiled code
        return self._part._numba_type_

    def __call__(self, *args: Any) -> Any:
        """Run the function, compiled for the types of the arguments."""
        return self.dispatcher(*args)


def dispatcher(function, flags=REORDER, key=None, unswitched=False):
    """Return Numba's dispatcher of a function, with machine code kept on disk if there is a key, from ``fingerprint``.

    It identifies what the function uses: Numba does not see into compiled functions in a closure.
    """
    from mercer._compute.numba_compiler import compile_whole

    return compile_whole(function, flags, key, unswitched)


def part(function, flags=REORDER, inline=False):
    """Return Numba's dispatcher of a function that compiled functions call, and Python does not.

    LLVM optimises it in its callers only, which takes a tenth of the time for functions that call each other.
    """
    from mercer._compute.numba_compiler import compile_part

    return compile_part(function, flags, inline)


def fingerprint(*values):
    """Return a hash of the code of functions and of the values that they use, equal in every process.

    Values are functions, modules, numbers, texts and tuples; None if a function uses anything else.
    """
    parts = [*map(_edition, _FILES), *(_described(value, ()) for value in values)]
    return None if None in parts else hashlib.sha256(repr(parts).encode()).hexdigest()


def _described(value, seen):
    """Return nested tuples of texts for a value, or None; ``seen`` are the functions around it, against recursion."""
    if isinstance(value, compiled):
        return _all_described(value.described(), seen)
    value = getattr(value, "__wrapped__", getattr(value, "py_func", value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, types.ModuleType):
        file = getattr(value, "__file__", None)
        return value.__name__, _edition(file) if file else ""
    if isinstance(value, (tuple, frozenset)):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        return _all_described(items, seen)
    if isinstance(value, types.CodeType):
        inner = _all_described(value.co_consts, seen)
        return inner and (value.co_code.hex(), repr(value.co_names), repr(value.co_varnames), inner)
    if isinstance(value, type) and hasattr(value, "_fields"):
        # a record
        return (
            value.__module__,
            value.__qualname__,
            repr(value._fields),
            repr(value._field_defaults),
        )
    if not isinstance(value, types.FunctionType):
        return None
    if value in seen:
        return value.__qualname__
    used = [
        value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__
    ]
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    defaults = [*(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
    # machine code on disk names the module and is unreadable without it
    return _all_described(
        [value.__module__, value.__code__, *used, *closed, *defaults], (*seen, value)
    )


def _edition(file):
    status = os.stat(file)
    return repr((status.st_mtime_ns, status.st_size))


def _all_described(values, seen):
    parts = tuple(_described(value, seen) for value in values)
    # not (): an empty tuple is a known value
    return None if None in parts else ("of", *parts)


def specialised(function, order):
    """Return the dispatcher of a function whose last argument, ``order=0``, is fixed at compile time."""
    # a default is a constant in machine code, so that branches and loops on it vanish
    bound = types.FunctionType(
        function.__code__, function.__globals__, function.__name__, (order,), function.__closure__
    )
    if function.__kwdefaults__:
        bound.__kwdefaults__ = {**function.__kwdefaults__, "order": order}
    return part(bound, EXACT, inline=True)
