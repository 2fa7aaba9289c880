"""Compiled functions: Numba, imported and run at the first call, with a disk cache only where the folder is ours."""

import functools
import hashlib
import logging
import os
import stat
import types
import warnings

_log = logging.getLogger("mercer")

# Reductions may be reordered, so loops vectorise; NaN and infinities keep their meaning, and division stays division:
# x * (1 / y) is infinite where y is subnormal.
REORDER = frozenset({"contract", "reassoc", "nsz"})
# For formulas whose order of operations is the point of them.
EXACT = frozenset({"contract"})


def compiled(function=None, *, flags=REORDER, inline=False):
    """Compile a function of numbers and arrays at its first call.

    Nothing of Numba is imported before that. The function runs without the GIL, follows NumPy's rules for division by
    zero, and can be called by other compiled functions. Its machine code is kept on disk where the cache folder
    belongs to the user and nobody else can write to it; a damaged cache costs a warning and a compilation.

    Parameters
    ----------
    function : function
    flags : set of str, optional
        What the compiler may do to floating-point arithmetic, in LLVM's words: ``REORDER`` or ``EXACT``.
    inline : bool, optional
        Inline the function wherever compiled code calls it: a loop that calls anything is not vectorised.

    Returns
    -------
    Compiled

    Examples
    --------
    >>> import numpy as np
    >>> @compiled
    ... def total(values):
    ...     result = 0.0
    ...     for value in values:
    ...         result += value
    ...     return result
    >>> total(np.arange(4.0))
    6.0
    """
    if function is None:
        return functools.partial(compiled, flags=flags, inline=inline)
    return Compiled(function, flags, inline)


class Compiled:
    """A function that is compiled when it is first called, by Python or by another compiled function.

    Parameters
    ----------
    function : function
    flags : set of str
    inline : bool
    """

    def __init__(self, function, flags, inline):
        functools.update_wrapper(self, function)
        self._flags, self._inline = flags, inline

    @functools.cached_property
    def dispatcher(self):
        """Numba's object for the function."""
        return dispatcher(self.__wrapped__, self._flags, cache=True, inline=self._inline)

    @property
    def _numba_type_(self):
        # how Numba asks what a name inside compiled code stands for
        return self.dispatcher._numba_type_

    def __call__(self, *args):
        """Run the function, compiling it for new types of arguments."""
        return self.dispatcher(*args)


class _Wide:
    """Asks for the widest vectors of the machine in the compiled function that calls it.

    LLVM keeps to 256 bits on many processors with AVX-512; loops of polynomials gain 1.4 (float32) to 1.7 (float64).
    """

    @functools.cached_property
    def _numba_type_(self):
        from numba import types
        from numba.core.registry import cpu_target
        from numba.extending import intrinsic

        @intrinsic
        def wide(context):
            def generate(context, builder, signature, arguments):
                # llvmlite refuses attributes that it does not know; processors without wide vectors ignore this one
                set.add(builder.function.attributes, '"prefer-vector-width"="512"')
                return context.get_dummy_value()

            return types.void(), generate

        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(wide)


wide = _Wide()


def dispatcher(function, flags=REORDER, cache=False, inline=False, key=None):
    """Return Numba's compiled form of a function.

    Parameters
    ----------
    function : function
    flags : set of str
    cache : bool
        Keep machine code on disk, where that is safe.
    inline : bool
        Inline the function wherever compiled code calls it.
    key : str, optional
        What a closure closes over, from ``fingerprint``: Numba cannot tell for other compiled functions.

    Returns
    -------
    numba Dispatcher
    """
    import numba

    compiled_function = numba.njit(nogil=True, fastmath=set(flags), error_model="numpy", forceinline=inline)(function)
    return _with_cache(compiled_function, key) if cache else compiled_function


def fingerprint(*values):
    """Return a text that two processes agree on exactly when functions have the same code, in modules of the same
    name, and use the same values.

    Parameters
    ----------
    *values : functions, compiled functions, modules of ours or of numbers, numbers, texts, and tuples of these

    Returns
    -------
    str or None
        None where a function uses anything else, of which nothing is known.

    Examples
    --------
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 1)
    True
    >>> fingerprint(lambda x: x + 1) == fingerprint(lambda x: x + 2)
    False
    """
    parts = [_described(value, ()) for value in values]
    return None if None in parts else hashlib.sha256(repr(parts).encode()).hexdigest()


def _described(value, seen):
    """Return nested tuples of texts for a value, or None; ``seen`` are the functions that lead here."""
    value = getattr(value, "__wrapped__", getattr(value, "py_func", value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, types.ModuleType):
        # a file that changes changes what is compiled from it
        status = os.stat(value.__file__) if getattr(value, "__file__", None) else None
        return value.__name__, repr(status and (status.st_mtime_ns, status.st_size))
    if isinstance(value, (tuple, frozenset)):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        return _all_described(items, seen)
    if isinstance(value, types.CodeType):
        inner = _all_described(value.co_consts, seen)
        return inner and (value.co_code.hex(), repr(value.co_names), repr(value.co_varnames), inner)
    if not isinstance(value, types.FunctionType):
        return None
    if value in seen:
        return value.__qualname__
    used = [value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__]
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    defaults = [*(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
    # kept code names the module, and cannot be read where there is none of that name
    return _all_described([value.__module__, value.__code__, *used, *closed, *defaults], (*seen, value))


def _all_described(values, seen):
    parts = tuple(_described(value, seen) for value in values)
    # an empty tuple is known too
    return None if None in parts else ("of", *parts)


def specialised(function, order):
    """Return ``function`` compiled with its argument ``order`` a constant of the compilation.

    Parameters
    ----------
    function : function with a last argument ``order=0``
    order : int

    Returns
    -------
    numba Dispatcher
        Of the remaining arguments.
    """
    from types import FunctionType

    # an argument that is left out is a constant of the machine code, so branches and loops on it vanish
    bound = FunctionType(function.__code__, function.__globals__, function.__name__, (order,), function.__closure__)
    if function.__kwdefaults__:
        bound.__kwdefaults__ = {**function.__kwdefaults__, "order": order}
    return dispatcher(bound, EXACT, inline=True)


def _with_cache(compiled_function, key):
    from numba.core.caching import FunctionCache

    try:
        cache = FunctionCache(compiled_function.py_func)
        if key is not None:
            cache._index_key = lambda signature, codegen: (signature, codegen.magic_tuple(), key)
    except RuntimeError:
        _log.debug("no cache for %s: no folder can be written", compiled_function)
        return compiled_function
    if _ours(cache.cache_path):
        compiled_function._cache = _GuardedCache(cache)
    return compiled_function


def _ours(path):
    """Whether a folder belongs to this user, can be written, and by nobody outside the group: entries are pickles."""
    try:
        status = os.stat(path)
    except OSError:
        return False
    owned = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return owned and not status.st_mode & stat.S_IWOTH and os.access(path, os.W_OK)


class _GuardedCache:
    """Numba's cache of one function, whose failures cost a compilation and never the call."""

    def __init__(self, cache):
        self._inner = cache

    @property
    def cache_path(self):
        return self._inner.cache_path

    def flush(self):
        self._inner.flush()

    def load_overload(self, signature, target):
        try:
            return self._inner.load_overload(signature, target)
        except Exception as error:  # noqa: BLE001 - a damaged pickle raises anything at all
            _warn_damaged(self.cache_path, error)
            self._reset()
            return None

    def save_overload(self, signature, result):
        try:
            self._inner.save_overload(signature, result)
        except Exception as error:  # noqa: BLE001
            _log.debug("machine code not kept in %s: %s", self.cache_path, error)

    def _reset(self):
        try:
            self._inner.flush()
        except OSError as error:
            _log.debug("damaged cache in %s stays: %s", self.cache_path, error)


@functools.cache
def _warn_once(path, message):
    warnings.warn(message, RuntimeWarning, stacklevel=5)


def _warn_damaged(path, error):
    message = f"Compiled code kept in {path} is damaged ({type(error).__name__}); compiling again. Delete that folder "
    _warn_once(path, message + "if this comes back.")
