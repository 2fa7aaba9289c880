"""Compile functions with Numba at their first call, with a disk cache in a folder that only the user can write to."""

import contextlib
import functools
import gc
import glob
import hashlib
import logging
import os
import stat
import sys
import types
import warnings
from collections.abc import Callable
from typing import Any

from mercer._compute.cache_file import checked_file

_log = logging.getLogger("mercer")

# LLVM flags: sums may be reordered, so that loops vectorise. NaN and infinities keep their meaning, and x / y does not
# become x * (1 / y), which is infinite for subnormal y.
REORDER = frozenset({"contract", "reassoc", "nsz"})
# Permission of the group or of others to write.
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
# For formulas in which the order of operations matters.
EXACT = frozenset({"contract"})


class compiled:  # noqa: N801 - a decorator
    """Decorate a function of numbers and arrays to be compiled at its first call; Numba is imported then.

    The function runs without the GIL and divides by zero as NumPy does. ``flags`` is REORDER or EXACT; ``inline``
    copies it into compiled callers, whose loops are not vectorised otherwise.
    """

    def __init__(self, function: Callable[..., Any], *, flags: Any = REORDER, inline: bool = False) -> None:
        functools.update_wrapper(self, function)
        self._flags = flags
        self._inline = inline

    def described(self) -> tuple[Any, ...]:
        """Return what the machine code depends on: an edit of this file, too."""
        return sys.modules[__name__], self.__wrapped__, self._flags, self._inline

    @functools.cached_property
    def dispatcher(self) -> Any:
        """Return Numba's dispatcher of the function, for calls from Python."""
        # an edited function that this one calls is compiled again
        return dispatcher(self.__wrapped__, self._flags, cache=True, key=fingerprint(self))

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


def dispatcher(function, flags=REORDER, cache=False, key=None):
    """Return Numba's dispatcher of a function, with machine code kept on disk if ``cache``.

    ``key``, from ``fingerprint``, identifies the values in a closure: Numba does not see into compiled functions there.
    """
    import numba

    whole, _ = _compilers()
    compiled_function = numba.njit(pipeline_class=whole, no_cfunc_wrapper=True, **_options(flags))(function)
    return _with_cache(compiled_function, key) if cache else compiled_function


def part(function, flags=REORDER, inline=False):
    """Return Numba's dispatcher of a function that compiled functions call, and Python does not.

    LLVM optimises it in its callers only, which takes a tenth of the time for functions that call each other.
    """
    import numba

    _, inner = _compilers()
    options = {"forceinline": inline, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(pipeline_class=inner, **_options(flags), **options)(function)


def _options(flags):
    return {"nogil": True, "fastmath": set(flags), "error_model": "numpy"}


@functools.cache
def _compilers():
    """Return Numba's compilers of whole functions, callees included, and of the parts that they contain."""
    from numba.core.compiler import Compiler, Flags

    from mercer._compute.lowering import shorten

    class Shared(Flags):
        """Flags that are equal where the functions of NumPy that Numba compiles inherit the same of them.

        Numba looks each operator up by the types of its arguments and these flags. Its own comparison of all options
        takes a fifth of a compilation, and functions of NumPy would be compiled again for each set of options.
        """

        def __hash__(self):
            return hash(frozenset(self.fastmath.flags))

        def __eq__(self, other):
            return isinstance(other, Shared) and self.fastmath.flags == other.fastmath.flags

    class Whole(Compiler):
        def define_pipelines(self):
            _make_whole(_new_library(self.state))
            return shorten(self.state, super().define_pipelines())

        def _compile_core(self):
            self.state.flags = Shared(self.state.flags)
            with _collections_paused():
                return super()._compile_core()

    class Part(Compiler):
        def define_pipelines(self):
            _make_part(_new_library(self.state))
            self.state.flags.no_compile = True
            return shorten(self.state, super().define_pipelines())

        def _compile_core(self):
            self.state.flags = Shared(self.state.flags)
            # callers look the function up by its entry point, of which only the identity and this type matter
            result = super()._compile_core()._replace(entry_point=[].append)
            self.state.targetctx.insert_user_function(result.entry_point, result.fndesc, [result.library])
            return result

    return Whole, Part


@contextlib.contextmanager
def _collections_paused():
    """Collect no garbage while Numba makes many objects that live long.

    Collections would take a tenth of a compilation, and a third of the first call of compiled code on disk.
    """
    collected = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():
            # the new objects wait for the next full collection
            gc.freeze()
            gc.unfreeze()
        if collected:
            gc.enable()


def _new_library(state):
    """Return the library of a function, into which Numba will write its instructions."""
    state.library = library = state.targetctx.codegen().create_library(state.func_id.func_qualname)
    library.enable_object_caching()
    # the whole module is optimised later
    library._optimize_functions = lambda _module: None  # noqa: SLF001 - Numba has no public way, here and below
    return library


def _make_whole(library):
    """Make a library contain private copies of the functions that its function calls, directly or not.

    Else machine code calls the first function of that name in the process, and results depend on what ran before.
    """
    from llvmlite.binding import Linkage, create_pass_builder, create_pipeline_tuning_options

    finalize = library.finalize

    def finalize_with_parts():
        # a list that grows in the loop
        for called in library._linking_libraries:  # noqa: SLF001
            library._linking_libraries += getattr(called, "callees", ())  # noqa: SLF001
        finalize()

    def optimise():
        module = library._final_module  # noqa: SLF001
        for function in module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
            if function.name.startswith("_ZN7cpython"):
                # this one only reads Python's arguments
                for attribute in "noinline", "optnone":
                    function.add_function_attribute(attribute)
        # level 2 adds 0.3 s to a first fit, for loops that are not faster
        tuning = create_pipeline_tuning_options(speed_level=1)
        tuning.loop_vectorization = True
        builder = create_pass_builder(library.codegen._tm, tuning)  # noqa: SLF001
        # once, where Numba does it twice, and without vectors of single statements
        manager = builder.getModulePassManager()
        manager.add_refprune_pass()
        manager.run(module, builder)

    library.finalize, library._optimize_final_module = finalize_with_parts, optimise  # noqa: SLF001


def _make_part(library):
    """Make a library neither linked with what its function calls, nor optimised, nor turned into machine code."""

    def finalize():
        library.callees, library._linking_libraries = library._linking_libraries, []  # noqa: SLF001
        library._finalize_dynamic_globals()  # noqa: SLF001
        library._finalized = True  # noqa: SLF001

    library.finalize = finalize


def fingerprint(*values):
    """Return a hash of the code of functions and of the values that they use, equal in every process.

    Values are functions, modules, numbers, texts and tuples; None if a function uses anything else.
    """
    parts = [_described(value, ()) for value in values]
    return None if None in parts else hashlib.sha256(repr(parts).encode()).hexdigest()


def _described(value, seen):
    """Return nested tuples of texts for a value, or None; ``seen`` are the functions around it, against recursion."""
    if isinstance(value, compiled):
        return _all_described(value.described(), seen)
    value = getattr(value, "__wrapped__", getattr(value, "py_func", value))
    if value is None or isinstance(value, (bool, int, float, str, bytes)):
        return repr(value)
    if isinstance(value, types.ModuleType):
        # an edited file is compiled again
        status = os.stat(value.__file__) if getattr(value, "__file__", None) else None
        return value.__name__, repr(status and (status.st_mtime_ns, status.st_size))
    if isinstance(value, (tuple, frozenset)):
        items = value if isinstance(value, tuple) else sorted(value, key=repr)
        return _all_described(items, seen)
    if isinstance(value, types.CodeType):
        inner = _all_described(value.co_consts, seen)
        return inner and (value.co_code.hex(), repr(value.co_names), repr(value.co_varnames), inner)
    if isinstance(value, type) and hasattr(value, "_fields"):
        # a record
        return value.__module__, value.__qualname__, repr(value._fields), repr(value._field_defaults)
    if not isinstance(value, types.FunctionType):
        return None
    if value in seen:
        return value.__qualname__
    used = [value.__globals__[name] for name in value.__code__.co_names if name in value.__globals__]
    closed = [cell.cell_contents for cell in value.__closure__ or ()]
    defaults = [*(value.__defaults__ or ()), *sorted((value.__kwdefaults__ or {}).items())]
    # machine code on disk names the module and is unreadable without it
    return _all_described([value.__module__, value.__code__, *used, *closed, *defaults], (*seen, value))


def _all_described(values, seen):
    parts = tuple(_described(value, seen) for value in values)
    # not (): an empty tuple is a known value
    return None if None in parts else ("of", *parts)


def specialised(function, order):
    """Return the dispatcher of a function whose last argument, ``order=0``, is fixed at compile time."""
    from types import FunctionType

    # a default is a constant in machine code, so that branches and loops on it vanish
    bound = FunctionType(function.__code__, function.__globals__, function.__name__, (order,), function.__closure__)
    if function.__kwdefaults__:
        bound.__kwdefaults__ = {**function.__kwdefaults__, "order": order}
    return part(bound, EXACT, inline=True)


def _with_cache(compiled_function, key):
    from numba.core.caching import FunctionCache

    class PrivateFolders(FunctionCache._impl_class):  # noqa: SLF001 - Numba has no public way to choose the folder
        """The first folder of Numba's choice whose compiled code nobody else can write."""

        _locator_classes = [_private_locator(each) for each in FunctionCache._impl_class._locator_classes]  # noqa: SLF001

    class GuardedCache(FunctionCache):
        """Numba's disk cache of one function; a damaged entry causes a warning and a compilation, not an error."""

        _impl_class = PrivateFolders

        def _index_key(self, signature, codegen):
            return super()._index_key(signature, codegen) if key is None else (signature, codegen.magic_tuple(), key)

        def load_overload(self, signature, target):
            try:
                # the first call loads what Numba knows of NumPy
                with _collections_paused():
                    return super().load_overload(signature, target)
            except Exception as error:  # noqa: BLE001 - a damaged pickle may raise any exception
                _warn_damaged(self.cache_path, type(error).__name__)
            try:
                self.flush()
            except OSError as error:
                _log.debug("damaged cache in %s not deleted: %s", self.cache_path, error)

        def save_overload(self, signature, result):
            try:
                super().save_overload(signature, result)
                for path in glob.glob(os.path.join(glob.escape(self.cache_path), f"{self._impl.filename_base}*")):
                    # whatever the mask of the process allows
                    os.chmod(path, stat.S_IMODE(os.stat(path).st_mode) & ~_WRITABLE)
            except Exception as error:  # noqa: BLE001
                _log.debug("machine code not written to %s: %s", self.cache_path, error)

    try:
        cache = GuardedCache(compiled_function.py_func)
        locator, name = cache._impl.locator, cache._impl.filename_base  # noqa: SLF001
        cache._cache_file = checked_file()(cache.cache_path, name, locator.get_source_stamp())  # noqa: SLF001
        # not every locator does so
        cache._impl.locator.ensure_cache_path()  # noqa: SLF001
    except (RuntimeError, OSError):
        _log.debug("no disk cache for %s: no folder that only the user can write to", compiled_function)
        return compiled_function
    # Numba has no public way to set the cache of a dispatcher
    compiled_function._cache = cache  # noqa: SLF001
    return compiled_function


def _private_locator(locator):
    """Return a class that chooses the folder of a locator of Numba, or none if others can write to it."""

    class PrivateLocator(locator):
        def ensure_cache_path(self):
            path = self.get_cache_path()
            # a new folder is private whatever the mask of the process allows
            os.makedirs(path, 0o755, exist_ok=True)
            super().ensure_cache_path()
            if not _private(path):
                # Numba tries the next locator after an OSError
                raise PermissionError(f"others can write compiled code to {path}")

    return PrivateLocator


@functools.cache
def _private(path):
    """Return whether a folder and the compiled code in it belong to the user, and nobody else can write them.

    The files are pickles, so that who can write one can run code.
    """
    with os.scandir(path) as entries:
        files = [entry.path for entry in entries if entry.name.endswith((".nbi", ".nbc"))]
    return os.access(path, os.W_OK) and all(map(_owned, [path, *files]))


def _owned(path):
    """Return whether a file or folder belongs to the user and nobody else can write to it."""
    status = os.lstat(path)
    owned = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    return owned and not stat.S_ISLNK(status.st_mode) and not status.st_mode & _WRITABLE


@functools.cache
def _warn_damaged(path, kind):
    message = (
        f"The compiled code in {path} is damaged ({kind}) and is compiled again; delete the folder if this recurs."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=4)
