"""Version of the code that made a result: a hash of the package and of the files of the experiment."""

import ast
import functools
import hashlib
from pathlib import Path

FOLDER = Path(__file__).parent
PACKAGE = FOLDER.parent / "src" / "mercer"


def version(name, folder=FOLDER, package=PACKAGE):
    """Return the version of an experiment; comments and docstrings of the package do not count."""
    hashed = hashlib.sha256(_package(package).encode())
    for path in sorted(_files(folder / f"{name}.py", {})):
        hashed.update(path.read_bytes())
    return hashed.hexdigest()[:16]


@functools.cache
def _package(package):
    paths = sorted(package.rglob("*.py"))
    return hashlib.sha256(
        "".join(f"{path.relative_to(package)} {_code(path)}" for path in paths).encode()
    ).hexdigest()


def _code(path):
    """Return the code of a file as text, without comments and docstrings."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and ast.get_docstring(
            node, clean=False
        ):
            node.body[0] = ast.Pass()
    return ast.dump(tree)


def _files(path, found):
    """Return a script and the modules of its folder that it imports, directly or not."""
    found[path] = None
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").partition(".")[0] == "experiments"
        ):
            names = [node.module.rpartition(".")[2], *(alias.name for alias in node.names)]
        for each in (path.with_name(f"{name}.py") for name in names):
            if each not in found and each.exists():
                _files(each, found)
    return found
