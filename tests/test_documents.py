"""Documents are correct: their code runs, their links have targets, and they contain no private paths."""

import importlib
import json
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCUMENTS = sorted(
    [
        *ROOT.glob("*.md"),
        *(path for path in ROOT.glob("docs/**/*.md") if "_build" not in path.parts),
    ]
)
FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]]*\]\(\s*<?([^)\s>]+)>?[^)]*\)|(?:src|href)=\"([^\"]+)\"")
HOME = re.compile(r"(?<![\w./~<{-])/(?:home|Users|root|work|workspace|mnt|media|scratch)/[\w.-]+")

documents = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT))
)


@documents
def test_python_in_a_document_runs_from_top_to_bottom(document, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": document.stem}
    for language, code in FENCE.findall(document.read_text(encoding="utf-8")):
        # pytest collects fences with prompts as doctests
        if language == "python" and ">>> " not in code:
            exec(compile(code, str(document), "exec"), names)


@documents
def test_local_links_have_targets(document):
    text = FENCE.sub("", document.read_text(encoding="utf-8"))
    targets = {(markdown or html).partition("#")[0] for markdown, html in LINK.findall(text)}
    local = {target for target in targets if target and not re.match(r"[a-z]+:", target)}
    assert [target for target in local if not (document.parent / target).exists()] == []


@documents
def test_names_of_mercer_exist(document):
    """Tables name functions too, and no doctest runs them."""
    import mercer

    named = set(re.findall(r"\bmc\.(\w+(?:\.[a-z_]\w*)*)\(", document.read_text(encoding="utf-8")))
    missing = []
    for name in named:
        thing = mercer
        for part in name.split("."):
            thing = getattr(thing, part, None)
        if thing is None:
            missing.append(name)
    assert missing == []


@pytest.mark.parametrize("name", ["benchmarks", "reproduction", "trust"])
def test_pages_of_measured_results_show_every_number_of_their_file(name, monkeypatch):
    monkeypatch.syspath_prepend(ROOT / "docs")
    tables = importlib.import_module("measured_tables")
    page = tables.fill(_text(ROOT / "docs" / f"{name}.md"))
    lines = [line.split("|")[1:-1] for line in page.splitlines() if line.startswith("|")]
    shown = {cell.strip() for line in lines for cell in line}
    found = json.loads(_text(ROOT / "docs" / "measured" / f"{name}.json"))
    if name == "benchmarks":
        assert {cell for table in found for row in table["rows"] for cell in row} <= shown
        assert all(
            f"*{table['date']}, {table['machine']}, `{table['command']}`*" in page
            for table in found
        )
    elif name == "reproduction":
        kinds = slice(1, 1 + len(tables.KINDS))
        counts = [[int(cell) for cell in line[kinds]] for line in lines[2:-1]]
        assert counts == [
            [each["verdicts"].get(kind, 0) for kind in tables.KINDS] for each in found
        ]
        assert lines[-1][kinds] == [f" **{sum(column)}** " for column in zip(*counts, strict=True)]
        assert len(re.findall(r": \S+ instead of \S+; ", page)) == sum(
            len(each["missed"]) for each in found
        )
    else:
        columns = found["probes"], *found["same_probes"].values()
        assert {f"{count:,}" for counts in columns for count in counts.values()} <= shown
        rows = [[cell.strip() for cell in line] for line in lines[-len(found["faults"]) :]]
        assert rows == [
            [kind, f"{sum(n.values()):,}", f"{n['ok']:,}"] for kind, n in found["faults"].items()
        ]
        assert len(lines) == 2 + len(found["probes"]) + 2 + len(rows)
        assert f"{found['mutations']['number']:,} mutated files" in page
        assert all(miss in page for miss in [*found["misses"], *found["not_run"]])


def test_figures_of_the_readme_are_those_of_the_page_of_benchmarks():
    found = json.loads(_text(ROOT / "docs" / "measured" / "benchmarks.json"))
    measured = {
        number
        for table in found
        for row in table["rows"]
        for cell in row
        for number in cell.split(", ")
    }
    table = _text(ROOT / "README.md").partition("| peers |")[2].partition("\n\n")[0]
    cells = [
        cell
        for line in table.splitlines()
        if "`" in line or "same" in line
        for cell in line.split("|")[2:4]
    ]
    numbers = [
        number
        for cell in cells
        for number in re.findall(r"\d[\d.]*(?: \d{3})?(?= s| GB| %| vectors)", cell)
    ]
    assert len(numbers) == 14
    assert [number for number in numbers if number not in measured] == []


def test_the_readme_fits_one_screen_more_or_less():
    assert len(_text(ROOT / "README.md").splitlines()) <= 140


def test_the_map_of_the_code_names_files_and_folders_that_exist():
    text = (
        _text(ROOT / "CONTRIBUTING.md").partition("## Where to find what")[2].partition("\n## ")[0]
    )
    named = re.findall(r"(?:_?\w+/)+(?:\w+\.py)?|\b_?\w+\.py", text)
    assert len(named) > 30
    source = ROOT / "src" / "mercer"
    inside = [name for name in named if not name.startswith(("src/", "tests/"))]
    assert [name for name in inside if not any(source.rglob(f"*{name.rstrip('/')}"))] == []


def test_no_file_contains_a_private_path():
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in _texts()
        for match in HOME.finditer(_text(path))
    ]
    assert found == []


def test_the_version_is_the_same_everywhere():
    import mercer

    version = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]["version"]
    assert mercer.__version__ == version
    assert re.search(rf"^## {re.escape(version)}\b", _text(ROOT / "CHANGELOG.md"), re.MULTILINE)
    assert f"\nversion: {version}\n" in _text(ROOT / "CITATION.cff")


def test_the_workflow_tests_the_python_versions_that_the_classifiers_name():
    project = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]
    versions = re.findall(r"Python :: (3\.\d+)", "\n".join(project["classifiers"]))
    matrix = re.search(r"python: \[(.*)\]", _text(ROOT / ".github" / "workflows" / "tests.yml"))[1]
    assert re.findall(r"3\.\d+", matrix) == versions
    assert project["requires-python"] == f">={versions[0]}"


def test_the_conda_recipe_takes_versions_and_requirements_from_the_project():
    jinja2 = pytest.importorskip("jinja2")
    project = tomllib.loads(_text(ROOT / "pyproject.toml"))["project"]
    known = {"PYTHON": "python", "load_file_data": lambda *_, **__: {"project": project}}
    recipe = jinja2.Template(_text(ROOT / ".github" / "conda" / "meta.yaml")).render(known)
    stated = re.findall(r"^ +- (.*)", recipe, re.MULTILINE)
    assert set(project["dependencies"]) <= set(stated)
    assert f"mercer = {project['scripts']['mercer']}" in stated
    assert f"version: {project['version']}" in recipe


def _texts():
    """Return the files under version control, or without git the files of the versioned folders."""
    try:
        listed = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True
        ).stdout
        paths = [ROOT / name for name in listed.splitlines()]
    except (OSError, subprocess.CalledProcessError):
        folders = ("src", "tests", "docs", "examples", "experiments", "benchmarks")
        paths = [*DOCUMENTS, *(path for folder in folders for path in (ROOT / folder).rglob("*"))]
    wanted = {".py", ".md", ".toml", ".rst", ".txt", ".yml", ".json", ".html", ".ipynb", ""}
    return [path for path in paths if path.is_file() and path.suffix in wanted]


def _text(path):
    return path.read_text(encoding="utf-8", errors="ignore")
