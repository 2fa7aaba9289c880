"""Count lines of code, and lines of docstrings of public and of other definitions, by tokens.

    python -m tools.count_lines [folder ...]

A line of code has a token that is neither a comment nor part of a docstring. A definition is public if it is in
``mercer.__all__`` or in the ``__all__`` of a module on the API page, or if it is a public member of such a class.
"""

import ast
import importlib
import inspect
import io
import sys
import tokenize
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "mercer"
# Modules whose names are public too.
OPEN = (
    "capacity", "compression", "datasets", "definiteness", "formats", "kernels", "manifold", "maps", "plot",
    "preimages", "reduction", "regularisation", "solvers", "testing",
)  # fmt: skip
_LAYOUT = {tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING}


@dataclass(frozen=True)
class Counted:
    """Lines of one file: code, comments, docstring of each definition, code of each function."""

    code: int
    comments: int
    docstrings: dict
    functions: dict


def count(path):
    """Count the lines of one file."""
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    docstrings = {name: _docstring(node) for name, node in _definitions(tree) if _docstring(node)}
    inside = {line for first, last in docstrings.values() for line in range(first, last + 1)}
    code, comments = set(), set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        lines = range(token.start[0], token.end[0] + 1)
        if token.type == tokenize.COMMENT:
            comments.update(lines)
        elif token.type not in _LAYOUT:
            code.update(lines)
    code -= inside
    functions = {
        name: sum(line in code for line in range(node.lineno, node.end_lineno + 1))
        for name, node in _definitions(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    lengths = {name: last - first + 1 for name, (first, last) in docstrings.items()}
    return Counted(len(code), len(comments - code), lengths, functions)


def _definitions(tree, prefix=""):
    """Yield the dotted name and the node of the module and of each definition in it."""
    if isinstance(tree, ast.Module):
        yield "", tree
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield prefix + node.name, node
            yield from _definitions(node, f"{prefix}{node.name}.")
        elif not isinstance(node, ast.expr):
            yield from _definitions(node, prefix)


def _docstring(node):
    """Return the first and the last line of a docstring, or None."""
    first = node.body[0] if node.body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
        return first.lineno, first.end_lineno
    return None


def public():
    """Return the (module, name) of every public function, class and method."""
    mercer = importlib.import_module("mercer")
    things = [getattr(mercer, name) for name in mercer.__all__]
    for module in map(importlib.import_module, (f"mercer.{name}" for name in OPEN)):
        names = getattr(module, "__all__", [name for name in vars(module) if not name.startswith("_")])
        things += [getattr(module, name) for name in names]
    found = set()
    for thing in things:
        if inspect.isclass(thing) or inspect.isroutine(thing):
            found.add((thing.__module__, thing.__qualname__))
        if inspect.isclass(thing):
            bases = [base for base in thing.__mro__ if base.__module__.startswith("mercer")]
            found |= {
                (base.__module__, f"{base.__qualname__}.{name}")
                for base in bases
                for name in vars(base)
                if not name.startswith("_")
            }
    return found


def main():
    folders = [Path(name).resolve() for name in sys.argv[1:]] or [SOURCE]
    known = public()
    total = Counter()
    for path in sorted(path for folder in folders for path in folder.rglob("*.py")):
        counted = count(path)
        total += Counter(files=1, code=counted.code, comments=counted.comments)
        inside = path.relative_to(SOURCE.parent) if path.is_relative_to(SOURCE) else path
        module = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
        for name, lines in counted.docstrings.items():
            kind = "module" if not name else "public" if (module, name) in known else "other"
            total[f"docstrings, {kind}"] += lines
    for name, lines in total.items():
        print(f"{name:24}{lines:8}")


if __name__ == "__main__":
    main()
