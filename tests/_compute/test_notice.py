"""One line of the log on the first compilation that takes more than a second."""

import contextlib
import functools
import threading
import time

import pytest

from mercer._compute import notice


@pytest.fixture
def compilation(monkeypatch, limits):
    event = pytest.importorskip("numba.core.event")
    notice.watch_compilations()
    limits(silent_seconds=0.05)
    monkeypatch.setattr(notice, "announce", functools.cache(notice.announce.__wrapped__))
    return lambda: event.trigger_event("numba:compile", data={})


def test_a_short_compilation_is_silent(compilation, caplog):
    with compilation():
        pass
    time.sleep(0.1)
    assert caplog.messages == []


def test_long_compilations_are_told_once_in_one_line(compilation, caplog):
    for _ in range(2):
        with compilation(), compilation():
            time.sleep(0.15)
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert "mercer warmup" in caplog.messages[0]
    assert "\n" not in caplog.messages[0]


def test_timers_that_end_at_once_tell_once(compilation, caplog, monkeypatch):
    tell = notice.announce.__wrapped__
    monkeypatch.setattr(notice, "announce", functools.cache(lambda: time.sleep(0.05) or tell()))
    with contextlib.ExitStack() as stack:
        for _ in range(5):
            stack.enter_context(compilation())
        time.sleep(0.4)
    assert len(caplog.messages) == 1


def test_no_timer_starts_after_the_notice(compilation):
    notice.announce()
    before = threading.enumerate()
    with compilation():
        assert threading.enumerate() == before


def test_compilations_are_watched_once(monkeypatch):
    event = pytest.importorskip("numba.core.event")
    notice.watch_compilations()
    registered = []
    monkeypatch.setattr(event, "register", lambda *each: registered.append(each))
    notice.watch_compilations()
    assert registered == []
    notice.watch_compilations.__wrapped__()
    assert [kind for kind, _ in registered] == ["numba:compile"]
