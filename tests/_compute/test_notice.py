"""One line of the log on the first compilation that takes more than a second."""

import threading
import time

import numpy as np
import pytest

from mercer._compute import numba_compiler
from mercer._compute.compile import dispatcher


@pytest.fixture(autouse=True)
def untold(monkeypatch, limits):
    limits(silent_seconds=0.05)
    monkeypatch.setattr(numba_compiler, "_told", threading.Lock())


def test_a_short_compilation_is_silent(caplog):
    with numba_compiler.told_if_long():
        pass
    time.sleep(0.1)
    assert caplog.messages == []


def test_long_compilations_are_told_once_in_one_line(caplog):
    for _ in range(2):
        with numba_compiler.told_if_long(), numba_compiler.told_if_long():
            time.sleep(0.15)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "mercer warmup" in caplog.messages[0]
    assert "\n" not in caplog.messages[0]


def test_timers_that_end_at_once_tell_once(caplog):
    threads = [threading.Thread(target=numba_compiler.announce) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(caplog.messages) == 1


def test_no_timer_starts_after_the_notice():
    numba_compiler.announce()
    before = threading.enumerate()
    with numba_compiler.told_if_long():
        assert threading.enumerate() == before


def test_a_function_that_compiles_for_long_is_told(caplog, limits):
    pytest.importorskip("numba")
    limits(silent_seconds=0.0)
    dispatcher(lambda a: np.sqrt(a) + 1)(4.0)
    assert len(caplog.messages) == 1
