"""Verdicts follow the rule, and the page holds all numbers without figures wider than it."""

import json
import sys

import numpy as np
import pytest
import scipy.sparse
from experiments._report import Entry, Goal, Picture, Statement

from experiments import __main__ as runner
from experiments import _code, _page, _report


@pytest.mark.parametrize(
    ("ours", "best", "deviation", "verdict"),
    [
        (10.9, "least", None, "reproduced"),  # within a tenth
        (11.1, "least", None, "not reproduced"),
        (11.1, "largest", None, "better"),
        ([8.0, 8.5], "least", None, "better"),
        ([8.0, 8.5], "", None, "not reproduced"),
        # a range of draws around the published number is not enough
        ([1.0, 3.0, 12.0], "largest", None, "not reproduced"),
        ([2.0, 9.5, 100.0], "largest", None, "reproduced"),
        # inside the published deviation
        (7.0, "", 3.0, "reproduced"),
        (6.9, "", 3.0, "not reproduced"),
        (10.9, "", 0.1, "reproduced"),
    ],
)
def test_the_verdict_of_an_entry_follows_the_median(ours, best, deviation, verdict):
    record = Entry("Table I", "row", 10.0, "S", ours, best, "seeds", deviation).record()
    assert record["verdict"] == verdict
    assert record["reason"] == ("seeds" if verdict == "not reproduced" else "")
    low, high = record["spread"]
    assert low <= record["ours"] <= high
    difference = abs(record["ours"] - 10)
    assert record["near"] == (difference <= 1)
    assert record["inside"] == (None if deviation is None else difference <= deviation)


def test_published_numbers_of_arrays_are_written():
    record = Entry(
        "Table I", "row", np.float64(10.0), "S", np.arange(8.0, 12.0), deviation=np.float64(3.0)
    ).record()
    assert json.loads(json.dumps(record)) == record


def test_a_number_that_nobody_published_is_beyond():
    assert Entry("Table I", "row", None, "", 3.0, "least").record()["verdict"] == "beyond"


@pytest.mark.parametrize(
    ("best", "verdicts"), [("least", ["reached", "missed"]), ("largest", ["missed", "reached"])]
)
def test_a_goal_counts_apart_from_what_is_published(best, verdicts):
    records = [Goal("Table I", "row", 2.0, ours, best).record() for ours in ([1.0, 1.5, 9.0], 3.0)]
    assert [record["verdict"] for record in records] == [f"goal {verdict}" for verdict in verdicts]
    records = [{"source": "a", **record} for record in records]
    assert _page.shares(records) == {}
    found = {
        "name": "x",
        "title": "X",
        "source": "a",
        "entries": records,
        "texts": ["One."],
        "pictures": [],
    }
    text = _page.document(
        [found | {"skipped": "", "old": False, "quick": False, "seconds": 1.0}], records
    )
    assert "not reproduced" not in text
    assert text.count("goal 2") == 2


def test_a_statement_holds_up_to_its_limit():
    assert Statement("Table I", "row", "S", 1.0, 1.0).record()["verdict"] == "reproduced"
    assert Statement("Table I", "row", "S", 1.1, 1.0).record()["verdict"] == "not reproduced"


def records(tag, verdicts, table="Table I"):
    shown = {"near": tag == "S", "inside": None}
    return [
        {"source": "a", "table": table, "published": 1.0, "tag": tag, "verdict": each, **shown}
        for each in verdicts
    ]


def test_shares_count_numbers_that_were_read_or_are_remembered_without_doubt():
    found = _page.shares(
        records("S", ["reproduced", "better"])
        + records("M-hi", ["not reproduced"])
        + records("M-med", ["reproduced"])
        + records("S2", ["reproduced"], "Table II")
    )
    assert found["a", "Table I"] == {
        "entries": 3,
        "near": 2,
        "inside": 0,
        "reproduced": 1,
        "better": 1,
    }
    assert found["a", "Table II"] == {
        "entries": 1,
        "near": 0,
        "inside": 0,
        "reproduced": 1,
        "better": 0,
    }


def test_shares_do_not_count_statements_and_numbers_without_a_published_one():
    others = [
        {**records("S", ["reproduced"])[0], "published": value} for value in ("at most 1", None)
    ]
    assert _page.shares(others) == {}


def experiment(quick):
    yield "One < two."
    yield Entry("Table I", "x & y", 2.0, "S", [1.0, 3.0] if quick else 5.0)

    def draw():
        figure, ax = _report.panels(1, 1)
        ax.plot([0, 1], [0, 1])
        return figure

    yield Picture(draw, "A line.")
    raise FileNotFoundError("no data set 'usps'; see SOURCES")


def test_a_page_is_one_file_with_every_number_and_says_which_data_are_missing():
    found = {"name": "x", "title": "X", "source": "Paper"} | _report.collect(
        experiment, True, show=str
    )
    assert "data set 'usps'" in found["skipped"]
    found["old"] = True
    text = _page.document([found], [{"source": "Paper", **record} for record in found["entries"]])
    for part in (
        "One &lt; two.",
        "x &amp; y",
        "prefers-color-scheme: dark",
        "1 to 3",
        'href="#x"',
        "A line.",
        "usps",
        "other code",
    ):
        assert part in text
    assert "http" not in text
    # both images of the figure are inline
    assert text.count("data:image/png;base64,") == 2


def run(output, *arguments):
    """Run the command ``python -m experiments``."""
    before = sys.argv[1:]
    sys.argv[1:] = [*arguments, "--output", str(output)]
    try:
        runner.main()
    finally:
        sys.argv[1:] = before


def results(output, name):
    return json.loads((output / f"{name}.json").read_text())


def test_an_experiment_without_its_data_set_runs_again_when_the_data_come(tmp_path, monkeypatch):
    data, output = tmp_path / "data", tmp_path / "output"
    data.mkdir()
    monkeypatch.setenv("MERCER_DATA", str(data))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home"))
    run(output, "text_categories", "--quick")
    assert "reuters_moneyfx" in results(output, "text_categories")["skipped"]
    assert "reuters_moneyfx" in (output / "index.html").read_text()
    rng = np.random.default_rng(0)
    arrays = {"shape": np.array([80, 40, 5])}
    for part, rows in (("train", 80), ("test", 40)):
        y = np.where(rng.random(rows) < 0.4, 1, -1)
        X = scipy.sparse.csr_array(
            np.abs(rng.normal(size=(rows, 5))) + np.outer(y > 0, np.eye(5)[0])
        )
        name = {"train": "Xtr", "test": "Xte"}[part]
        arrays |= {
            f"y_{part}": y,
            f"{name}_data": X.data,
            f"{name}_indices": X.indices,
            f"{name}_indptr": X.indptr,
        }
    np.savez(data / "reuters_moneyfx.npz", **arrays)
    run(output, "text_categories", "--quick")
    found = results(output, "text_categories")
    assert found["skipped"] == ""
    assert found["entries"]
    # and not again
    before = (output / "text_categories.log").stat().st_mtime_ns
    run(output, "text_categories", "--quick")
    assert (output / "text_categories.log").stat().st_mtime_ns == before


def test_results_of_other_code_are_shown_as_such_and_made_again(tmp_path):
    run(tmp_path, "seven_points")
    assert "other code" not in (tmp_path / "index.html").read_text()
    found = results(tmp_path, "seven_points")
    (tmp_path / "seven_points.json").write_text(
        json.dumps(found | {"version": "0", "texts": ["Old."]})
    )
    # another experiment writes the page only
    runner.write_page(tmp_path)
    assert "other code" in (tmp_path / "index.html").read_text()
    run(tmp_path, "seven_points")
    again = results(tmp_path, "seven_points")
    assert (again["version"], again["texts"]) == (found["version"], found["texts"])
    # a quick run is of another kind
    assert not runner.finished(tmp_path / "seven_points.json", quick=True)


def test_the_version_is_that_of_the_code_and_not_of_its_comments(tmp_path):
    package, folder = tmp_path / "package", tmp_path / "scripts"
    package.mkdir()
    folder.mkdir()
    files = {
        package / "a.py": '"""Text."""\n\n\ndef f(x):\n    """Return x."""\n    return 2 * x\n',
        folder / "one.py": "from experiments._help import g\n\ng(1)\n",
        folder / "_help.py": "from experiments import other\n\ng = other.f\n",
        folder / "other.py": "f = abs\n",
        folder / "apart.py": "f = abs\n",
    }

    def version(**changed):
        for path, text in files.items():
            path.write_text(changed.get(path.stem, text))
        _code._package.cache_clear()
        return _code.version("one", folder, package)

    today = version()
    assert (
        version(
            a='"""Other text."""\n\n\n# why\ndef f(x):\n    """Return 2 x."""\n    return 2 * x\n'
        )
        == today
    )
    assert version(apart="f = max\n") == today
    changes = {"a": "f = max\n", "one": "g = 1\n", "_help": "g = 1\n", "other": "f = max\n"}
    found = [version(**{name: text}) for name, text in changes.items()]
    assert len({today, *found}) == 5


def test_every_script_is_listed_once():
    assert set(runner.PRINTED) <= set(runner.names())
    assert len(set(runner.names())) == len(runner.names())


def test_a_script_that_prints_says_which_data_set_is_missing(capsys):
    def script():
        print("a table")
        list(experiment(quick=True))

    _report.run_printed(script)
    assert capsys.readouterr().out == (
        "a table\nThe rest was skipped, because a data set is missing: no data set 'usps'; see SOURCES\n"
    )
