import inspect
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pytest

import mercer as mc
from mercer.kernels import Kernel
from mercer.kernels.base import PROTOCOL


def _gaussian(xp, s, gamma, order=0):
    value = xp.exp(-gamma * s)
    for _ in range(order):
        value = -gamma * value
    return value


def _without_order(xp, s, gamma):
    return xp.exp(-gamma * s)


@pytest.mark.parametrize(
    ("name", "member", "message"),
    [
        (
            "__call__",
            _gaussian,
            r"New must not define __call__.*evaluate\(tile\).*FunctionKernel",
        ),
        ("__init__", _gaussian, r"New must not define __init__; declare parameters as fields"),
        ("profile", _gaussian, r"New\.profile must be a static method.*add @staticmethod"),
        (
            "profile",
            staticmethod(_without_order),
            r"New\.profile must take order=0.*it takes xp, s, gamma",
        ),
        (
            "evaluate",
            lambda self, X, Z: (self, X, Z),
            r"New\.evaluate takes self, X, Z, .* evaluate\(self, tile\); tile",
        ),
        (
            "diagonal",
            lambda self: self,
            r"New\.diagonal takes self, .* define diagonal\(self, points\)\.$",
        ),
        ("gradient", lambda self, tile: (self, tile), r"called as gradient\(tile, W\)"),
    ],
)
def test_a_class_with_a_wrong_member_is_refused_where_it_is_defined(name, member, message):
    with pytest.raises(TypeError, match=message):
        type("New", (mc.Radial,), {name: member})


def test_a_class_with_parameters_must_be_a_dataclass():
    class Plain(mc.Radial):
        family: ClassVar[str] = "new"
        gamma: float = 1.0
        profile = staticmethod(_gaussian)

    with pytest.raises(
        TypeError,
        match=r"Plain declares gamma, but is not a dataclass; write @dataclass\(frozen=True",
    ):
        Plain(0.5)
    decorated = dataclass(frozen=True, eq=False)(Plain)
    X = np.random.default_rng(0).normal(size=(5, 2))
    np.testing.assert_allclose(decorated(0.5)(X), mc.Gaussian(0.5)(X), rtol=1e-12)


def test_a_class_without_parameters_of_its_own_needs_no_decorator():
    class Twice(mc.Gaussian):
        family: ClassVar[str] = "new"

        @staticmethod
        def profile(xp, s, gamma, **order):
            return 2 * mc.Gaussian.profile(xp, s, gamma, **order)

    assert Twice(0.5)([[0.0]]) == 2


def test_a_kernel_that_is_no_function_of_a_number_may_name_a_member_profile():
    class Named(Kernel):
        def profile(self):
            return "of the user"

    assert Named().profile() == "of the user"


@pytest.mark.parametrize("base", [mc.Radial, mc.Dot, mc.Coordinatewise])
def test_a_class_without_a_formula_is_refused_at_first_use(base):
    class Empty(base):
        pass

    with pytest.raises(
        TypeError, match=r"Empty must define (profile|term), a static method with the formula"
    ):
        Empty()


def test_a_profile_takes_the_functions_the_argument_and_every_field():
    @dataclass(frozen=True, eq=False)
    class Short(mc.Radial):
        rate: float = 1.0

        @staticmethod
        def profile(s, rate, order=0):
            return np.exp(-rate * s)

    with pytest.raises(
        TypeError,
        match=r"Short\.profile takes s, rate, order, but must take xp, s, rate and order=0",
    ):
        Short(2.0)

    @dataclass(frozen=True, eq=False)
    class Longer(mc.Gaussian):
        other: float = 1.0

    with pytest.raises(
        TypeError, match=r"Longer\.profile takes xp, s, gamma, order, but must .* gamma, other and"
    ):
        Longer(2.0)


def test_a_number_without_a_type_is_no_field_and_the_error_says_how_to_make_it_one():
    @dataclass(frozen=True, eq=False)
    class Bare(mc.Kernel):
        rate = 1.5
        length: float = 1.0

        def evaluate(self, tile):
            return tile.products * self.rate

    for values, named in (((2.0, 3.0), {}), ((), {"rate": 3.0})):
        with pytest.raises(
            TypeError, match=r"Bare has the parameters \(length\); .* write rate: float = 1\.5"
        ):
            Bare(*values, **named)
    # a constant of the class is allowed
    assert Bare(2.0)([[2.0]]) == 6.0
    with pytest.raises(TypeError, match="no parameter colour; it has gamma"):
        mc.Gaussian(colour=1.0)

    class Untyped(mc.Radial):
        rate = 1.0
        profile = staticmethod(_gaussian)

    with pytest.raises(
        TypeError, match=r"must take xp, s and order=0.*; a field needs a type: write rate: float"
    ):
        Untyped()


def test_a_function_that_xp_lacks_is_named_with_those_that_it_has():
    class Hyperbolic(mc.Dot):
        @staticmethod
        def profile(xp, s, order=0):
            return xp.cosh(s)

    with pytest.raises(
        AttributeError, match="xp has no 'cosh'; a profile may use abs, const, exp, .* where, and"
    ):
        Hyperbolic()([[1.0]])


class Twofold:
    def evaluate(self, tile):
        return 2 * super().evaluate(tile)

    def diagonal(self, points):
        return 2 * super().diagonal(points)


@pytest.mark.parametrize("mixed", [False, True], ids=["own", "mixin"])
@pytest.mark.parametrize("kernel", [mc.Gaussian(0.5), mc.Polynomial(2), mc.Linear()], ids=str)
def test_models_use_the_values_that_a_subclass_states_and_no_profile_of_its_base(kernel, mixed):
    if mixed:

        class Doubled(Twofold, type(kernel)):
            pass

    else:

        class Doubled(type(kernel)):
            def evaluate(self, tile):
                return 2 * super().evaluate(tile)

            def diagonal(self, points):
                return 2 * super().diagonal(points)

    doubled = Doubled(*kernel.get_params().values())
    X = np.random.default_rng(0).normal(size=(30, 3))
    y = (X[:, 0] > 0).astype(int)
    for own, plain in (
        (mc.SVC(kernel=doubled), mc.SVC(kernel=2.0 * kernel)),
        (mc.KernelRidge(kernel=doubled), mc.KernelRidge(kernel=2.0 * kernel)),
    ):
        expected = plain.fit(X, y).predict(X)
        np.testing.assert_allclose(own.fit(X, y).predict(X), expected, rtol=1e-9)
        score = "decision_function" if hasattr(own, "decision_function") else "predict"
        np.testing.assert_allclose(
            getattr(own, score)(X), getattr(plain, score)(X), rtol=1e-3, atol=1e-3
        )


def _subclasses(cls):
    for each in cls.__subclasses__():
        if each.__module__.startswith("mercer."):
            yield each
            yield from _subclasses(each)


STATED = {"admit", "profile", "term", "multiply", "multiplications", "unresolved", "__post_init__"}


@pytest.mark.parametrize("cls", [Kernel, *_subclasses(Kernel)])
def test_methods_state_their_types_where_they_are_defined(cls):
    # of one without types some checkers know nothing, and others infer that a method which may be overridden never ends
    for name in sorted(vars(cls).keys() & (STATED | PROTOCOL.keys())):
        signature = inspect.signature(getattr(cls, name))
        types = {each.name: each.annotation for each in signature.parameters.values()}
        types["return"] = signature.return_annotation
        types.pop("self", None)
        assert inspect.Signature.empty not in types.values(), name
