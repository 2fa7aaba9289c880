"""Types of inherited methods: each is a method of scikit-learn with the same arguments."""

import ast
import inspect
from pathlib import Path

import pytest
from sklearn import base
from tests import public

import mercer as mc

# The classes for type checkers.
(TYPES,) = (
    node
    for node in ast.parse(
        (Path(mc.__file__).parent / "estimators" / "inherited.py").read_text("utf-8")
    ).body
    if isinstance(node, ast.If)
)
CLASSES = [node for node in TYPES.body if isinstance(node, ast.ClassDef)]
# Written by scikit-learn's metadata routing for each class, from the arguments of its methods.
ROUTED = {"set_score_request"}


# The classes that public estimators derive from.
BASES = {
    each.__name__: each
    for name in public.NAMES
    if isinstance(getattr(mc, name), type) and issubclass(getattr(mc, name), base.BaseEstimator)
    for each in getattr(mc, name).__mro__
}


def _methods(node):
    return {each.name: each.args for each in node.body if isinstance(each, ast.FunctionDef)}


@pytest.mark.parametrize("name", [node.name for node in CLASSES if node.name[0] != "_"])
def test_the_methods_are_those_of_scikit_learn(name):
    own = getattr(base, name)
    (node,) = (node for node in CLASSES if node.name == name)
    assert issubclass(BASES[name], own)
    inner = {each.id for each in node.bases if isinstance(each, ast.Name)}
    for part in (node, *(each for each in CLASSES if each.name in inner)):
        own = getattr(base, part.name, own)
        for method, args in _methods(part).items():
            if method in ROUTED:
                assert hasattr(mc.SVC, method)
                assert hasattr(mc.SVR, method)
                continue
            theirs = inspect.signature(getattr(own, method)).parameters.values()
            given = [*args.args, *args.kwonlyargs, *filter(None, [args.kwarg])]
            assert [each.name for each in theirs] == [each.arg for each in given]
            assert sum(each.default is not each.empty for each in theirs) == len(
                args.defaults
            ) + len(args.kw_defaults)
