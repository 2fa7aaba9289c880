"""Long operations survive failed allocations and writes, signals, forks and a lack of threads; a draw on every run."""

import numpy as np
import pytest
from tests.trust import damaged_cache, faults, operations, pool
from tests.trust.faults import all_faults
from tests.trust.probes import draw
from tests.trust.test_probes import KNOWN

DRAWN = 12
# these take seconds; all faults run in `make trust`
SLOW = ("compress", "capacity.report", "Kernelized", "reduce.greedy", "cache")


def test_there_are_two_thousand_faults_in_every_long_operation():
    found = all_faults()
    assert len(found) >= 2000
    assert {name.split(":")[2] for name in found} == {*operations.all_operations(), "cache"}


@pytest.mark.timeout(600)
def test_a_draw_of_faults_is_survived(global_random_seed):
    names = [name for name in all_faults() if name.split(":")[2].split(".fit")[0] not in SLOW]
    drawn = [name for name in draw(names, DRAWN, global_random_seed) if name not in KNOWN]
    outcomes = pool.run(drawn, workers=1, limit=120)
    assert len(outcomes) > DRAWN / 3
    misses = [
        f"{kind}: {name}: {evidence}" for name, (kind, evidence) in outcomes.items() if kind != "ok"
    ]
    assert misses == []


def test_a_half_fitted_estimator_is_a_miss(monkeypatch):
    class Half:
        pass

    def run(thing):
        thing.half_ = 1
        raise MemoryError("Unable to allocate")

    broken = operations.Operation("broken", Half, run, state=lambda thing: dict(vars(thing)))
    replaced = {"all_operations": lambda: {"broken": broken}, "expected": lambda name: np.ones(1)}
    for name, function in replaced.items():
        monkeypatch.setattr(operations, name, function)
    outcome = faults.survived("broken", lambda: faults.failing_allocation(-1), MemoryError)
    assert (outcome.kind, "state changed" in outcome.evidence) == ("silent", True)


@pytest.mark.parametrize("name", ["save", "to_c", "write_libsvm"])
def test_a_failed_write_keeps_the_earlier_file(name):
    assert faults.count(name, faults.failing_write) > 0
    for step in ("write", "sync", "rename"):
        assert faults._write(name, step, 0.0) == faults.Outcome(
            "ok", "OSError: [Errno 28] No space left on device"
        )


PLANTED = [
    (run, place) for name, run, (place, *_) in damaged_cache.all_faults() if name == "planted code"
]


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("run", "place"), PLANTED, ids=[place for _, place in PLANTED])
def test_code_that_others_plant_does_not_run(run, place):
    assert run(place).kind == "ok"
