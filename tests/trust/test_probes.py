"""Bad and extreme inputs are refused clearly or give right and finite results; a draw of them on every run.

``python -m tests.trust`` runs all. The misses in known_misses.txt are accepted until they are mended.
"""

import itertools
from collections import Counter

import numpy as np
import pytest
from tests import public
from tests.trust import data, pool
from tests.trust.__main__ import known_misses
from tests.trust.faults import all_faults
from tests.trust.probes import all_probes, draw

import mercer as mc

DRAWN = 100
# Missing entries, texts and constant columns are no defects of tables: tests of the estimators probe these.
TABLES = {"TableClassifier", "TableRegressor"}
# Functions without data, which switch names of modules.
SWITCHES = {"patch_sklearn", "unpatch_sklearn"}
KNOWN = frozenset(known_misses())


def test_there_are_probes_of_every_estimator_and_of_every_kind_of_defect():
    probes = all_probes()
    ours = [probe for probe in probes.values() if probe.library == "mercer"]
    assert len(ours) >= 3000
    assert min(Counter(probe.area for probe in ours).values()) > 100
    called = {probe.name.split(":")[1] for probe in ours}
    estimators = {name for name in mc.estimators.__all__ if isinstance(getattr(mc, name), type)}
    assert {name for name in estimators if f"{name}.fit" not in called} == TABLES


def test_every_public_function_of_data_is_probed():
    called = {part for name in all_probes() for part in name.split(":")[1].split(".")}
    things = [getattr(mc, name) for name in public.NAMES]
    kernels = {
        thing.__name__
        for thing in things
        if isinstance(thing, type) and issubclass(thing, mc.Kernel)
    }
    functions = {name for name in public.NAMES if callable(getattr(mc, name))} - kernels
    # base classes without values, and the error of files
    abstract = {"Coordinatewise", "Dot", "Radial", "Kernel", "ModelFileError"}
    for module in (
        mc.capacity,
        mc.invariance,
        mc.learning,
        mc.manifold,
        mc.maps,
        mc.regularisation,
    ):
        functions |= {
            name for name in module.__all__ if not isinstance(getattr(module, name), type)
        }
    assert (functions | kernels) - called - abstract == TABLES | SWITCHES


@pytest.mark.timeout(600)
def test_a_draw_of_probes_finds_no_miss_that_is_not_known(global_random_seed):
    names = [name for name, probe in all_probes().items() if probe.library == "mercer"]
    drawn = [name for name in draw(names, DRAWN, global_random_seed) if name not in KNOWN]
    outcomes = pool.run(drawn, workers=1, limit=120)
    assert len(outcomes) > DRAWN / 3
    misses = [
        f"{kind}: {name}: {evidence}" for name, (kind, evidence) in outcomes.items() if kind != "ok"
    ]
    assert misses == []


def test_known_misses_are_probes():
    assert set(all_probes() | all_faults()) >= KNOWN


@pytest.mark.slow
def test_a_process_that_crashes_or_hangs_is_an_outcome():
    child = pool.Child()
    child.process.kill()
    child.process.wait()
    assert child.answer(10)[0] == "crash"
    child.close()
    slow = pool.Child()
    assert slow.answer(0.2)[0] == "hang"
    slow.close()


class Told(pool.Child):
    """A process that is told how many seconds it has used."""

    def __init__(self, seconds):
        # while it starts
        self._seconds = itertools.repeat(0.0)
        super().__init__()
        self._seconds = iter(seconds)

    def used(self):
        return next(self._seconds)


@pytest.mark.slow
def test_waiting_for_a_processor_is_no_hang_until_it_takes_four_times_the_limit():
    child = Told([0.0, *([0.1] * 50)])
    kind, evidence = child.answer(0.2)
    assert kind == "hang"
    assert 4 * 0.2 <= float(evidence.split()[-2]) < 1.6
    child.close()


@pytest.mark.slow
def test_a_process_that_has_used_its_limit_is_a_hang_at_once():
    child = pool.Child()
    # it has imported everything
    assert 0.5 < child.used() < 1000
    child.close()
    child = Told([0.0, 0.3])
    kind, evidence = child.answer(0.2)
    assert kind == "hang"
    assert 0.2 <= float(evidence.split()[-2]) < 0.8
    child.close()


def test_data_are_exact_under_shifts_and_scales_by_powers_of_two():
    for values in (data.X, data.NEW, data.TARGETS):
        np.testing.assert_array_equal((values + 2.0**35) - 2.0**35, values)
        np.testing.assert_array_equal(values * 2.0**-400 * 2.0**400, values)
