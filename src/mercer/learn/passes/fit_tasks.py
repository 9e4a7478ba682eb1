"""Support for the callbacks of scikit-learn 1.9 and later, to which learners report the progress of ``fit``.

They see a fit as a hundred tasks of equal time, each named after the pass over the rows during which it ended. Passes
themselves are unsuitable as tasks, because their number is not known in advance and they differ in length.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any, TypeVar, cast

from sklearn.base import BaseEstimator

from .progress import Callback, Progress

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # before scikit-learn 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Takes the place of scikit-learn's class before version 1.9; there is no ``set_callbacks`` then."""

    def with_callbacks(method: Any) -> Any:
        """Return the method unchanged."""
        return method


Method = TypeVar("Method", bound=Callable[..., Any])

HUNDREDTHS = 100
IN_PROCESS = ("_skl_callbacks", "_skl_callbacks_to_teardown", "_callback_fit_ctx", "_parent_callback_ctx", "fit_tasks")
"""The attributes that exist only for callbacks."""


class FitTasks:
    """Reports every hundredth of a fit to the callbacks of a learner.

    Parameters
    ----------
    learner : estimator
        The learner.
    context : sklearn.callback.CallbackContext
        The context of its fit.
    """

    def __init__(self, learner: BaseEstimator, context: Any):
        self._learner, self._context, self._done = learner, context, 0

    def __call__(self, progress: Progress) -> None:
        """Report the hundredths that have ended since the last call."""
        reached = HUNDREDTHS if progress.share >= 1.0 else int(HUNDREDTHS * progress.share)
        while self._done < reached:
            self._done += 1
            task = self._context.subcontext(task_name=progress.what)
            task.call_on_fit_task_begin(estimator=self._learner)
            task.call_on_fit_task_end(estimator=self._learner)


class TellsCallbacks(CallbackSupportMixin):
    """A learner whose ``fit`` reports its progress to callbacks."""

    fit_tasks: FitTasks | None = None

    @contextmanager
    def _whole_fit(self, X: Any, y: Any, count: int) -> Iterator[Any]:
        """Report that a fit of so many tasks begins and, if it succeeds, that it has ended.

        Yields
        ------
        sklearn.callback.CallbackContext
            The context of the fit.
        """
        context = self._init_callback_context(max_subtasks=count)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        yield context
        context.call_on_fit_task_end(estimator=self, X=X, y=y, reconstruction_attributes={})

    @contextmanager
    def _fit_by_hundredths(self, X: Any, y: Any) -> Iterator[None]:
        """Report the hundredths of a fit to callbacks too."""
        with self._whole_fit(X, y, HUNDREDTHS) as context:
            self.fit_tasks = FitTasks(self, context)
            try:
                yield
            finally:
                del self.fit_tasks


def tells_callbacks(fit: Method) -> Method:
    """Decorate the ``fit`` of a learner so that it reports its progress to the callbacks of ``set_callbacks``."""

    @with_callbacks
    @wraps(fit)
    def telling(learner: BaseEstimator, X: Any, y: Any = None, *given: Any, **named: Any) -> Any:
        if not getattr(learner, "_skl_callbacks", None):
            return fit(learner, X, y, *given, **named)
        with learner._fit_by_hundredths(X, y):
            return fit(learner, X, y, *given, **named)

    return cast(Method, telling)


def tells_of_estimator(fit: Method) -> Method:
    """Decorate the ``fit`` of a learner around another, whose own fit is then part of it; see :func:`inner_fit`."""

    @with_callbacks
    @wraps(fit)
    def telling(learner: BaseEstimator, X: Any, y: Any = None, *given: Any, **named: Any) -> Any:
        if not getattr(learner, "_skl_callbacks", None):
            return fit(learner, X, y, *given, **named)
        with learner._whole_fit(X, y, 1):
            return fit(learner, X, y, *given, **named)

    return cast(Method, telling)


@contextmanager
def inner_fit(learner: BaseEstimator, estimator: BaseEstimator) -> Iterator[None]:
    """Pass the callbacks of a learner on to the estimator that it fits."""
    context = getattr(learner, "_callback_fit_ctx", None)
    if context is None:
        yield
        return
    task = context.subcontext(task_name="fit-estimator")
    with task.propagate_callback_context(estimator):
        task.call_on_fit_task_begin(estimator=learner)
        yield
        task.call_on_fit_task_end(estimator=learner)


def heard_by(learner: BaseEstimator) -> list[Callback]:
    """Return the functions to which a learner reports its passes: ``callback``, and those of ``set_callbacks``."""
    return [one for one in (learner.callback, learner.fit_tasks) if one is not None]
