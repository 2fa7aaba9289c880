"""Calls of compiled functions by their address: the caller is compiled once, whatever function it is given."""

from mercer._compute.intrinsics import Intrinsic


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
