"""Short results for the documentation: counts of verdicts, misses in full, and no list of scikit-learn's misses."""

import json

from tools import measured


def test_experiments_are_counted_and_their_misses_kept(tmp_path):
    kept = {"table": "T", "entry": "e", "published": 2.0, "tag": "S", "ours": 1.0, "reason": "why"}
    entries = [
        kept | {"verdict": verdict, "draws": 1}
        for verdict in ("reproduced", "not reproduced", "reproduced")
    ]
    found = {
        "name": "one",
        "title": "One",
        "source": "S",
        "quick": True,
        "entries": entries,
        "pictures": ["x"],
    }
    folder, output = tmp_path / "reproduction", tmp_path / "measured"
    folder.mkdir()
    output.mkdir()
    (folder / "one.json").write_text(json.dumps(found))
    (folder / "results.json").write_text("[]")
    results = tmp_path / "results.json"
    results.write_text(json.dumps({"probes": {"ok": 3}, "sklearn_misses": {"a": 1}}))
    measured.main(["--reproduction", str(folder), "--trust", str(results)], output)
    (each,) = json.loads((output / "reproduction.json").read_text())
    assert each.pop("date").count("-") == 2
    expected = {"name": "one", "title": "One", "source": "S", "quick": True}
    assert each == expected | {"verdicts": {"reproduced": 2, "not reproduced": 1}, "missed": [kept]}
    assert json.loads((output / "trust.json").read_text()) == {"probes": {"ok": 3}}


def test_experiments_that_did_not_run_again_are_kept(tmp_path):
    for name, entries in (("one", []), ("two", []), ("one", [{"verdict": "reproduced"}])):
        folder = tmp_path / f"{name}{len(entries)}"
        folder.mkdir()
        found = {"name": name, "title": name, "source": "S", "quick": False, "entries": entries}
        (folder / f"{name}.json").write_text(json.dumps(found))
        measured.main(["--reproduction", str(folder), "--trust", "none"], tmp_path)
    written = json.loads((tmp_path / "reproduction.json").read_text())
    assert [each["verdicts"] for each in written] == [{"reproduced": 1}, {}]


def test_without_results_nothing_is_written(tmp_path):
    measured.main(["--reproduction", str(tmp_path / "a"), "--trust", str(tmp_path / "b")], tmp_path)
    assert list(tmp_path.iterdir()) == []
