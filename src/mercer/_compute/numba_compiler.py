"""Compilers, instructions and files of machine code that replace Numba's own: the one file that uses its internals.

Public Numba compiles a first fit in 10 s, these compilers in less than half of that, and keeps machine code in files
that others may have written. `pyproject.toml` bounds the version of Numba; `test_numba_compiler.py` names what a new
one lacks.
"""

import collections
import contextlib
import functools
import gc
import hashlib
import logging
import operator
import os
import pickle
import stat
import tempfile
import threading
import warnings
from collections.abc import Iterator
from types import CodeType

import llvmlite
import numba
from llvmlite import ir
from llvmlite.binding import Linkage, create_pass_builder, create_pipeline_tuning_options
from llvmlite.ir.instructions import InsertValue, PhiInstr
from numba import types
from numba.core import ir as numba_ir
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, Flags
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables, WithLifting
from numba.np.arrayobj import load_item, store_item

from mercer._compute.intrinsics import make_array

_log = logging.getLogger("mercer")
_NUMBERS = types.Number, types.Boolean
# Expressions with one operand that are written shorter.
_OF_ONE = "iternext", "pair_first", "pair_second", "getattr"
_OPERATORS = "unary", "binop", "inplace_binop"
# Before version 0.48 llvmlite gives attributes of a function to the value that it returns, which LLVM refuses.
_MARKS_FUNCTIONS = tuple(map(int, llvmlite.__version__.split(".")[:2])) >= (0, 48)
_DIGEST = hashlib.sha256().digest_size
# Permission of the group or of others to write.
_WRITABLE = stat.S_IWGRP | stat.S_IWOTH
# Seconds of compilation before the notice.
_SILENT = 1.0
# Held from the notice on, which is given once in a process.
_told = threading.Lock()


def compile_whole(function, flags, key, unswitched):
    """Return Numba's dispatcher of a function whose machine code contains those that it calls, kept on disk for a key.

    With ``unswitched``, loops with conditions that do not change are compiled once for each case.
    """
    kind = _Unswitched if unswitched else _Whole
    whole = numba.njit(pipeline_class=kind, no_cfunc_wrapper=True, **_options(flags))(function)
    if key is not None:
        _keep_on_disk(whole, key)
    return whole


def compile_part(function, flags, inline):
    """Return Numba's dispatcher of a function for the functions of `compile_whole`."""
    options = {"forceinline": inline, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return numba.njit(pipeline_class=_Part, **_options(flags), **options)(function)


def _options(flags):
    return {"nogil": True, "fastmath": set(flags), "error_model": "numpy"}


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
        if collected:
            if not gc.get_freeze_count():
                # the new objects wait for the next full collection
                gc.freeze()
                gc.unfreeze()
            gc.enable()


# --- compilers --------------------------------------------------------------------------------------------------------


class _Shared(Flags):
    """Flags that are equal where the functions of NumPy that Numba compiles inherit the same of them.

    Numba looks each operator up by the types of its arguments and these flags. Its own comparison of all options
    takes a tenth of a compilation, and functions of NumPy would be compiled again for each set of options.
    """

    def __hash__(self):
        return hash(frozenset(self.fastmath.flags))

    def __eq__(self, other):
        return isinstance(other, _Shared) and self.fastmath.flags == other.fastmath.flags


class _Short(Compiler):
    """Compiler with the shorter instructions below, into a library of its own class."""

    library_class: type[JITCodeLibrary]

    def compile_extra(self, func):
        """Return the compiled function."""
        self.state.flags = _Shared(self.state.flags)
        with _collections_paused():
            return super().compile_extra(func)

    def define_pipelines(self):
        """Return Numba's passes without those that find nothing to do, and with one that writes short instructions."""
        state = self.state
        context = state.targetctx
        state.library = self.library_class(context.codegen(), state.func_id.func_qualname)
        state.library.enable_object_caching()
        state.typingctx = _Remembering(state.typingctx)
        context.nrt = _References(context, context.enable_nrt)
        unused = {WithLifting, InlineInlinables, InlineOverloads}
        if not any(isinstance(each, CodeType) for each in state.func_id.code.co_consts):
            unused.add(InlineClosureLikes)
        ours = {NativeLowering: _ShortLowering, NopythonRewrites: _ArrayRewrites}
        pipelines = super().define_pipelines()
        for pipeline in pipelines:
            pipeline.passes = [
                (ours.get(each, each), text) for each, text in pipeline.passes if each not in unused
            ]
            pipeline.finalize()
        return pipelines


class _Remembering:
    """Numba's context of types, which finds an operator on numbers, or an item, once; Numba tries all at each use."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_function_type(self, function, arguments, options):
        """Return the signature of a call."""
        known = getattr(function, "typing_key", function)
        some = (
            arguments[1:]
            if known is operator.getitem and isinstance(arguments[0], types.Array)
            else arguments
        )
        # other functions are compiled for the options of their caller
        plain = known is range or getattr(known, "__module__", None) == operator.add.__module__
        if plain and all(isinstance(kind, _NUMBERS) for kind in some):
            return _operation(self._context, function, arguments)
        return self._context.resolve_function_type(function, arguments, options)


@functools.lru_cache(maxsize=4096)
def _operation(context, function, arguments):
    return context.resolve_function_type(function, arguments, {})


class _Library(JITCodeLibrary):
    def _optimize_functions(self, ll_module):
        """Leave functions as they are: the whole module is optimised later."""


class _WholeLibrary(_Library):
    """Machine code with private copies of the functions that its function calls, directly or not.

    Else it calls the first function of that name in the process, and results depend on what ran before.
    """

    # level 2 adds 0.3 s to a first fit, for loops that are not faster
    speed_level = 1

    def finalize(self):
        # a list that grows in the loop
        for called in self._linking_libraries:
            self._linking_libraries += getattr(called, "callees", ())
        super().finalize()

    def _optimize_final_module(self):
        module = self._final_module
        for function in module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.internal
            if function.name.startswith("_ZN7cpython") and _MARKS_FUNCTIONS:
                # this one only reads Python's arguments
                for attribute in "noinline", "optnone":
                    function.add_function_attribute(attribute)
        tuning = create_pipeline_tuning_options(speed_level=self.speed_level)
        tuning.loop_vectorization = True
        builder = create_pass_builder(self.codegen._tm, tuning)  # noqa: SLF001 - Numba has no public way
        # once, where Numba does it twice, and without vectors of single statements
        manager = builder.getModulePassManager()
        manager.add_refprune_pass()
        manager.run(module, builder)


class _UnswitchedLibrary(_WholeLibrary):
    speed_level = 3


class _PartLibrary(_Library):
    """Instructions that are neither linked with those of called functions, nor optimised, nor made machine code."""

    def finalize(self):
        self.callees = self._linking_libraries
        self._linking_libraries = []
        self._finalize_dynamic_globals()
        self._finalized = True


def _with_room(function, argument):
    """Call a function from a frame that takes a new chunk of the interpreter's stack, half of which stays free.

    CPython gives a chunk of 16 kB back when its first frame ends. Calls in a loop around the end of a chunk take and
    give one back each time: a tenth of a compilation, at some depths of the stack.
    """
    return function(argument)


_with_room.__code__ = _with_room.__code__.replace(co_stacksize=1 << 16)


class _Whole(_Short):
    library_class = _WholeLibrary

    def compile_extra(self, func):
        # the compilations of parts are inside of it
        with told_if_long():
            return _with_room(super().compile_extra, func)


class _Unswitched(_Whole):
    library_class = _UnswitchedLibrary


class _Part(_Short):
    library_class = _PartLibrary

    def compile_extra(self, func):
        # callers look the function up by its entry point, of which only the identity and this type matter
        result = super().compile_extra(func)._replace(entry_point=[].append)
        self.state.targetctx.insert_user_function(
            result.entry_point, result.fndesc, [result.library]
        )
        return result

    def define_pipelines(self):
        self.state.flags.no_compile = True
        return super().define_pipelines()


# --- instructions -----------------------------------------------------------------------------------------------------


class _References(NRTContext):
    """Counts of references, which read only the fields that have one."""

    def get_meminfos(self, builder, ty, val):
        """Return the counted memory in a value, as pairs of type and pointer."""
        models = self._context.data_model_manager
        found = (
            [(ty, models[ty].get_nrt_meminfo(builder, val))] if models[ty].has_nrt_meminfo() else []
        )
        for kind, field in models[ty].traverse(builder):
            if _counted(models[kind]):
                found += self.get_meminfos(builder, kind, field(val))
        return found


@functools.lru_cache(maxsize=1024)
def _counted(model):
    return model.contains_nrt_meminfo()


class _ShortBuilder(ir.IRBuilder):
    """Builder that takes a field from where it was put into a structure."""

    def extract_value(self, agg, idx, name=""):
        """Return a field of a structure."""
        places = list(idx) if isinstance(idx, (tuple, list)) else [idx]
        while places and isinstance(agg, InsertValue):
            put = list(agg.indices)
            if places[: len(put)] == put:
                agg = agg.value
                places = places[len(put) :]
            elif put[: len(places)] == places:
                # only a part of the field was put there
                break
            else:
                agg = agg.aggregate
        return super().extract_value(agg, places, name) if places else agg


class _ShortLower(Lower):
    """Instructions for items, rows and blocks of contiguous arrays: a sixth of Numba's, with the same meaning.

    Numba copies variables, and an array's fields at each index, to memory and back, and counts references of numbers
    and of arguments; LLVM removes nearly all of that later. Indices here are integers and at most one last slice.
    """

    def setup_function(self, fndesc):
        """Begin a function."""
        super().setup_function(fndesc)
        self.builder = _ShortBuilder(self.entry_block)
        self.call_helper = self.call_conv.init_call_helper(self.builder)

    def post_lower(self):
        """End a function, without structures of which only fields are used."""
        super().post_lower()
        instructions = [each for block in self.function.blocks for each in block.instructions]
        needed = set()
        asked = [each for each in instructions if not isinstance(each, InsertValue)]
        while asked:
            each = asked.pop()
            parts = (
                [value for value, _ in each.incomings]
                if isinstance(each, PhiInstr)
                else each.operands
            )
            for part in parts:
                if isinstance(part, InsertValue) and part not in needed:
                    needed.add(part)
                    asked.append(part)
        for block in self.function.blocks:
            block.instructions[:] = [
                each
                for each in block.instructions
                if each in needed or not isinstance(each, InsertValue)
            ]

    def _find_singly_assigned_variable(self):
        """Find the variables that need no memory: set once, and deleted once. Numba finds those of one block.

        Those that hold arguments, or fields of arguments, are lent: the caller counts their references.
        """
        assigned = [
            (label, each)
            for label in sorted(self.blocks)
            for each in self.blocks[label].find_insts(numba_ir.Assign)
        ]
        times = collections.Counter(each.target.name for _, each in assigned)
        places = {
            each.target.name: label for label, each in assigned if times[each.target.name] == 1
        }
        self._lent = set()
        for _, each in assigned:
            if each.target.name in places and self._lends(each):
                self._lent.add(each.target.name)
        for label, used in self.func_ir.variable_lifetime.usedefs.usemap.items():
            # blocks are written in the order of their labels
            early = {name for name in used if places.get(name, -1) >= label}
            # where a way that does not use a variable meets one that did, it may be deleted again
            again = {
                each.value
                for each in self.blocks[label].find_insts(numba_ir.Del)
                if each.value not in used
                and places.get(each.value) != label
                and self._counts(each.value)
            }
            for name in (early | again) & places.keys():
                del places[name]
        self._singly_assigned_vars = set(places)
        self._blk_local_varmap = {}

    def _lends(self, statement):
        """Whether a statement names an argument, or a field of what is lent."""
        value = statement.value
        if isinstance(value, numba_ir.Arg):
            return self.typeof(f"arg.{value.name}") == self.typeof(statement.target.name)
        return (
            isinstance(value, numba_ir.Expr)
            and value.op == "getattr"
            and value.value.name in self._lent
            and isinstance(self.typeof(value.value.name), types.BaseNamedTuple)
        )

    def _counts(self, name):
        """Whether references of a variable are counted here."""
        return name not in self._lent and _counted(
            self.context.data_model_manager[self.typeof(name)]
        )

    def lower_assign(self, kind, statement):
        """Return the value of a statement."""
        value = statement.value
        if statement.target.name not in self._lent:
            return super().lower_assign(kind, statement)
        if isinstance(value, numba_ir.Arg):
            return self.fnargs[value.index]
        fields = self.typeof(value.value.name).fields
        return self.builder.extract_value(self.loadvar(value.value.name), fields.index(value.attr))

    def lower_expr(self, resty, expr):
        """Return the value of an expression; loops over ranges and sizes of arrays need no structure in memory."""
        kind = self.typeof(expr.value.name) if expr.op in _OF_ONE else None
        if isinstance(kind, types.RangeIteratorType) and expr.op == "iternext":
            return self._next(resty, self.loadvar(expr.value.name))
        if isinstance(kind, types.Pair) and isinstance(resty, _NUMBERS):
            return self.builder.extract_value(
                self.loadvar(expr.value.name), int(expr.op == "pair_second")
            )
        if type(kind) is types.Array and getattr(expr, "attr", "") == "size":
            return self._field(kind, self.loadvar(expr.value.name), "nitems")
        return super().lower_expr(resty, expr)

    def _next(self, pair, iterator):
        """Return the next number of a range, and whether there is one."""
        builder = self.builder
        place, step, left = (builder.extract_value(iterator, k) for k in (0, 2, 3))
        number = builder.load(place)
        count = builder.load(left)
        builder.store(builder.add(number, step), place)
        builder.store(builder.sub(count, count.type(1)), left)
        found = ir.Constant(self.context.get_value_type(pair), ir.Undefined)
        found = builder.insert_value(found, number, 0)
        return builder.insert_value(found, builder.icmp_signed(">", count, count.type(0)), 1)

    def delvar(self, name):
        """Delete a variable; numbers are not set to 0."""
        if name not in self._lent and not isinstance(self.typeof(name), _NUMBERS):
            super().delvar(name)

    def lower_getitem(self, resty, expr, value, index, signature):
        """Return an item, or a view of a row or block."""
        array = self.typeof(value.name)
        found = signature.return_type
        place = self._place(array, value, index)
        if place is None or getattr(found, "layout", "C") != "C":
            return super().lower_getitem(resty, expr, value, index, signature)
        pointer, rest = place
        if rest:
            # such views are contiguous
            kept = [
                self._field(array, self.loadvar(value.name), name) for name in ("meminfo", "parent")
            ]
            item = make_array(self.context, self.builder, found, pointer, rest, *kept)
            self.incref(found, item)
        else:
            item = load_item(self.context, self.builder, array, pointer)
        return self.context.cast(self.builder, item, found, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Store an item."""
        array = self.typeof(target_var.name)
        kind = self.typeof(value_var.name)
        place = (
            None if isinstance(kind, types.Buffer) else self._place(array, target_var, index_var)
        )
        if place is None or place[1]:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item = self.context.cast(
            self.builder, self.loadvar(value_var.name), kind, signature.args[2]
        )
        item = self.context.cast(self.builder, item, signature.args[2], array.dtype)
        return store_item(self.context, self.builder, array, item, place[0])

    def lower_binop(self, resty, expr, op):
        """Return the result of an operator on two numbers."""
        signature = self.fndesc.calltypes[expr]
        # powers with constant exponents have their own instructions
        if op in (operator.pow, operator.ipow) or not all(
            isinstance(kind, _NUMBERS) for kind in signature.args
        ):
            return super().lower_binop(resty, expr, op)
        context = self.context
        builder = self.builder
        values = [
            context.cast(builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        signature = _operation(context.typing_context, op, signature.args)
        value = context.get_function(context.typing_context.resolve_value_type(op), signature)(
            builder, values
        )
        return context.cast(builder, value, signature.return_type, resty)

    def _place(self, array, value, index):
        """Return the pointer to what an index means, and the lengths of the axes that remain; None if not known."""
        several = isinstance(index_type := self.typeof(index.name), types.BaseTuple)
        kinds = tuple(index_type) if several else (index_type,)
        if not self._treated(array, kinds):
            return None
        builder = self.builder
        source = self.loadvar(value.name)
        indices = self.loadvar(index.name)
        lengths = [self._field(array, source, "shape", k) for k in range(array.ndim)]
        offset = ir.Constant(lengths[0].type, 0)
        rest = lengths[len(kinds) :]
        for k, kind in enumerate(kinds):
            own = builder.extract_value(indices, k) if several else indices
            if isinstance(kind, types.SliceType):
                own, length = self._range(own, lengths[k])
                rest.insert(0, length)
            else:
                own = self._counted_from_0(
                    kind, self.context.cast(builder, own, kind, types.intp), lengths[k]
                )
            offset = builder.add(builder.mul(offset, lengths[k]), own) if k else own
        for length in lengths[len(kinds) :]:
            offset = builder.mul(offset, length)
        return builder.gep(self._field(array, source, "data"), [offset]), rest

    def _treated(self, array, kinds):
        """Whether indices of these types are treated here."""
        numbers = (
            kinds[:-1]
            if kinds and isinstance(kinds[-1], types.SliceType) and not kinds[-1].has_step
            else kinds
        )
        known = (
            type(array) is types.Array
            and array.layout == "C"
            and not self.context.enable_boundscheck
        )
        return (
            known
            and len(kinds) <= array.ndim
            and all(isinstance(kind, types.Integer) for kind in numbers)
        )

    def _counted_from_0(self, kind, index, length):
        """Return an index that counts from the start; negative ones count from the end."""
        if not kind.signed or getattr(kind, "literal_value", -1) >= 0:
            return index
        negative = self.builder.icmp_signed("<", index, ir.Constant(index.type, 0))
        return self.builder.select(negative, self.builder.add(index, length), index)

    def _range(self, bounds, length):
        """Return the first index and the number of indices that a slice means."""
        zero = ir.Constant(length.type, 0)
        ends = [
            self._counted_from_0(types.intp, self.builder.extract_value(bounds, k), length)
            for k in range(2)
        ]
        start, stop = (self._extreme("<", self._extreme(">", end, zero), length) for end in ends)
        return start, self._extreme(">", self.builder.sub(stop, start), zero)

    def _extreme(self, comparison, a, b):
        """Return the first of two integers if it compares so with the second, else the second."""
        return self.builder.select(self.builder.icmp_signed(comparison, a, b), a, b)

    def _field(self, array, source, name, *place):
        model = self.context.data_model_manager[array]
        return self.builder.extract_value(source, [model.get_field_position(name), *place])


@register_pass(mutates_CFG=True, analysis_only=False)
class _ShortLowering(NativeLowering):
    """Numba's pass with the instructions above."""

    _name = "mercer_lowering"

    @property
    def lowering_class(self):
        return _ShortLower


@register_pass(mutates_CFG=True, analysis_only=False)
class _ArrayRewrites(NopythonRewrites):
    """Numba's pass over operators on arrays, for functions that have any."""

    _name = "mercer_rewrites"

    def run_pass(self, state):
        """Return whether the function was changed."""
        operators = [
            known
            for each, known in state.calltypes.items()
            if getattr(each, "op", "") in _OPERATORS
        ]
        return any(
            isinstance(known.return_type, types.Array) for known in operators
        ) and super().run_pass(state)


# --- machine code on disk ---------------------------------------------------------------------------------------------


def _keep_on_disk(dispatcher, key):
    """Let a dispatcher keep its machine code in a folder that only the user can write to, if there is one."""
    try:
        # Numba has no public way to set the cache of a dispatcher
        dispatcher._cache = _GuardedCache(dispatcher.py_func, key)  # noqa: SLF001
    except (RuntimeError, OSError):
        _log.debug("no disk cache for %s: no folder that only the user can write to", dispatcher)


class _GuardedCache(FunctionCache):
    """Numba's disk cache of one function; a damaged entry causes a warning and a compilation, not an error."""

    def __init__(self, function, key):
        # while the locators of Numba are those of now
        self._impl_class = type(
            "PrivateFolders", (CompileResultCacheImpl,), {"_locator_classes": _private_locators()}
        )
        super().__init__(function)
        self._key = key
        locator = self._impl.locator
        self._cache_file = CheckedFile(
            self.cache_path, self._impl.filename_base, locator.get_source_stamp()
        )
        # not every locator does so
        locator.ensure_cache_path()

    def _index_key(self, sig, codegen):
        return sig, codegen.magic_tuple(), self._key

    def load_overload(self, sig, target_context):
        try:
            # the first call loads what Numba knows of NumPy
            with _collections_paused():
                return super().load_overload(sig, target_context)
        except Exception as error:  # noqa: BLE001 - a damaged pickle may raise any exception
            warn_damaged(self.cache_path, type(error).__name__)
        try:
            self.flush()
        except OSError as error:
            _log.debug("damaged cache in %s not deleted: %s", self.cache_path, error)

    def save_overload(self, sig, data):
        try:
            super().save_overload(sig, data)
        except Exception as error:  # noqa: BLE001
            _log.debug("machine code not written to %s: %s", self.cache_path, error)


class CheckedFile(IndexDataCacheFile):
    """Files of one function, each with the checksum of its content: LLVM ends the process if it reads damaged code.

    The files are pickles, so that who can write one can run code: each use looks whether others can.
    """

    def __init__(self, cache_path, filename_base, source_stamp):
        # files without a checksum have another name
        super().__init__(cache_path, f"{filename_base}.sha256", source_stamp)

    def save(self, key, data):
        super().save(key, (key, data))

    def load(self, key):
        known, data = super().load(key) or (None, None)
        # two processes may write different code to one file
        return data if known == key else None

    def _save_index(self, overloads):
        self._write(self._index_path, (self._version, self._source_stamp, overloads))

    def _load_index(self):
        try:
            version, stamp, overloads = self._read(self._index_path)
        except (FileNotFoundError, PermissionError):
            # what others could write is written again
            return {}
        return overloads if (version, stamp) == (self._version, self._source_stamp) else {}

    def _save_data(self, name, data):
        self._write(self._data_path(name), data)

    def _load_data(self, name):
        return self._read(self._data_path(name))

    def _write(self, path, thing):
        content = self._dump(thing)
        require_private(self._cache_path)
        # a file that others cannot open before its permissions are set, whatever the mask of the process allows
        descriptor, temporary = tempfile.mkstemp(dir=self._cache_path)
        try:
            with open(descriptor, "wb") as file:
                file.write(hashlib.sha256(content).digest() + content)
            os.replace(temporary, path)
        except BaseException:
            os.unlink(temporary)
            raise

    @staticmethod
    def _read(path):
        require_private(path)
        with open(path, "rb") as file:
            digest = file.read(_DIGEST)
            content = file.read()
        if hashlib.sha256(content).digest() != digest:
            raise ValueError(f"{path} is damaged")
        return pickle.loads(content)


def _private_locators():
    """Return Numba's choices of a folder, each of which refuses one that others can write to."""
    choices = CompileResultCacheImpl._locator_classes  # noqa: SLF001
    return [type("PrivateLocator", (_Private, each), {}) for each in choices]


class _Private:
    """Mixin of a choice of a folder."""

    def ensure_cache_path(self):
        path = self.get_cache_path()
        # a new folder is private whatever the mask of the process allows
        os.makedirs(path, 0o755, exist_ok=True)
        require_private(path)
        super().ensure_cache_path()


def require_private(path):
    """Raise PermissionError if others can change what a path leads to."""
    # Numba tries its next choice of a folder after an OSError
    place = _writable(os.path.join(os.getcwd(), path))
    if place:
        raise PermissionError(
            f"others can write compiled code to {path}, because they can change {place}"
        )


def _writable(path):
    """Return the first file, folder or link on the way to an absolute path that others than root can change, or ''."""
    status = os.lstat(path)
    linked = stat.S_ISLNK(status.st_mode)
    # in a folder of root with the sticky bit, as /tmp, nobody can replace what others own
    sticky = status.st_mode & stat.S_ISVTX and status.st_uid == 0
    owned = not hasattr(os, "geteuid") or status.st_uid in (0, os.geteuid())
    if not owned or status.st_mode & _WRITABLE and not (linked or sticky):
        return path
    parent = os.path.dirname(path)
    target = linked and _writable(os.path.join(parent, os.readlink(path)))
    return target or ("" if parent == path else _writable(parent))


@functools.cache
def warn_damaged(path, kind):
    """Warn that compiled code is damaged, once for a folder and kind of damage."""
    message = (
        f"The compiled code in {path} is damaged ({kind}) and is compiled again; "
        "delete the folder if this recurs."
    )
    warnings.warn(message, RuntimeWarning, stacklevel=4)


# --- notice -----------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def told_if_long() -> Iterator[None]:
    """Log the notice during the ``with`` block if it takes more than a second."""
    timer = threading.Timer(_SILENT, announce)
    timer.daemon = True
    if not _told.locked():
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def announce() -> None:
    """Log the notice, once in a process."""
    if _told.acquire(blocking=False):
        _log.warning(
            "Mercer compiles machine code at the first call (5 to 20 s, once; it is kept on disk); the command "
            "'mercer warmup' does so for common kernels."
        )
