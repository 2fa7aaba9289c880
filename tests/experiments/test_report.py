"""Verdicts follow the rule, and the page holds all numbers without figures wider than it."""

import json

import pytest
from experiments._report import Entry, Picture, Statement

from experiments import __main__ as runner
from experiments import _page, _report


@pytest.mark.parametrize(
    ("published", "ours", "best", "verdict"),
    [
        (10.0, [8.0, 9.0, 12.0], "", "reproduced"),  # inside the spread
        (10.0, 10.9, "least", "reproduced"),  # within a tenth
        (10.0, 11.1, "least", "not reproduced"),
        (10.0, 11.1, "largest", "better"),
        (10.0, [8.0, 8.5], "least", "better"),
        (10.0, [8.0, 8.5], "", "not reproduced"),
        (None, 3.0, "least", "beyond"),
    ],
)
def test_the_verdict_of_an_entry_follows_the_rule(published, ours, best, verdict):
    record = Entry("Table I", "row", published, "S", ours, best, "seeds").record()
    assert record["verdict"] == verdict
    assert record["reason"] == ("seeds" if verdict == "not reproduced" else "")
    low, high = record["spread"]
    assert low <= record["ours"] <= high


def test_a_statement_holds_up_to_its_limit():
    assert Statement("Table I", "row", "S", 1.0, 1.0).record()["verdict"] == "reproduced"
    assert Statement("Table I", "row", "S", 1.1, 1.0).record()["verdict"] == "not reproduced"


def records(tag, verdicts, table="Table I"):
    return [{"source": "a", "table": table, "published": 1.0, "tag": tag, "verdict": verdict} for verdict in verdicts]


def test_shares_count_numbers_that_were_read_or_are_remembered_without_doubt():
    found = _page.shares(
        records("S", ["reproduced", "better"])
        + records("M-hi", ["not reproduced"])
        + records("M-med", ["reproduced"])
        + records("S2", ["reproduced"], "Table II")
    )
    assert found["a", "Table I"] == {"entries": 3, "reproduced": 1, "better": 1}
    assert found["a", "Table II"] == {"entries": 1, "reproduced": 1, "better": 0}


def test_shares_do_not_count_statements_and_numbers_without_a_published_one():
    others = [{**records("S", ["reproduced"])[0], "published": value} for value in ("at most 1", None)]
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
    found = {"name": "x", "title": "X", "source": "Paper"} | _report.collect(experiment, True, show=str)
    assert "data set 'usps'" in found["texts"][-1]
    text = _page.document([found], [{"source": "Paper", **record} for record in found["entries"]])
    for part in ("One &lt; two.", "x &amp; y", "prefers-color-scheme: dark", "1 to 3", 'href="#x"', "A line."):
        assert part in text
    assert "http" not in text
    # both images of the figure are inline
    assert text.count("data:image/png;base64,") == 2


def test_finished_experiments_of_the_same_kind_are_kept(tmp_path):
    path = tmp_path / "x.json"
    assert not runner.finished(path, True)
    path.write_text(json.dumps({"quick": True}))
    assert runner.finished(path, True)
    assert not runner.finished(path, False)


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
