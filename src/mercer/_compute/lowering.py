"""LLVM instructions for items and rows of arrays: a sixth of those that Numba writes, with the same meaning.

Numba copies an array's fields to memory and back at each index, and reads all fields to count references; LLVM removes
nearly all of that later. Writing, parsing and removing it is a third of the time of a compilation.
"""

import functools
from types import CodeType

import numba.np.arrayobj
from llvmlite import ir
from numba import types
from numba.core.compiler_machinery import register_pass
from numba.core.lowering import Lower
from numba.core.runtime.context import NRTContext
from numba.core.typed_passes import InlineOverloads, NativeLowering
from numba.core.untyped_passes import InlineClosureLikes, InlineInlinables, WithLifting


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
    """Translation of a function; here are contiguous arrays with integers and at most one last slice as indices."""

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

    def _place(self, array, value, index):
        """Return the pointer to what an index means, and the lengths of the axes that remain; None if not known."""
        several = isinstance(index_type := self.typeof(index.name), types.BaseTuple)
        kinds = tuple(index_type) if several else (index_type,)
        if not self._treated(array, kinds):
            return None
        builder, source, indices = self.builder, self.loadvar(value.name), self.loadvar(index.name)
        lengths = [self._field(array, source, "shape", k) for k in range(array.ndim)]
        offset, rest = ir.Constant(lengths[0].type, 0), lengths[len(kinds) :]
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
        count, zero = self.builder.sub(stop, start), ir.Constant(start.type, 0)
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
        view, model = ir.Constant(self.context.get_value_type(found), ir.Undefined), self._model(found)
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


@register_pass(mutates_CFG=True, analysis_only=False)
class ShortLowering(NativeLowering):
    """Numba's pass with the translation above."""

    _name = "mercer_lowering"

    @property
    def lowering_class(self):
        return ShortLower


def shorten(state, pipelines):
    """Return Numba's pipelines for a function with the pass and the counts of references above.

    Passes over array expressions and over inner functions are left out where the function has none.
    """
    state.targetctx.nrt = References(state.targetctx, state.targetctx.enable_nrt)
    nested = any(isinstance(each, CodeType) for each in state.func_id.code.co_consts)
    unused = {WithLifting, InlineInlinables, InlineOverloads} | (set() if nested else {InlineClosureLikes})
    for pipeline in pipelines:
        pipeline.passes = [
            (ShortLowering if each is NativeLowering else each, text)
            for each, text in pipeline.passes
            if each not in unused
        ]
        pipeline.finalize()
    return pipelines
