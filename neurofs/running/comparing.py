"""`compare`: selectors and decoders on one recording, in memory, with all that Python can give."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Protocol, Unpack

import numpy as np

from neurofs.comparison.adopted import adopt, use_folds
from neurofs.comparison.comparison import Comparison
from neurofs.comparison.evaluate import run_task
from neurofs.comparison.given import choose_recording
from neurofs.comparison.own_scores import Score, add_scores, name_scores
from neurofs.comparison.problem import list_tasks
from neurofs.ground.keys import RunKeys
from neurofs.pipeline import Prepared, finish, prepare
from neurofs.running.progress import open_progress

Rows = Sequence[int] | np.ndarray


class Splitter(Protocol):
    """What makes folds, as those of scikit-learn do."""

    def split(self, X: object, y: object = None, groups: object = None) -> Iterable[tuple[Rows, Rows]]:
        """Yield the training and test rows of each fold."""


def compare(
    recording: object,
    target: str | Sequence[str],
    *,
    cv: Splitter | Iterable[tuple[Rows, Rows]] | None = None,
    scores: Score | Sequence[Score] | Mapping[str, Score] = (),
    progress: bool = True,
    **options: Unpack[RunKeys],
) -> Comparison:
    """Compare selectors and decoders on a recording, with the same folds for all.

    Parameters
    ----------
    recording : Recording, path, or what `load` takes
    target : str or several
        As `build_tensor` takes it.
    cv : splitter of scikit-learn, or pairs of training and test rows, optional
        In place of `folds`, `n_splits` and `n_repeats`; trials are its groups. Folds are audited, and refused if
        windows of training and test samples share raw data, unless ``allow_leakage=True``.
    scores : function, several, or a mapping of names to functions
        Each takes what was true and what was predicted in the test part of a fold, and returns a number.
    progress : bool
        Whether to say on standard error how far the work is, if it takes more than some seconds.
    **options
        The keys of a run.toml. `selectors` and `decoders` are names, estimators of neurofs with their parameters, any
        estimators of scikit-learn, or functions: a selector is ``f(X, y)`` that returns a weight per feature, a decoder
        ``f(X, y)`` that returns a function that predicts.

    Examples
    --------
    >>> from neurofs.recordings.simulate import simulate_session
    >>> session = simulate_session(12, n_electrodes=4, random_state=1)
    >>> found = compare(session, "hand_velocity:x", n_lags=3, selectors=["corrcoef"], n_splits=3)
    >>> found.summary.audit.passed, found.summary.methods[0].method
    (True, 'corrcoef')
    """
    own = name_scores(scores)
    with adopt({**options, "target": target}) as settings:
        prepared = prepare(*choose_recording(recording, settings))
        if cv is not None:
            problem = use_folds(prepared.problem, cv)
            changed = {key: getattr(problem.options, key) for key in ("folds", "n_splits", "n_repeats")}
            prepared = replace(prepared, problem=problem, options=prepared.options.model_copy(update=changed))
        return _run(prepared, own, progress)


def _run(prepared: Prepared, own: Mapping[str, Score], progress: bool) -> Comparison:
    """Do all tasks, and put their results together."""
    problem, results = prepared.problem, {}
    tasks = list_tasks(problem)
    with open_progress(name=prepared.recording.name, quiet=not progress) as view:
        view.plan_tasks(len(tasks))
        for task in tasks:
            results[task] = run_task(problem, task)
            view.finish_task()
    found = finish(prepared, results)
    return replace(found, scores=add_scores(found.scores, problem, found.predictions, own))
