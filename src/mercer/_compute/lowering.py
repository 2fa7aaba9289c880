"""LLVM instructions for items and rows of arrays: a sixth of those that Numba writes, with the same meaning.

Numba copies an array's fields to memory and back at each index, and reads all fields to count references; LLVM removes
nearly all of that later. Writing, parsing and removing it is a third of the time of a compilation.
"""

import functools
import operator
from types import CodeType

import numba.np.arrayobj
from llvmlite import ir
from numba import types
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.registry import cpu_target
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import InlineOverloads, NativeLowering, NopythonRewrites
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables, WithLifting

_NUMBERS = types.Number, types.Boolean
_POWERS = operator.pow, operator.ipow
_OPERATORS = "unary", "binop", "inplace_binop"


class References(NRTContext):
    """Counts of references, which read only the fields that have one."""

    def get_meminfos(self, builder, ty, val):
        """Return the counted memory in a value, as pairs of type and pointer."""
        models = self._context.data_model_manager
        found = [(ty, models[ty].get_nrt_meminfo(builder, val))] if models[ty].has_nrt_meminfo() else []
        for kind, field in models[ty].traverse(builder):
            if _counted(models[kind]):
                found += self.get_meminfos(builder, kind, field(val))
        return found


@functools.lru_cache(maxsize=1024)
def _counted(model):
    return model.contains_nrt_meminfo()


class ShortLower(Lower):
    """Translation of a function; here are contiguous arrays with integers and at most one last slice as indices.

    Numbers have no references to count, and are not set to 0 where Numba deletes a variable.
    """

    def incref(self, kind, value):
        """Count one more reference."""
        if not isinstance(kind, _NUMBERS):
            super().incref(kind, value)

    def decref(self, kind, value):
        """Count one reference less."""
        if not isinstance(kind, _NUMBERS):
            super().decref(kind, value)

    def delvar(self, name):
        """Delete a variable."""
        if not isinstance(self.typeof(name), _NUMBERS):
            super().delvar(name)

    def lower_getitem(self, resty, expr, value, index, signature):
        """Return an item, or a view of a row or block."""
        array, found = self.typeof(value.name), signature.return_type
        place = self._place(array, value, index)
        if place is None or getattr(found, "layout", "C") != "C":
            return super().lower_getitem(resty, expr, value, index, signature)
        pointer, rest = place
        if rest:
            item = self._view(array, found, self.loadvar(value.name), pointer, rest)
            self.incref(found, item)
        else:
            item = numba.np.arrayobj.load_item(self.context, self.builder, array, pointer)
        return self.context.cast(self.builder, item, found, resty)

    def lower_setitem(self, target_var, index_var, value_var, signature):
        """Store an item."""
        array, kind = self.typeof(target_var.name), self.typeof(value_var.name)
        place = None if isinstance(kind, types.Buffer) else self._place(array, target_var, index_var)
        if place is None or place[1]:
            return super().lower_setitem(target_var, index_var, value_var, signature)
        item = self.context.cast(self.builder, self.loadvar(value_var.name), kind, signature.args[2])
        item = self.context.cast(self.builder, item, signature.args[2], array.dtype)
        return numba.np.arrayobj.store_item(self.context, self.builder, array, item, place[0])

    def lower_binop(self, resty, expr, op):
        """Return the result of an operator on two numbers."""
        signature = self.fndesc.calltypes[expr]
        # powers with constant exponents have their own instructions
        if op in _POWERS or not all(isinstance(kind, _NUMBERS) for kind in signature.args):
            return super().lower_binop(resty, expr, op)
        context, builder = self.context, self.builder
        values = [
            context.cast(builder, self.loadvar(each.name), self.typeof(each.name), kind)
            for each, kind in zip((expr.lhs, expr.rhs), signature.args, strict=True)
        ]
        signature = _operation(context.typing_context, op, signature.args)
        value = context.get_function(context.typing_context.resolve_value_type(op), signature)(builder, values)
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
                own = self._counted_from_0(kind, self.context.cast(builder, own, kind, types.intp), lengths[k])
            offset = builder.add(builder.mul(offset, lengths[k]), own) if k else own
        for length in lengths[len(kinds) :]:
            offset = builder.mul(offset, length)
        return builder.gep(self._field(array, source, "data"), [offset]), rest

    def _treated(self, array, kinds):
        """Whether indices of these types are treated here."""
        numbers = kinds[:-1] if kinds and isinstance(kinds[-1], types.SliceType) and not kinds[-1].has_step else kinds
        known = type(array) is types.Array and array.layout == "C" and not self.context.enable_boundscheck
        return known and len(kinds) <= array.ndim and all(isinstance(kind, types.Integer) for kind in numbers)

    def _counted_from_0(self, kind, index, length):
        """Return an index that counts from the start; negative ones count from the end."""
        if not kind.signed or getattr(kind, "literal_value", -1) >= 0:
            return index
        negative = self.builder.icmp_signed("<", index, ir.Constant(index.type, 0))
        return self.builder.select(negative, self.builder.add(index, length), index)

    def _range(self, bounds, length):
        """Return the first index and the number of indices that a slice means."""
        start, stop = (
            self._within(self._counted_from_0(types.intp, self.builder.extract_value(bounds, k), length), length)
            for k in range(2)
        )
        count = self.builder.sub(stop, start)
        zero = ir.Constant(start.type, 0)
        return start, self.builder.select(self.builder.icmp_signed("<", count, zero), zero, count)

    def _within(self, index, length):
        """Return an index cut to those from 0 to ``length``."""
        zero = ir.Constant(index.type, 0)
        index = self.builder.select(self.builder.icmp_signed("<", index, zero), zero, index)
        return self.builder.select(self.builder.icmp_signed(">", index, length), length, index)

    def _view(self, array, found, source, pointer, lengths):
        """Return the array of a type ``found`` at a pointer into another array."""
        builder = self.builder
        strides = [self._field(array, source, "strides", array.ndim - found.ndim + k) for k in range(found.ndim)]
        fields = {name: self._field(array, source, name) for name in ("meminfo", "parent", "itemsize")}
        fields["nitems"] = functools.reduce(builder.mul, lengths)
        fields["data"] = pointer
        view = ir.Constant(self.context.get_value_type(found), ir.Undefined)
        model = self._model(found)
        for name, field in fields.items():
            view = builder.insert_value(view, field, model.get_field_position(name))
        for name, numbers in (("shape", lengths), ("strides", strides)):
            for k, number in enumerate(numbers):
                view = builder.insert_value(view, number, [model.get_field_position(name), k])
        return view

    def _field(self, array, source, name, *place):
        return self.builder.extract_value(source, [self._model(array).get_field_position(name), *place])

    def _model(self, array):
        return self.context.data_model_manager[array]


class Remembering:
    """Numba's context of types, which finds an operator on numbers, or an item, once; Numba tries all at each use."""

    def __init__(self, context):
        self._context = context

    def __getattr__(self, name):
        return getattr(self._context, name)

    def resolve_function_type(self, function, arguments, options):
        """Return the signature of a call."""
        known = getattr(function, "typing_key", function)
        some = arguments[1:] if known is operator.getitem and isinstance(arguments[0], types.Array) else arguments
        # other functions are compiled for the options of their caller
        plain = known is range or getattr(known, "__module__", None) == operator.add.__module__
        if plain and all(isinstance(kind, _NUMBERS) for kind in some):
            return _operation(self._context, function, arguments)
        return self._context.resolve_function_type(function, arguments, options)


@functools.lru_cache(maxsize=4096)
def _operation(context, function, arguments):
    return context.resolve_function_type(function, arguments, {})


@functools.lru_cache(maxsize=4096)
def _size(context, kind):
    """Return the size of a type of LLVM, which Numba asks of LLVM for each variable."""
    return context.get_abi_sizeof(kind)


@register_pass(mutates_CFG=True, analysis_only=False)
class ShortLowering(NativeLowering):
    """Numba's pass with the translation above."""

    _name = "mercer_lowering"

    @property
    def lowering_class(self):
        return ShortLower


@register_pass(mutates_CFG=True, analysis_only=False)
class ArrayRewrites(NopythonRewrites):
    """Numba's pass over operators on arrays, for functions that have any."""

    _name = "mercer_rewrites"

    def run_pass(self, state):
        """Return whether the function was changed."""
        operators = [known for each, known in state.calltypes.items() if getattr(each, "op", "") in _OPERATORS]
        if any(isinstance(known.return_type, types.Array) for known in operators):
            return super().run_pass(state)
        return False


def shorten(state, pipelines):
    """Return Numba's pipelines for a function with the pass and the counts of references above.

    Passes over array expressions and over inner functions are left out where the function has none, and sizes of types
    are asked of LLVM once.
    """
    state.typingctx = Remembering(state.typingctx)
    context = state.targetctx
    context.get_abi_sizeof = functools.partial(_size, cpu_target.target_context)
    context.nrt = References(context, context.enable_nrt)
    nested = any(isinstance(each, CodeType) for each in state.func_id.code.co_consts)
    unused = {WithLifting, InlineInlinables, InlineOverloads} | (set() if nested else {InlineClosureLikes})
    ours = {NativeLowering: ShortLowering, NopythonRewrites: ArrayRewrites}
    for pipeline in pipelines:
        pipeline.passes = [(ours.get(each, each), text) for each, text in pipeline.passes if each not in unused]
        pipeline.finalize()
    return pipelines
