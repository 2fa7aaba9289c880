"""Check the types of the code in README, the guide and the examples: python -m tools.type_documents.

Code blocks of a document are one program; pyright checks it in standard mode, as editors do.
"""

import json
import re
import subprocess
import sys
import tempfile
from pathlib import Path

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
        first, block = text[: match.start(1)].count("\n"), match[1].splitlines()
        prompts = any(line.startswith(">>> ") for line in block)
        for i, line in enumerate(block, first):
            if not prompts:
                lines[i] = line
            elif line.startswith((">>> ", "... ")):
                lines[i] = line[4:]
    return "\n".join(lines)


def check(documents):
    """Return the errors of pyright in documents, as text: file, line and message."""
    with tempfile.TemporaryDirectory() as folder:
        names = {}
        for path in documents:
            text = path.read_text(encoding="utf-8")
            copy = Path(folder) / f"{path.stem}_{len(names)}.py"
            copy.write_text(text if path.suffix == ".py" else program(text), encoding="utf-8")
            names[copy.name] = path
        paths = [str(ROOT / "src"), str(ROOT)]
        Path(folder, "pyrightconfig.json").write_text(json.dumps(_OPTIONS | {"extraPaths": paths}), encoding="utf-8")
        command = ["pyright", "--outputjson", "-p", folder, "--pythonpath", sys.executable]
        done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    found = json.loads(done.stdout)["generalDiagnostics"]
    return [
        f"{names[Path(each['file']).name]}:{each['range']['start']['line'] + 1}: {each['message']}"
        for each in found
        if each["severity"] == "error"
    ]


def main():
    """Print the errors; exit with 1 if there are any."""
    errors = check(DOCUMENTS)
    print(*errors, f"{len(errors)} errors in {len(DOCUMENTS)} documents", sep="\n")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
