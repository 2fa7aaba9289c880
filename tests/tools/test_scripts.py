"""Scripts beside the library: the names of Mercer that they use exist."""

import ast
import importlib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPTS = [
    path
    for folder in ("benchmarks", "examples", "experiments", "tools")
    for path in sorted((ROOT / folder).rglob("*.py"))
]


def names_of(tree):
    """Return the names that a script imports from modules of Mercer, and those that it reads from its modules."""
    names = set()
    modules = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            own = [alias for alias in node.names if alias.name.partition(".")[0] == "mercer"]
            modules |= {alias.asname or "mercer": alias.name for alias in own if alias.asname}
            modules |= {"mercer": "mercer"} if own else {}
            names |= {(alias.name, "") for alias in own}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("mercer"):
            names |= {(node.module, alias.name) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            module = modules.get(node.value.id)
            names |= {(module, node.attr)} if module else set()
    return names


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_names_of_mercer_that_a_script_uses_exist(path):
    for module, name in sorted(names_of(ast.parse(path.read_text(encoding="utf-8")))):
        if "dask" in module:
            pytest.importorskip("dask")
        found = importlib.import_module(module)
        assert not name or hasattr(found, name) or importlib.import_module(f"{module}.{name}")
