"""Progress of iterative fits: what callbacks hear, and that they stop a fit."""

import pytest
from sklearn.base import BaseEstimator
from sklearn.model_selection import GridSearchCV
from tests.reference.inside import CallbackSupportMixin, counting, notify, progress

with_callbacks_only = pytest.mark.skipif(
    not hasattr(CallbackSupportMixin, "set_callbacks"),
    reason="scikit-learn before 1.9 has no callbacks",
)


class Iterative(CallbackSupportMixin, BaseEstimator):
    """Count to `max_iter`, and fail at `fail_at`."""

    def __init__(self, max_iter=4, fail_at=None):
        self.max_iter = max_iter
        self.fail_at = fail_at

    def fit(self, X=None, y=None):
        with progress(self):
            for i in range(self.max_iter):
                if i == self.fail_at:
                    raise ArithmeticError("failed")
                if notify("count", gap=0.5**i):
                    break
        self.n_iter_ = i + 1
        return self

    def score(self, X, y=None):
        return 0.0


class Recorder:
    """Callback that records events and asks to stop after step `stop_at`."""

    def __init__(self, stop_at=None):
        self.stop_at = stop_at
        self.events = []

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name, context.max_subtasks))

    def teardown(self, estimator, context):
        self.events.append(("teardown",))

    def on_fit_task_begin(self, estimator, context):
        self.events.append(("begin", context.task_id))

    def on_fit_task_end(self, estimator, context, *, metadata=None):
        self.events.append(("end", metadata))
        return metadata is not None and metadata["iteration"] == self.stop_at

    @property
    def steps(self):
        return [
            metadata
            for kind, *rest in self.events
            if kind == "end"
            for metadata in rest
            if metadata
        ]


def test_without_callbacks_nothing_happens():
    assert Iterative().fit().n_iter_ == 4
    with progress(object()):
        assert notify("any", gap=1.0) is False


@with_callbacks_only
def test_each_step_is_one_task_with_its_numbers_between_setup_and_teardown():
    recorder = Recorder()
    Iterative().set_callbacks(recorder).fit()
    assert recorder.events[0] == ("setup", "fit", None)
    assert recorder.events[-2:] == [("end", None), ("teardown",)]
    assert recorder.steps == [{"iteration": i, "stage": "count", "gap": 0.5**i} for i in range(4)]


@with_callbacks_only
def test_a_fit_inside_a_fit_reports_to_the_callbacks_of_the_outer_one_unless_it_has_its_own():
    outer, inner = Recorder(), Recorder()
    for callbacks, heard in (((), (8, 0)), ((inner,), (4, 4))):
        outer.events.clear()
        estimator = Iterative().set_callbacks(outer)
        with progress(estimator):
            Iterative().set_callbacks(*callbacks).fit()
            estimator.fit()
        assert (len(outer.steps), len(inner.steps)) == heard
        assert [event[0] for event in outer.events if event[0] in ("setup", "teardown")] == [
            "setup",
            "teardown",
        ]


def test_a_function_counts_the_steps_of_one_stage():
    heard = []
    with counting(lambda *numbers: bool(heard.append(numbers)) or numbers[0] == 2, "points"):
        assert not notify("pivots", done=1, most=9)
        assert [notify("points", done=i, most=2) for i in (1, 2)] == [False, True]
    assert heard == [(1, 2), (2, 2)]
    with counting(None, "points"):
        assert not notify("points", done=2, most=2)
    with (
        pytest.raises(TypeError, match="callback must be a function, or None, got 3 of type int"),
        counting(3, "any"),
    ):
        pass


@with_callbacks_only
def test_a_callback_stops_the_fit():
    assert Iterative().set_callbacks(Recorder(stop_at=1)).fit().n_iter_ == 2


@with_callbacks_only
def test_teardown_comes_after_a_failure_and_the_estimator_can_be_fitted_again():
    recorder = Recorder()
    estimator = Iterative(fail_at=2).set_callbacks(recorder)
    for _ in range(2):
        with pytest.raises(ArithmeticError, match="failed"):
            estimator.fit()
        assert recorder.events[-1] == ("teardown",)
    assert [event[0] for event in recorder.events].count("setup") == 2


@with_callbacks_only
def test_callbacks_of_a_search_reach_the_estimator_inside():
    class Propagated(Recorder):
        max_propagation_depth = None

    recorder = Propagated()
    search = GridSearchCV(Iterative(), {"max_iter": [2, 3]}, cv=2, refit=False).set_callbacks(
        recorder
    )
    search.fit([[0.0], [1.0], [2.0], [3.0]], [0, 1, 0, 1])
    assert len(recorder.steps) == 2 * (2 + 3)
    assert recorder.events[-1] == ("teardown",)
