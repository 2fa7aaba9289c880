"""Rates are measured once, and follow the work."""

import itertools
import time

import numpy as np
import pytest
from scipy import sparse

import mercer as mc

KERNEL = mc.Gaussian(0.2)


def test_rates_are_measured_once_for_a_kernel_and_a_number_of_features():
    first = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7)
    # a second measurement would be another number
    assert mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7).seconds == first.seconds


def test_a_given_matrix_costs_no_kernel_values():
    given, computed = (
        mc.plan(mc.KernelRidge(kernel=k, memory="1kB"), 5000, 200) for k in ("precomputed", KERNEL)
    )
    assert given.seconds < computed.seconds


def test_sparse_rows_take_the_time_of_their_entries():
    rows = sparse.random_array((5000, 2000), density=0.001, format="csr", rng=0)
    model = mc.KernelRidge(kernel=mc.Gaussian(0.2) + mc.Linear(), memory="1MB")
    assert mc.plan(model, rows).seconds < mc.plan(model, *rows.shape).seconds / 2


def test_many_features_are_extrapolated_and_not_allocated():
    few, many = (
        mc.plan(mc.KernelRidge(kernel=KERNEL, memory="1PB"), 10**4, d).seconds
        for d in (10**8, 10**15)
    )
    assert many / few == pytest.approx(1e7, rel=0.01)


@pytest.mark.parametrize("A", [np.ones(3000), np.ones((2, 3000)), np.array([0, 2999])])
def test_a_map_of_many_columns_is_measured_on_all_of_them(A):
    assert mc.plan(mc.SVC(kernel=mc.Mapped(KERNEL, A)), 100, 3000).seconds > 0


def test_waiting_for_other_processes_is_no_work(monkeypatch):
    quiet = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 7).seconds
    passed = time.perf_counter
    # a machine on which every call waits a minute for its turn
    turns = itertools.count(step=60)
    monkeypatch.setattr(time, "perf_counter", lambda: passed() + next(turns))
    # another number of features is measured anew
    busy = mc.plan(mc.SVC(kernel=KERNEL), 10**9, 11).seconds
    assert busy < 60 * quiet
