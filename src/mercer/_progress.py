"""Progress of iterative fits: solvers call `notify`, and callbacks of users hear it and may stop the fit."""

from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from itertools import count
from typing import TYPE_CHECKING, Any, Self

from mercer._common import AnyFunction, check_function, setting

if TYPE_CHECKING:

    class CallbackSupportMixin:
        """The mixin of scikit-learn 1.9, whose source has no types."""

        def set_callbacks(self, *callbacks: Any) -> Self:
            """Set the callbacks of fits and return the estimator."""
            ...

else:
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError:

        class CallbackSupportMixin:
            """Empty class in place of the mixin of scikit-learn 1.9."""


# The function that the solvers of the fit or call under way report their steps to.
_listener: ContextVar[AnyFunction | None] = ContextVar("mercer_listener", default=None)


def notify(stage: str, **numbers: float) -> bool:
    """Pass on that a step of a stage is done to the callbacks of the fit or call under way; True asks to stop."""
    listener = _listener.get()
    return listener is not None and bool(listener(stage, **numbers))


def is_heard() -> bool:
    """Return whether `notify` has a callback to call."""
    return _listener.get() is not None


def listening(listener: AnyFunction | None) -> AbstractContextManager[None]:
    """Set the function ``listener(stage, **numbers)``, or None, that `notify` calls inside the ``with`` block."""
    return setting(_listener, listener)


def counting(callback: AnyFunction | None, counted: str) -> AbstractContextManager[None]:
    """Call ``callback(done, most)``, unless it is None, for each step of one stage inside the ``with`` block."""
    check_function("callback", callback)
    if callback is None:
        return nullcontext()

    def listener(stage, done=0, most=0, **_numbers):
        return stage == counted and callback(done, most)

    return listening(listener)


def progress(estimator: object) -> AbstractContextManager[None]:
    """Pass the steps of a fit to the callbacks of an estimator, and those of inner fits that have no callbacks.

    Each step is one task of scikit-learn, about 1 kB until the block ends.
    """
    state = getattr(estimator, "__dict__", {})
    heard = state.get("_skl_callbacks") and "_callback_fit_ctx" not in state
    return _reporting(estimator) if heard else nullcontext()


@contextmanager
def _reporting(estimator):
    from sklearn.callback import with_callbacks

    try:
        # scikit-learn 1.9 has no public function for this
        root = estimator._init_callback_context(task_name="fit", max_subtasks=None)  # noqa: SLF001
        root.call_on_fit_task_begin(estimator=estimator)
        iterations = count()

        def step(stage, **numbers):
            task = root.subcontext(task_name=stage).call_on_fit_task_begin(estimator=estimator)
            return task.call_on_fit_task_end(
                estimator=estimator,
                metadata={"iteration": next(iterations), "stage": stage, **numbers},
            )

        with listening(step):
            yield
        root.call_on_fit_task_end(estimator=estimator)
    finally:
        # the decorator is the only public way to tear callbacks down; around an empty function it does so
        with_callbacks(lambda _estimator: None)(estimator)
