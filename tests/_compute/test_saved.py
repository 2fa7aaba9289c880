"""Saved: solves outside of a `checkpoint` block read and write nothing, and others only their own states."""

import numpy as np

import mercer as mc
from mercer._compute.saved import Saved, part_of_fit

STATE = {"x": np.arange(3)}


def test_nothing_is_saved_outside_of_a_block():
    saved = Saved("solve")
    saved.write(STATE)
    saved.end()
    assert saved.state is None


def test_a_state_is_given_once_to_the_solve_of_its_name_and_removed_at_its_end(tmp_path):
    with mc.checkpoint(tmp_path / "state", every=0):
        Saved("first").write(STATE)
    with mc.checkpoint(tmp_path / "state", every=0):
        before = Saved("another")
        before.write({"x": np.zeros(1)})
        before.end()
        saved = Saved("first")
        np.testing.assert_array_equal(saved.state["x"], STATE["x"])
        assert Saved("first").state is None
        saved.end()
        assert not (tmp_path / "state").exists()


def test_a_part_of_a_fit_takes_its_own_state_only(tmp_path):
    with mc.checkpoint(tmp_path / "state", every=0), part_of_fit(", second part"):
        Saved("solve").write(STATE)
    with mc.checkpoint(tmp_path / "state", every=0):
        with part_of_fit(", first part"):
            assert Saved("solve").state is None
        assert Saved("solve").state is None
        with part_of_fit(", second part"):
            np.testing.assert_array_equal(Saved("solve").state["x"], STATE["x"])
