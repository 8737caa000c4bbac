"""``treelab sweep``: search a learner's settings, train with the best."""

import json
from argparse import Namespace
from typing import Any

import pandas as pd

from treelab.cli.arguments import command
from treelab.cli.tables import check_settings, read_problem, store_problem
from treelab.cli.training import Trainer, print_report
from treelab.learners.common.settings import Range, Values
from treelab.learners.registry import LEARNERS, complete_settings
from treelab.learners.setting_text import parse_settings, parse_tried
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps import SCORINGS, SweepPlan, presets, read_study, trial_table

SHOWN = 10  # trials printed
FOLDS = 3  # that score a trial


@command(
    "sweep",
    "search a learner's settings, then train with the best",
    """
    Tries settings of a learner (Optuna), and trains a tree with those that score
    best; the app shows the trials on Train, Tune. Ctrl-C ends the search and trains
    with the best settings so far. Where TREELAB_CLUSTER names a Dask scheduler,
    trials and training go to its workers.

    [problem]
    --learner  (default: gradtree)
    --preset  search space to begin with: ours, the paper's, or none (default:
        treelab)
    --space NAME=WHAT ...  what is tried of a setting, such as max_depth=2..8,
        learning_rate_leaf=0.01..0.3:log or loss=focal,poly
    [settings]  max_depth=5, which all trials then have
    --trials N  (default: 30)
    --scoring  score trials by the learner's own cross-validation, by folds, or on
        the validation rows (default: the preset's)
    --folds K  how many, where folds score (default: 3)
    --minutes M  begin no trial after M minutes
    [device]
    [run]
    --json  print the run and all trials as JSON
    """,
    learner={"default": "gradtree", "choices": LEARNERS},
    preset={"default": "treelab", "choices": ("treelab", "paper", "none")},
    trials={"type": int, "default": 30},
    scoring={"choices": SCORINGS},
    folds={"dest": "scoring_folds", "type": int},
    minutes=float,
)
def sweep(arguments: Namespace) -> int:
    """Search, train and print; return 0 when a model was saved, else 2."""
    frame, problem = read_problem(arguments)
    space, fixed, scoring = read_space(arguments, problem.task)
    n_folds = arguments.scoring_folds
    plan = SweepPlan(
        space,
        n_trials=arguments.trials,
        scoring=arguments.scoring or scoring,
        n_folds=FOLDS if n_folds is None else n_folds,
        minutes=arguments.minutes,
        seed=arguments.seed,
    )
    if n_folds is not None and plan.scoring != "folds":
        raise ValueError(
            f"--folds goes with --scoring folds, and here the scoring is "
            f"{plan.scoring}: leave --folds out."
        )
    settings = fixed | parse_settings(arguments.learner, arguments.settings)
    check_settings(arguments.learner, settings, frame, problem)
    _refuse_unused(arguments, space, settings, problem.task)
    plan.check(arguments.learner, problem.task)
    store = RunStore(arguments.home)
    trainer = Trainer(store)
    run_id = create_sweep(
        store,
        arguments.learner,
        settings,
        store_problem(store, frame, problem),
        plan,
        device=arguments.device,
        title=arguments.name,
    )
    trainer.train([run_id])
    run = store.run(run_id)
    study = read_study(store.folder(run_id))
    trials = pd.DataFrame() if study is None else trial_table(study, run)
    if not arguments.json:
        print_trials(trials)
    more = {"trials": json.loads(trials.to_json(orient="records"))}
    return print_report(store, run, as_json=arguments.json, more=more)


def read_space(
    arguments: Namespace, task: str
) -> tuple[dict[str, Range | Values], dict, str]:
    """Return the search space that is asked for, what its preset fixes, its scoring.

    ValueError if a ``--space`` cannot be read, or the learner has no such preset.
    """
    learner = LEARNERS[arguments.learner]
    space: dict[str, Range | Values] = {}
    fixed: dict = {}
    scoring = "folds"
    if arguments.preset != "none":
        known = presets(learner.key)
        if arguments.preset not in known:
            raise ValueError(f"{learner.title} has no preset {arguments.preset!r}.")
        preset = known[arguments.preset].of_task(learner, task)
        space, fixed = dict(preset.space), dict(preset.fixed)
        scoring = preset.scoring
    settings = {setting.name: setting for setting in learner.settings_of(task)}
    named: set[str] = set()
    for text in arguments.space:
        name, equals, tried = text.partition("=")
        if not equals or name not in settings:
            raise ValueError(
                f"--space takes NAME=WHAT, such as max_depth=2..8, with a setting of "
                f"{learner.title} ({', '.join(sorted(settings))}); got {text!r}."
            )
        if name in named:
            raise ValueError(f"--space names {name} twice: name all of it in one.")
        named.add(name)
        space[name] = parse_tried(settings[name], tried)
    for text in arguments.settings:  # what is set is not searched
        name = text.partition("=")[0]
        if name in named:
            raise ValueError(f"--set and --space both name {name}: leave one out.")
        space.pop(name, None)
    return space, fixed, scoring


def _refuse_unused(
    arguments: Namespace,
    space: dict[str, Range | Values],
    settings: dict[str, Any],
    task: str,
) -> None:
    """Raise ValueError for a ``--space`` of a setting that no trial would use."""
    known = {one.name: one for one in LEARNERS[arguments.learner].settings_of(task)}
    values = complete_settings(arguments.learner, task, settings)
    for name in (text.partition("=")[0] for text in arguments.space):
        other, allowed = known[name].needs or ("", ())
        tried = space.get(other, Values((values.get(other),)))
        if other and not any(value in tried for value in allowed):
            words = " or ".join(map(str, allowed))
            raise ValueError(
                f"--space searches {name}, which needs {other}={words}, and no trial "
                f"has that: add --set or --space of {other}, or leave {name} out."
            )


def print_trials(table: pd.DataFrame) -> None:
    """Print the best trials of a sweep, the best first."""
    if table.empty:
        return
    counts = table["state"].value_counts()
    print(f"{len(table)} trials:", ", ".join(f"{n} {s}" for s, n in counts.items()))
    # As ``best_trial`` chooses: of equal scores the fewest leaves, then the first.
    best = table[table["state"] == "done"]
    best = best.sort_values(["score", "n_leaves"], ascending=[False, True])
    shown = best.drop(columns=["state", "error"], errors="ignore").head(SHOWN)
    if len(shown):
        number = "{:.4g}".format
        print(shown.to_string(index=False, float_format=number, na_rep=""))
