"""Print the shape of the code by package: tokens, parameters, packed assignments, constants, types, circles of imports.

    python -m tools.shape
    python -m tools.shape --show packed solvers/svm    # the places of one figure, in one package or in all

Each line is a package of ``src/mercer``, a package of its solvers, or ``modules``, the files beside the packages.

tokens
    All tokens except comments, line ends, indentation and docstrings.
a line
    Tokens for each line of code, that is, each line with such a token.
packed
    Assignments of a tuple to a tuple, as in ``a, b = 1, 2``.
wide
    Functions with more than 7 parameters (``self`` is one), apart from public functions and methods, kernels of Triton,
    and compiled functions that a single function calls.
numbers
    Names of modules in capitals whose value contains a number.
Any
    Share of annotations of parameters and results that are ``Any`` and nothing else.
circles
    Groups of modules that import one another, imports for type checking and inside functions included.

A file of tests imports private names if the dotted path of an import has a component with a leading underscore: a
package, a module or a name; ``mercer._compute.points`` and ``mercer.factor._FITS`` are both private. A patch is a call
of a method ``setattr``, as that of the fixture ``monkeypatch``.
"""

import argparse
import ast
import importlib
import inspect
import io
import tokenize
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MOST_PARAMETERS = 7
# Modules whose names are public too.
OPEN = (
    "capacity", "compression", "datasets", "definiteness", "formats", "invariance", "kernels", "learning", "manifold",
    "maps", "plot", "preimages", "reduction", "regularisation", "testing",
)  # fmt: skip
COLUMNS = "packed", "wide", "numbers", "Any", "circles"
OF_TESTS = "private", "patches"
_LAYOUT = {
    tokenize.COMMENT, tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER,
    tokenize.ENCODING,
}  # fmt: skip
_FUNCTIONS = ast.FunctionDef, ast.AsyncFunctionDef


@dataclass(frozen=True)
class File:
    """A source file: its place under the root, the dotted name of its module, its text."""

    path: Path
    module: str
    text: str

    @cached_property
    def tree(self):
        return ast.parse(self.text)

    @property
    def package(self):
        return self.module if self.path.name == "__init__.py" else self.module.rpartition(".")[0]

    @property
    def group(self):
        """The line of the table for this file: ``modules``, a package, or a package of the solvers."""
        folders = self.path.parent.parts
        return "/".join(folders[: 2 if folders[:1] == ("solvers",) else 1]) or "modules"

    @cached_property
    def imports(self):
        """The dotted path of each imported name, by its name in this file."""
        found = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Import):
                found |= {alias.asname or alias.name: alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                above = self.package.split(".")[: 1 - node.level or None] if node.level else []
                start = ".".join([*above, *filter(None, [node.module])])
                found |= {
                    alias.asname or alias.name: f"{start}.{alias.name}" for alias in node.names
                }
        return found


def read(folder, name=""):
    """Return the files of a folder; ``name`` is the dotted name of the folder."""
    folder = Path(folder)
    files = []
    for path in sorted(folder.rglob("*.py")):
        inside = path.relative_to(folder)
        module = ".".join(filter(None, [name, *inside.with_suffix("").parts])).removesuffix(
            ".__init__"
        )
        files.append(File(inside, module, path.read_text(encoding="utf-8")))
    return files


@cache
def tokens(file):
    """Return the numbers of tokens and of lines of code."""
    documented = _docstring_lines(file.tree)
    found = [
        token
        for token in tokenize.generate_tokens(io.StringIO(file.text).readline)
        if token.type not in _LAYOUT and token.start[0] not in documented
    ]
    return len(found), len(
        {line for token in found for line in range(token.start[0], token.end[0] + 1)}
    )


def _docstring_lines(tree):
    found = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, (ast.Module, ast.ClassDef, *_FUNCTIONS))
            and ast.get_docstring(node, clean=False) is not None
        ):
            found.update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return found


def packed(file):
    """Return the lines of assignments of a tuple to a tuple."""
    return [
        node.lineno
        for node in ast.walk(file.tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.value, ast.Tuple)
        and any(isinstance(target, ast.Tuple) for target in node.targets)
    ]


def numbers(file):
    """Return the names in capitals that a module binds to an expression with a number."""
    found = []
    for node in file.tree.body:
        if isinstance(node, (ast.Assign, ast.AnnAssign)) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            if any(
                isinstance(each, ast.Constant) and type(each.value) in (int, float)
                for each in ast.walk(node.value)
            ):
                found += [
                    each.id
                    for target in targets
                    for each in ast.walk(target)
                    if isinstance(each, ast.Name)
                ]
    return [name for name in found if name.isupper()]


@cache
def annotations(file):
    """Return (line, text) of each annotation of a parameter or a result."""
    found = []
    for node in ast.walk(file.tree):
        annotation = (
            node.annotation if isinstance(node, ast.arg) else getattr(node, "returns", None)
        )
        if annotation is not None:
            found.append((annotation.lineno, ast.unparse(annotation)))
    return found


def functions(file):
    """Yield the dotted name and the node of each function of a file, those of classes and functions included."""

    def below(node, prefix):
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.ClassDef, *_FUNCTIONS)):
                if not isinstance(child, ast.ClassDef):
                    yield prefix + child.name, child
                yield from below(child, f"{prefix}{child.name}.")
            elif not isinstance(child, ast.expr):
                yield from below(child, prefix)

    return below(file.tree, f"{file.module}.")


def parameters(function):
    """Return the number of named parameters of the node of a function."""
    arguments = function.args
    return len([*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])


def wide(files, public=frozenset()):
    """Return (file, line, dotted name, number of parameters) of functions with too many."""
    users = _users(files)
    found = []
    for file in files:
        for name, node in functions(file):
            decorators = " ".join(map(ast.unparse, node.decorator_list))
            used_once = "compiled" in decorators and len(users.get(name, set()) - {name}) <= 1
            exempt = used_once or "triton" in decorators or name.removesuffix(".__init__") in public
            if parameters(node) > MOST_PARAMETERS and not exempt:
                found.append(
                    (file, node.lineno, name.removeprefix(f"{file.module}."), parameters(node))
                )
    return found


def _users(files):
    """Return {dotted name: the functions or modules that read it}, for names of modules."""
    found = {}
    for file in files:
        nodes = [(file.module, node) for node in file.tree.body if not isinstance(node, _FUNCTIONS)]
        for user, top in [*nodes, *functions(file)]:
            for node in ast.walk(top):
                if isinstance(node, ast.Name):
                    name = file.imports.get(node.id, f"{file.module}.{node.id}")
                elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                    name = f"{file.imports.get(node.value.id, '')}.{node.attr}"
                else:
                    continue
                found.setdefault(name, set()).add(user)
    return found


def circles(files):
    """Return the groups of modules that import one another, each as a sorted list."""
    modules = {file.module for file in files}
    needs = {}
    for file in files:
        wanted = {
            path if path in modules else path.rpartition(".")[0] for path in file.imports.values()
        }
        needs[file.module] = wanted & modules - {file.module}
    reached = {module: _reached(module, needs) for module in needs}
    groups = {
        frozenset(other for other in reached[module] if module in reached[other])
        for module in needs
    }
    return sorted(sorted(group) for group in groups if len(group) > 1)


def _reached(module, needs):
    found, left = set(), [module]
    while left:
        for other in needs[left.pop()] - found:
            found.add(other)
            left.append(other)
    return found


def private_imports(file):
    """Return the imports of a test file that have a component with a leading underscore under ``mercer``."""
    paths = [path for path in file.imports.values() if path.startswith("mercer.")]
    return [path for path in paths if any(_is_private(name) for name in path.split("."))]


def _is_private(name):
    return name.startswith("_") and not name.startswith("__")


def patches(file):
    """Return the lines of calls of a method ``setattr``."""
    calls = [node.func for node in ast.walk(file.tree) if isinstance(node, ast.Call)]
    return [
        call.lineno for call in calls if isinstance(call, ast.Attribute) and call.attr == "setattr"
    ]


def public_names():
    """Return the dotted name of every public function, class and method: of the library and of its public modules."""
    mercer = importlib.import_module("mercer")
    things = [getattr(mercer, name) for name in mercer.__all__]
    for module in map(importlib.import_module, (f"mercer.{name}" for name in OPEN)):
        names = getattr(
            module, "__all__", [name for name in vars(module) if not name.startswith("_")]
        )
        things += [getattr(module, name) for name in names]
    found = set()
    for thing in things:
        if inspect.isclass(thing) or inspect.isroutine(thing):
            found.add(f"{thing.__module__}.{thing.__qualname__}")
        if inspect.isclass(thing):
            bases = [base for base in thing.__mro__ if base.__module__.startswith("mercer")]
            found |= {
                f"{base.__module__}.{base.__qualname__}.{name}"
                for base in bases
                for name in vars(base)
                if not name.startswith("_")
            }
    return found


def places(files, tests, public=frozenset()):
    """Return {figure: [(group, place), ...]} of all that ``--show`` prints."""
    groups = {file.module: file.group for file in files}
    return {
        "packed": [(file.group, f"{file.path}:{line}") for file in files for line in packed(file)],
        "wide": [
            (file.group, f"{file.path}:{line}: {name} has {number}")
            for file, line, name, number in wide(files, public)
        ],
        "numbers": [
            (file.group, f"{file.path}: {name}") for file in files for name in numbers(file)
        ],
        "Any": [
            (file.group, f"{file.path}:{line}")
            for file in files
            for line, text in annotations(file)
            if text == "Any"
        ],
        "circles": [(groups[circle[0]], ", ".join(circle)) for circle in circles(files)],
        "private": [
            (file.group, f"{file.path}: {name}") for file in tests for name in private_imports(file)
        ],
        "patches": [
            (file.group, f"{file.path}:{line}") for file in tests for line in patches(file)
        ],
    }


def table(files, found):
    """Return {group: {column: value}}, the largest group first, and a last line for all."""
    rows = {}
    for group in [*sorted({file.group for file in files}), "all"]:
        own = [file for file in files if group in (file.group, "all")]
        count = {name: sum(group in (each, "all") for each, _ in found[name]) for name in COLUMNS}
        code = sum(tokens(file)[0] for file in own)
        notes = sum(len(annotations(file)) for file in own)
        rows[group] = {
            "tokens": code,
            "files": len(own),
            "a line": code / max(1, sum(tokens(file)[1] for file in own)),
            **count,
            "Any": count["Any"] / max(1, notes),
        }
    return dict(sorted(rows.items(), key=lambda row: (row[0] == "all", -row[1]["tokens"])))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("group", nargs="?", default="all", help="a line of the table, with --show")
    parser.add_argument(
        "--show", choices=[*COLUMNS, *OF_TESTS], help="print the places that a figure counts"
    )
    options = parser.parse_args()
    files = read(ROOT / "src" / "mercer", "mercer")
    tests = read(ROOT / "tests", "tests")
    found = places(files, tests, public_names())
    if options.show:
        print(
            *(place for group, place in found[options.show] if options.group in (group, "all")),
            sep="\n",
        )
        return
    columns = {
        "tokens": 9,
        "files": 7,
        "a line": 8,
        "packed": 8,
        "wide": 6,
        "numbers": 9,
        "Any": 7,
        "circles": 9,
    }
    print(f"{'':22}" + "".join(f"{name:>{width}}" for name, width in columns.items()))
    for group, row in table(files, found).items():
        shown = row | {"a line": f"{row['a line']:.1f}", "Any": f"{row['Any']:.0%}"}
        print(f"{group:22}" + "".join(f"{shown[name]:>{width}}" for name, width in columns.items()))
    private = len({file.path for file in tests if private_imports(file)})
    print(
        f"\nfiles of tests that import private names: {private} of {len(tests)}; patches: {len(found['patches'])}"
    )


if __name__ == "__main__":
    main()
