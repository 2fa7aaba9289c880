"""Rates are measured once, and follow the work."""

import itertools
import time

import numpy as np
import pytest

import mercer as mc
from mercer.estimators import _rates

KERNEL = mc.Gaussian(0.2)


def test_rates_are_measured_once_for_a_kernel_and_a_number_of_features():
    _rates.measured.cache_clear()
    first = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7)
    assert mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7) == first
    assert _rates.measured.cache_info().hits == 1


def test_a_given_matrix_costs_no_kernel_values():
    found = _rates.rates(mc.Precomputed(np.eye(2)), 200)
    assert found.value == found.flop
    given, computed = (
        mc.plan(mc.KernelRidge(kernel=k, memory="1kB"), 5000, 200) for k in ("precomputed", KERNEL)
    )
    assert given.seconds < computed.seconds


def test_many_features_are_extrapolated_and_not_allocated():
    few, many = (_rates.rates(KERNEL, d).value for d in (10**5, 10**12))
    assert many / few == pytest.approx(1e7)


@pytest.mark.parametrize("A", [np.ones(3000), np.ones((2, 3000)), np.array([0, 2999])])
def test_a_map_of_many_columns_is_measured_on_all_of_them(A):
    assert mc.plan(mc.SVC(kernel=mc.Mapped(KERNEL, A)), 100, 3000).seconds > 0


def test_waiting_for_other_processes_is_no_work(monkeypatch):
    _rates.measured.cache_clear()
    quiet = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7).seconds
    passed = time.perf_counter
    # a machine on which every call waits a minute for its turn
    turns = itertools.count(step=60)
    monkeypatch.setattr(time, "perf_counter", lambda: passed() + next(turns))
    _rates.measured.cache_clear()
    busy = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7).seconds
    _rates.measured.cache_clear()
    assert busy < 60 * quiet
