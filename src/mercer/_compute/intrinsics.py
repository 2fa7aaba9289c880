"""Names in compiled code that stand for a few LLVM instructions.

``np.empty``, ``np.reshape`` and ``max`` are functions that Numba compiles for each combination of types, in about 0.1 s
each: compiled code that a first fit needs uses `empty`, `as_square`, `larger` and `smaller`.
"""

import functools


class Intrinsic:
    """A name in compiled code whose instructions ``define(numba)`` writes; Numba is imported at its first use."""

    def __init__(self, define):
        self.__wrapped__ = define

    @functools.cached_property
    def _numba_type_(self):
        import numba.extending
        from numba.core.registry import cpu_target

        written = numba.extending.intrinsic(self.__wrapped__(numba))
        cpu_target.typing_context.refresh()
        return cpu_target.typing_context.resolve_value_type(written)


@Intrinsic
def wide(numba):
    """``wide()``: the compiled function that calls it uses vectors of 512 bits if the processor has them.

    LLVM uses 256 bits on many processors with AVX-512; loops of polynomials are 1.4 to 1.7 times faster with 512.
    Divisions of float32 numbers with the flags "arcp" and "ninf" use the processor's estimate of a reciprocal.
    Callers do not contain a copy of the function, which would lose this and take longer to optimise.
    """
    # other processors ignore these
    return _marked(numba, '"prefer-vector-width"="512"', '"reciprocal-estimates"="vec-divf:0"')


@Intrinsic
def small(numba):
    """``small()``: LLVM makes the compiled function that calls it small rather than fast, which takes half the time.

    For functions that take a small part of the time of their callers, which do not contain a copy either.
    """
    return _marked(numba, "optsize")


def _marked(numba, *attributes):
    """Return the typing function of a name that gives its caller LLVM's attributes, and keeps it out of others."""

    def marked(context):
        def generate(context, builder, signature, arguments):
            for each in ("noinline", *attributes):
                # added to the set, since llvmlite refuses unknown attributes
                set.add(builder.function.attributes, each)
            return context.get_dummy_value()

        return numba.types.void(), generate

    return marked


@Intrinsic
def larger(numba):
    """``larger(a, b)``: the larger of two numbers, neither of them NaN; a maximum of many vectorises.

    Comparisons do not: LLVM keeps their order, because one of the numbers may be NaN.
    """
    return _extreme(numba, "llvm.maxnum", ">")


@Intrinsic
def smaller(numba):
    """``smaller(a, b)``: the smaller of two numbers, neither of them NaN; see `larger`."""
    return _extreme(numba, "llvm.minnum", "<")


def _extreme(numba, name, comparison):
    """Return the typing function of the larger or smaller of two numbers."""
    from llvmlite import ir

    def extreme(context, a, b):
        kind = numba.types.unliteral(context.unify_types(a, b))

        def generate(context, builder, signature, arguments):
            if isinstance(kind, numba.types.Integer):
                return builder.select(builder.icmp_signed(comparison, *arguments), *arguments)
            value = context.get_value_type(kind)
            extreme = builder.module.declare_intrinsic(
                name, (value,), ir.FunctionType(value, (value, value))
            )
            return builder.call(extreme, arguments, fastmath=("nnan", "nsz"))

        return kind(kind, kind), generate

    return extreme


@Intrinsic
def empty(numba):
    """``empty(shape, dtype)``: a new array, contiguous, whose content is undefined; ``shape`` are one or more int.

    ``empty(shape, dtype, arena)`` takes the memory from an arena (words,) of int64, which must outlive the array, if
    there is room beyond the ``arena[0]`` bytes that are in use. References to such an array are not counted: that, and
    the memory of new arrays, take a third of the time of a dual of six variables.
    """
    from numba.core import cgutils

    types = numba.types

    def empty(context, shape, dtype, arena=None):
        several = isinstance(shape, types.BaseTuple)
        inside = isinstance(arena, types.Array)
        kind = types.Array(dtype.dtype, len(shape) if several else 1, "C")
        sizes = types.UniTuple(types.intp, len(shape)) if several else types.intp

        def generate(context, builder, signature, arguments):
            lengths = cgutils.unpack_tuple(builder, arguments[0]) if several else arguments[:1]
            size = functools.reduce(builder.mul, lengths, _item_size(context, kind))
            if inside:
                words, count = _fields(context, builder, arena, arguments[2], "data", "nitems")
                take = _taker(context, builder.module)
                found = builder.call(take, [words, count, size])
                data, memory = (builder.extract_value(found, k) for k in range(2))
                cgutils.guard_memory_error(context, builder, data)
            else:
                memory = context.nrt.meminfo_alloc_aligned(builder, size, 64)
                data = context.nrt.meminfo_data(builder, memory)
            return make_array(context, builder, kind, data, lengths, memory)

        return kind(sizes, dtype, arena or types.Omitted(None)), generate

    return empty


def _taker(context, module):
    """Return the function of a module that takes bytes from an arena of so many words, or new ones: data and count."""
    from llvmlite import ir
    from numba.core import cgutils

    word = cgutils.intp_t
    pair = ir.LiteralStructType([cgutils.voidptr_t] * 2)
    kind = ir.FunctionType(pair, [word.as_pointer(), word, word])
    function = cgutils.get_or_insert_function(module, kind, "mercer_take")
    if function.is_declaration:
        function.linkage = "linkonce_odr"
        builder = ir.IRBuilder(function.append_basic_block())
        arena, words, size = function.args
        nothing = cgutils.voidptr_t(None)
        base = builder.ptrtoint(arena, word)
        free = builder.add(base, builder.load(arena))
        # arrays begin at multiples of 64 bytes
        start = builder.and_(builder.add(free, word(63)), word(-64))
        end = builder.sub(builder.add(start, size), base)
        with builder.if_then(builder.icmp_signed("<=", end, builder.shl(words, word(3)))):
            builder.store(end, arena)
            data = builder.inttoptr(start, cgutils.voidptr_t)
            builder.ret(cgutils.pack_struct(builder, [data, nothing]))
        memory = context.nrt.meminfo_alloc_aligned_unchecked(builder, size, 64)
        with builder.if_then(cgutils.is_null(builder, memory)):
            builder.ret(pair(None))
        data = context.nrt.meminfo_data(builder, memory)
        builder.ret(cgutils.pack_struct(builder, [data, memory]))
    return function


@Intrinsic
def as_square(numba):
    """``as_square(values, m)``: the first m * m of some contiguous values, at least so many, as a matrix (m, m)."""
    from numba.core.imputils import impl_ret_borrowed

    def as_square(context, values, m):
        kind = values.copy(ndim=2)

        def generate(context, builder, signature, arguments):
            source, m = arguments
            data, memory = _fields(context, builder, values, source, "data", "meminfo")
            value = make_array(context, builder, kind, data, [m, m], memory)
            return impl_ret_borrowed(context, builder, kind, value)

        return kind(values, numba.types.intp), generate

    return as_square


def make_array(context, builder, kind, data, lengths, memory, parent=None):
    """Return a contiguous array of a type at an address."""
    from numba.core import cgutils

    strides = [_item_size(context, kind)]
    for length in reversed(lengths[1:]):
        strides.insert(0, builder.mul(strides[0], length))
    contents = {
        "meminfo": memory,
        "nitems": functools.reduce(builder.mul, lengths),
        "itemsize": strides[-1],
        "data": builder.bitcast(data, context.get_data_type(kind.dtype).as_pointer()),
        "shape": cgutils.pack_array(builder, lengths),
        "strides": cgutils.pack_array(builder, strides),
    }
    if parent is not None:
        contents["parent"] = parent
    model = context.data_model_manager[kind]
    value = context.get_constant_null(kind)
    for name, field in contents.items():
        value = builder.insert_value(value, field, model.get_field_position(name))
    return value


def _item_size(context, kind):
    """Return the bytes of an entry of an array of a type."""
    from numba.core.cgutils import intp_t

    return intp_t(context.get_abi_sizeof(context.get_data_type(kind.dtype)))


def _fields(context, builder, kind, value, *names):
    """Return some fields of a value of a type."""
    place = context.data_model_manager[kind].get_field_position
    return [builder.extract_value(value, place(name)) for name in names]


def address(function, *examples):
    """Return the address of a dispatcher's machine code for the types of some arguments; the dispatcher must live."""
    import numba

    signature = tuple(numba.typeof(each) for each in examples)
    function.compile(signature)
    found = function.overloads[signature]
    return found.library.get_pointer_to_function(found.fndesc.llvm_func_name)


@Intrinsic
def call_loop(numba):
    """``call_loop(address, left, right, block, start, parameters)``: call a loop of a profile, which returns None."""
    from numba.core import cgutils

    types = numba.types

    def call_loop(_context, _address, left, right, block, _start, parameters):
        def generate(context, builder, signature, arguments):
            convention = context.call_conv
            kinds = signature.args[1:]
            kind = convention.get_function_type(types.none, kinds).as_pointer()
            callee = builder.inttoptr(arguments[0], kind)
            status, _ = convention.call_function(builder, callee, types.none, kinds, arguments[1:])
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return context.get_dummy_value()

        return types.none(types.intp, left, right, block, types.intp, parameters), generate

    return call_loop
