"""``treelab sweep``: search a learner's settings, train with the best."""

import json
from argparse import Namespace

import pandas as pd

from treelab.cli.arguments import command
from treelab.cli.tables import check_settings, read_problem, store_problem
from treelab.cli.training import Trainer, print_report
from treelab.learners.common.settings import Range, Values
from treelab.learners.registry import LEARNERS
from treelab.learners.setting_text import parse_settings, parse_tried
from treelab.runs.jobs.sweep import create_sweep
from treelab.runs.store.run_store import RunStore
from treelab.runs.sweeps import SCORINGS, SweepPlan, presets, read_study, trial_table

SHOWN = 10  # trials printed


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
    --folds K  of folds (default: 3)
    --minutes M  begin no trial after M minutes
    [device]
    [run]
    --json  print the run and all trials as JSON
    """,
    learner={"default": "gradtree", "choices": LEARNERS},
    preset={"default": "treelab", "choices": ("treelab", "paper", "none")},
    trials={"type": int, "default": 30},
    scoring={"choices": SCORINGS},
    folds={"dest": "scoring_folds", "type": int, "default": 3},
    minutes=float,
)
def sweep(arguments: Namespace) -> int:
    """Search, train and print; return 0 when a model was saved, else 2."""
    frame, problem = read_problem(arguments)
    space, fixed, scoring = read_space(arguments, problem.task)
    plan = SweepPlan(
        space,
        n_trials=arguments.trials,
        scoring=arguments.scoring or scoring,
        n_folds=arguments.scoring_folds,
        minutes=arguments.minutes,
        seed=arguments.seed,
    )
    settings = fixed | parse_settings(arguments.learner, arguments.settings)
    check_settings(arguments.learner, settings, frame, problem)
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
    trials = pd.DataFrame() if study is None else trial_table(study)
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
    for text in arguments.space:
        name, equals, tried = text.partition("=")
        if not equals or name not in settings:
            raise ValueError(
                f"--space takes NAME=WHAT, such as max_depth=2..8, with a setting of "
                f"{learner.title} ({', '.join(sorted(settings))}); got {text!r}."
            )
        space[name] = parse_tried(settings[name], tried)
    for text in arguments.settings:  # what is set is not searched
        space.pop(text.partition("=")[0], None)
    return space, fixed, scoring


def print_trials(table: pd.DataFrame) -> None:
    """Print the best trials of a sweep, the best first."""
    if table.empty:
        return
    counts = table["state"].value_counts()
    print(f"{len(table)} trials:", ", ".join(f"{n} {s}" for s, n in counts.items()))
    best = table[table["state"] == "done"].sort_values("score", ascending=False)
    shown = best.drop(columns=["state", "error"], errors="ignore").head(SHOWN)
    if len(shown):
        print(shown.to_string(index=False, float_format=lambda value: f"{value:.4g}"))
