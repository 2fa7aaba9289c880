"""Mutation check: change one constant, sign or operator at a time, and see whether a test of its package fails.

    python -m tools.mutate --number 110 --seed 0 --jobs 2
    python -m tools.mutate --package solvers/svm --number 60
    python -m tools.mutate --files src/mercer/kernels/dot.py --number 20
    python -m tools.mutate --package capacity linalg --list

The seed draws the mutants, in equal numbers from each package. A mutant of ``src/mercer/a/b.py`` runs against the test
files of ``tests/a``, the one with its name first, and against those in ``MORE_TESTS``, in a copy of the project. It is
killed when a test fails or runs for too long.
"""

import argparse
import ast
import json
import os
import queue
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = (
    "kernels",
    "solvers/svm",
    "preimages",
    "reduction",
    "capacity",
    "linalg",
    "invariance",
    "learning",
)
# Tests of a package that are not in its folder.
MORE_TESTS = {"solvers/svm": ("estimators/test_*sv*.py", "test_reliability_svm.py")}
# Compiled code of a mutant is written to a copy of the cache.
COMPILED = "compiled", "njit"
LIMIT = 60.0  # seconds that a mutant may take beyond twice the unchanged tests
TEST_LIMIT = 120  # seconds of one test
NOT_COPIED = (
    ".git",
    ".venv*",
    ".cache",
    "__pycache__",
    ".*_cache",
    ".hypothesis",
    "_build",
    "generated",
)

OPERATORS = {
    ast.Add: ("+", "-"), ast.Sub: ("-", "+"), ast.Mult: ("*", "/"), ast.Div: ("/", "*"), ast.FloorDiv: ("//", "*"),
    ast.Pow: ("**", "*"), ast.BitAnd: ("&", "|"), ast.BitOr: ("|", "&"), ast.And: ("and", "or"), ast.Or: ("or", "and"),
    ast.Lt: ("<", ">"), ast.Gt: (">", "<"), ast.LtE: ("<=", ">="), ast.GtE: (">=", "<="), ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="), ast.Is: ("is", "is not"), ast.IsNot: ("is not", "is"), ast.In: ("in", "not in"),
    ast.NotIn: ("not in", "in"), ast.USub: ("-", ""), ast.Not: ("not", ""), ast.Invert: ("~", ""),
}  # fmt: skip
# Equality matters beside a number: `n > 0` is a bound that somebody chose, `f(x) > best` hardly ever meets it.
BOUNDARIES = {ast.Lt: ("<", "<="), ast.Gt: (">", ">="), ast.LtE: ("<=", "<"), ast.GtE: (">=", ">")}
_OPPOSITES = [
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
]
CALLS = dict(_OPPOSITES) | {after: before for before, after in _OPPOSITES}

SILENT_CALLS = {"warn", "warn_once", "debug", "info", "warning"}
SKIPPED_FIELDS = {"annotation", "returns", "decorator_list"}
SKIPPED = ast.Raise, ast.Assert, ast.JoinedStr, ast.Import, ast.ImportFrom


@dataclass(frozen=True)
class Mutant:
    """One change: the bytes from `start` to `end` of a file become `after`."""

    path: str
    line: int
    start: int
    end: int
    before: str
    after: str
    text: str

    def __str__(self):
        return f"{self.path}:{self.line}: {self.before or 'nothing'} -> {self.after or 'nothing'} in: {self.text}"

    def apply(self, source):
        """Return the changed source."""
        data = source.encode()
        return (data[: self.start] + self.after.encode() + data[self.end :]).decode()


def mutants(source, path=""):
    """Return all mutants of a source text, in the order of their places."""
    data, lines = source.encode(), source.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line.encode()) + 1)
    found = []
    for node in _nodes(ast.parse(source)):
        for first, last, before, after in _changes(node):
            start = starts[first[0] - 1] + first[1]
            end = starts[last[0] - 1] + last[1]
            if before is None:
                before = data[start:end].decode()
            start = data.index(before.encode(), start, end)
            line = data.count(b"\n", 0, start) + 1
            text = lines[line - 1].strip()
            found.append(
                Mutant(str(path), line, start, start + len(before.encode()), before, after, text)
            )
    return sorted(found, key=lambda mutant: (mutant.start, mutant.after))


def _nodes(node):
    """Yield the nodes whose change may change a result: no annotations, decorators, messages or logging."""
    if isinstance(node, SKIPPED):
        return
    if isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
        return
    if isinstance(node, ast.Call) and ast.unparse(node.func).rpartition(".")[2] in SILENT_CALLS:
        return
    yield node
    for field, value in ast.iter_fields(node):
        if field not in SKIPPED_FIELDS:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _nodes(child)


def _changes(node):
    """Yield (first place, last place, text before, text after) for each change of a node; None stands for all text."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        for value in _numbers(node.value):
            yield _start(node), _end(node), None, repr(value)
    elif isinstance(node, ast.BinOp) and not (_is_text(node.left) or _is_text(node.right)):
        yield from _between(node.left, node.right, node.op, OPERATORS)
    elif isinstance(node, ast.AugAssign):
        yield from _between(node.target, node.value, node.op, OPERATORS)
    elif isinstance(node, ast.UnaryOp) and type(node.op) in OPERATORS:
        yield _start(node), _start(node.operand), *OPERATORS[type(node.op)]
    elif isinstance(node, ast.BoolOp):
        for left, right in pairwise(node.values):
            yield from _between(left, right, node.op, OPERATORS)
    elif isinstance(node, ast.Compare):
        for (left, right), op in zip(
            pairwise([node.left, *node.comparators]), node.ops, strict=True
        ):
            yield from _between(left, right, op, OPERATORS)
            if _is_number(left) or _is_number(right):
                yield from _between(left, right, op, BOUNDARIES)
    elif isinstance(node, ast.Call):
        name = ast.unparse(node.func).rpartition(".")[2]
        if name in CALLS:
            last = _end(node.func)
            yield (last[0], last[1] - len(name)), last, name, CALLS[name]


def _numbers(value):
    """Return the numbers that replace a number: large ones, often sizes and limits, change by a factor that matters."""
    if abs(value) >= 4:
        return [value // 2, 2 * value] if isinstance(value, int) else [value / 2, 2 * value]
    if isinstance(value, int):
        return [value + 1, value - 1] if value >= 2 else [value + 1]
    return sorted({value + 1.0, 2.0 * value} - {value}) if abs(value) >= 0.01 else [value + 1.0]


def _between(left, right, op, table):
    if type(op) in table:
        yield _end(left), _start(right), *table[type(op)]


def _start(node):
    return node.lineno, node.col_offset


def _end(node):
    return node.end_lineno, node.end_col_offset


def _is_text(node):
    return isinstance(node, ast.JoinedStr) or (
        isinstance(node, ast.Constant) and isinstance(node.value, str)
    )


def _is_number(node):
    return isinstance(node, ast.Constant) and type(node.value) in (int, float)


def find_tests(path, root):
    """Return the test files of the package of a source file, relative to the project; the likeliest to fail first."""
    inside = Path(path).relative_to("src/mercer")
    package = inside.parent.as_posix()
    patterns = [f"{package}/test_*.py", *MORE_TESTS.get(package, ())]
    found = {
        test.relative_to(root) for pattern in patterns for test in (root / "tests").glob(pattern)
    }
    own = Path("tests") / inside.with_name(f"test_{inside.name}")
    return sorted(found, key=lambda test: (test != own, test.parts[1] != inside.parts[0], test))


def draw(groups, count, seed):
    """Draw `count` mutants, in equal numbers from each group (a list of mutants by name)."""
    drawn = {}
    for index, (name, found) in enumerate(groups.items()):
        share = count // len(groups) + (index < count % len(groups))
        drawn[name] = random.Random(f"{seed} {name}").sample(found, min(share, len(found)))
    return drawn


class Workspace:
    """A copy of the project in which one mutant at a time is tested."""

    def __init__(self, root, folder):
        self.root = Path(folder) / "project"
        shutil.copytree(root, self.root, ignore=shutil.ignore_patterns(*NOT_COPIED))
        self.cache = Path(folder) / "numba"
        self._unchanged = {}

    def run(self, tests, limit, cache):
        """Return whether test files pass within `limit` seconds, and the seconds they took."""
        environment = os.environ | {
            "PYTHONPATH": os.pathsep.join([str(self.root / "src"), str(self.root)]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "NUMBA_CACHE_DIR": str(cache),
            # several jobs at a time, and threads of BLAS that wait for each other take minutes
            "OMP_NUM_THREADS": "1",
            "MPLBACKEND": "Agg",
            "SCIPY_ARRAY_API": "1",
        }
        # a loop of compiled code that never ends is stopped by a thread only
        limits = f"--timeout={TEST_LIMIT}", "--timeout-method=thread"
        command = [
            sys.executable,
            "-m",
            "pytest",
            "-x",
            "-q",
            "--no-header",
            "-p",
            "no:cacheprovider",
            *limits,
        ]
        command += map(str, tests)
        started = time.monotonic()
        process = subprocess.Popen(
            command, cwd=self.root, env=environment, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        try:
            passed = process.wait(limit) == 0
        except subprocess.TimeoutExpired:
            passed = False
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        return passed, time.monotonic() - started

    def unchanged(self, tests):
        """Return whether test files pass without a change, and the seconds that took; they run once."""
        if tests not in self._unchanged:
            self._unchanged[tests] = self.run(tests, 3600, self.cache)
        return self._unchanged[tests]

    def outcome(self, mutant):
        """Return the end of a mutant, "killed", "survived" or "tests fail unchanged", and the seconds it took."""
        tests = tuple(find_tests(mutant.path, self.root))
        passed, seconds = self.unchanged(tests)
        if not passed:
            return "tests fail unchanged", seconds
        path = self.root / mutant.path
        source, status = path.read_text(encoding="utf-8"), path.stat()
        cache = self.cache
        if any(word in source for word in COMPILED) and self.cache.is_dir():
            cache = Path(tempfile.mkdtemp(dir=self.root.parent)) / "numba"
            shutil.copytree(self.cache, cache)
        path.write_text(mutant.apply(source), encoding="utf-8")
        try:
            survived, seconds = self.run(tests, LIMIT + 2 * seconds, cache)
        finally:
            path.write_text(source, encoding="utf-8")
            # machine code on disk names the time of its source file
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))
            if cache is not self.cache:
                shutil.rmtree(cache.parent)
        return "survived" if survived else "killed", seconds


def check(drawn, root, jobs, show=print):
    """Run each mutant; return {mutant: (outcome, seconds)}."""
    results = {}
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder, ThreadPoolExecutor(jobs) as pool:
        free = queue.SimpleQueue()
        for index in range(jobs):
            free.put(Workspace(root, Path(folder) / str(index)))

        def check_one(mutant):
            workspace = free.get()
            try:
                results[mutant] = outcome, seconds = workspace.outcome(mutant)
                show(f"{outcome:9}{seconds:7.1f} s  {mutant}", flush=True)
            finally:
                free.put(workspace)

        list(pool.map(check_one, drawn))
    return results


def candidates(names, root):
    """Return the mutants of the files of packages with tests, by package or file."""
    groups = {}
    for name in names:
        place = root / name if name.startswith("src/") else root / "src" / "mercer" / name
        files = [place] if place.is_file() else sorted(place.rglob("*.py"))
        inside = [file.relative_to(root) for file in files]
        tested = [
            path for path in inside if not path.name.startswith("__") and find_tests(path, root)
        ]
        groups[name] = [
            m for path in tested for m in mutants((root / path).read_text(encoding="utf-8"), path)
        ]
    return groups


def main(arguments=None, root=ROOT):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--package", nargs="+", default=PACKAGES, help="folders or files of src/mercer"
    )
    parser.add_argument("--files", nargs="+", help="source files, instead of packages")
    parser.add_argument("--number", type=int, default=110)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument(
        "--least", type=float, default=0.9, help="share to be killed, or the exit code is 1"
    )
    parser.add_argument("--list", action="store_true", help="show the mutants and run nothing")
    parser.add_argument("--json", help="a file for the results")
    options = parser.parse_args(arguments)
    drawn = draw(candidates(options.files or options.package, root), options.number, options.seed)
    if options.list:
        print(*(mutant for found in drawn.values() for mutant in found), sep="\n")
        return 0
    results = check([mutant for found in drawn.values() for mutant in found], root, options.jobs)
    for name, found in [*drawn.items(), ("all", list(results))]:
        killed = sum(results[mutant][0] == "killed" for mutant in found)
        print(
            f"{name:40}{killed:5} of {len(found):4} killed, {100 * killed / max(len(found), 1):.0f} %"
        )
    if options.json:
        rows = [
            asdict(mutant) | {"outcome": how, "seconds": seconds}
            for mutant, (how, seconds) in results.items()
        ]
        Path(options.json).write_text(json.dumps(rows, indent=1), encoding="utf-8")
    return int(killed < options.least * len(results))


if __name__ == "__main__":
    sys.exit(main())
