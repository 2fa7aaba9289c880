"""Check the types of the code in README, the guide and the examples: python -m tools.type_documents.

Code blocks of a document are one program; pyright checks it in standard mode, as editors do, and in strict mode for
types of Mercer that are not known.
"""

import ast
import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
_PAGES = (ROOT / "docs").rglob("*.md")
DOCUMENTS = [
    ROOT / "README.md",
    *sorted(path for path in _PAGES if not {"_build", "api", "gallery"} & set(path.parts)),
    *sorted((ROOT / "examples").glob("*.py")),
]
_FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
# A last expression shows its value: its result is not lost. The source of libraries without types, such as
# scikit-learn, is not read: pyright would guess wrong types, such as a text for n_init because its default is "auto".
_OPTIONS = {
    "typeCheckingMode": "standard",
    "pythonVersion": "3.11",
    "reportUnusedExpression": False,
    "useLibraryCodeForTypes": False,
}


def program(text):
    """Return the code of a document on the lines where the document has it; other lines are empty."""
    lines = [""] * (text.count("\n") + 1)
    for match in _FENCE.finditer(text):
        first = text[: match.start(1)].count("\n")
        block = match[1].splitlines()
        prompts = any(line.startswith(">>> ") for line in block)
        for i, line in enumerate(block, first):
            if not prompts:
                lines[i] = line
            elif line.startswith((">>> ", "... ")):
                lines[i] = line[4:]
    return "\n".join(lines)


def alone(code):
    """Return a program on the same lines in which names of libraries other than Mercer have the type Any."""
    lines = code.split("\n")
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            lines[node.lineno - 1 : node.end_lineno] = [
                "" for _ in range(node.lineno - 1, node.end_lineno)
            ]
            lines[node.lineno - 1] = " " * node.col_offset + "; ".join(_imported(node))
    return "\n".join(lines)


def _imported(node):
    for name in node.names:
        of_module = isinstance(node, ast.ImportFrom)
        module = (node.module if of_module else name.name).split(".")[0]
        if module == "mercer" or module in sys.stdlib_module_names:
            yield ast.unparse(
                ast.ImportFrom(node.module, [name], 0) if of_module else ast.Import([name])
            )
        else:
            # the type of an attribute of a module that pyright cannot name is Any
            yield f"{name.asname or name.name.split('.')[0]} = __import__('').any"


def of_readers(code):
    """Return the lines of functions that have arguments without types, and the names of all functions."""
    nodes = [
        node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.FunctionDef | ast.Lambda)
    ]
    lines = {
        line
        for node in nodes
        for line in range(node.lineno, node.end_lineno + 1)
        if any(each.annotation is None and each.arg != "self" for each in node.args.args)
    }
    return lines, {node.name for node in nodes if isinstance(node, ast.FunctionDef)}


def check(documents, strict=False):
    """Return the errors of pyright in documents, as text: file, line and message.

    If ``strict``, only those of attributes with a type that is not known: other libraries, functions of readers, and
    attributes of lists and arrays, which readers fill, are left out, so that the attributes are Mercer's.
    """
    options = _OPTIONS | {"extraPaths": [str(ROOT / "src"), str(ROOT)]}
    if strict:
        options["typeCheckingMode"] = "strict"
    with tempfile.TemporaryDirectory() as folder:
        names, codes = {}, {}
        for path in documents:
            text = path.read_text(encoding="utf-8")
            copy = Path(folder) / f"{path.stem}_{len(names)}.py"
            codes[path] = text if path.suffix == ".py" else program(text)
            copy.write_text(alone(codes[path]) if strict else codes[path], encoding="utf-8")
            names[copy.name] = path
        Path(folder, "pyrightconfig.json").write_text(json.dumps(options), encoding="utf-8")
        command = ["pyright", "--outputjson", "-p", folder, "--pythonpath", sys.executable]
        done = subprocess.run(
            [sys.executable, "-m", *command], capture_output=True, text=True, check=False
        )
    found = []
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        path = names[Path(each["file"]).name]
        line = each["range"]["start"]["line"] + 1
        if each["severity"] == "error" and (not strict or _is_unknown(each, line, codes[path])):
            found.append(f"{path}:{line}: {each['message']}")
    return found


def _is_unknown(error, line, code):
    attribute = re.match(r'Type of "([a-zA-Z]\w*)" is (partially )?unknown', error["message"])
    if error.get("rule") != "reportUnknownMemberType" or attribute is None:
        return False
    lines, functions = of_readers(code)
    return line not in lines and attribute[1] not in functions.union(dir(list), dir(np.ndarray))


def main():
    """Print the errors; exit with 1 if there are any."""
    errors = check(DOCUMENTS) + check(DOCUMENTS, strict=True)
    print(*errors, f"{len(errors)} errors in {len(DOCUMENTS)} documents", sep="\n")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
