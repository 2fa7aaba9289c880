"""The page shows the figures of the outcomes, every miss, and what was not run."""

import json

from tests.trust import report
from tests.trust.causes import grouped

OUTCOMES = {
    "mercer:SVC.fit:C:nan": ("ok", "ValueError"),
    "sklearn:SVC.fit:C:nan": ("unclear", "the value is not shown; InvalidParameterError: C"),
    "mercer:SVC.fit:X:csr_nan": ("crash", "the process ended with -11"),
    "mercer:SVR.fit:X:csr_nan": ("crash", "the process ended with -11"),
    "mercer:qr:tol:text": ("silent", "accepted; <b> returned"),
}
AREAS = dict.fromkeys(OUTCOMES, "points")
FAULTS = {
    "fault:signal:SVC.fit:0.5": ("ok", "KeyboardInterrupt"),
    "fault:write:save:sync:0.0": ("silent", "lost"),
}
LIMITS = {"shared": 7, "others": 25}


def made():
    return report.summary(
        OUTCOMES, AREAS, FAULTS, (1000, ["part 3: AssertionError"]), LIMITS, ["GPU"]
    )


def test_figures_count_every_outcome_once():
    found = made()
    assert found["probes"] == {"ok": 1, "silent": 1, "nan": 0, "crash": 2, "hang": 0, "unclear": 0}
    assert found["same_probes"]["mercer"]["ok"] == 1
    assert found["same_probes"]["sklearn"]["unclear"] == 1
    assert {kind: part["ok"] for kind, part in found["faults"].items()} == {"signal": 1, "write": 0}
    assert set(found["misses"]) == {
        name for name in {**OUTCOMES, **FAULTS} if name[:7] != "sklearn"
    } - {
        "mercer:SVC.fit:C:nan",
        "fault:signal:SVC.fit:0.5",
    }


def test_misses_with_one_cause_are_one_group_and_crashes_come_first():
    groups = grouped({name: outcome for name, outcome in OUTCOMES.items() if name[:6] == "mercer"})
    assert [(kind, len(names)) for kind, _, names in groups] == [("crash", 2), ("silent", 1)]


def test_misses_of_faults_are_grouped_by_fault_and_operation():
    names = [f"fault:damaged cache:cache:zeros:{seed}" for seed in range(3)]
    assert grouped(dict.fromkeys(names, ("hang", "no answer"))) == [
        ("hang", "damaged cache, cache", names)
    ]
    assert grouped({"fault:spawn:save:spawn": ("silent", "0.1")}) == [
        ("silent", "spawn, save", ["fault:spawn:save:spawn"])
    ]


def test_causes_ignore_names_and_numbers():
    evidence = "C is not named; ValueError: got {} and '{}'"
    pair = {f"mercer:f:{i}:x": ("unclear", evidence.format(i, i)) for i in range(3)}
    assert len(grouped(pair)) == 1


def test_the_page_says_whether_files_were_mutated_and_how_many_failed():
    found = made()
    assert "All but 1 are refused" in report.page(found)
    assert "None was tried." in report.page(found | {"mutations": {"number": 0, "failures": []}})
    assert "<p>Each is refused" in report.page(
        found | {"mutations": {"number": 10, "failures": []}}
    )


def test_the_page_is_one_file_with_all_misses(tmp_path):
    found = made()
    report.write(tmp_path / "trust", found)
    page = (tmp_path / "trust" / "index.html").read_text()
    for text in (
        "SVC.fit:X:csr_nan",
        "accepted; &lt;b&gt; returned",
        "part 3: AssertionError",
        "within 7 s of processor time in probes that both libraries have, 25 s in others",
        "GPU",
        report.commit(),
    ):
        assert text in page
    assert "src=" not in page
    assert "href=" not in page
    assert json.loads((tmp_path / "trust" / "results.json").read_text()) == json.loads(
        json.dumps(found)
    )
