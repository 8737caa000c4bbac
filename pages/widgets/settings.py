"""The form of Train: learners, settings, weights, constraints, clusters, imports."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import cycle
from typing import Any

import streamlit as st

from pages.cached.store import column_kinds, problem_errors, store, table
from pages.state import choices
from pages.state.choices import with_targets
from pages.widgets.page import pick_one
from pages.widgets.words import plain, refusals
from treelab.data.problem import Problem, weighted_problem
from treelab.learners.common.settings import LearnerSpec, Setting
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.learners.setting_text import ascending_floats, paper_words, value_text
from treelab.runs.jobs import import_model as jobs
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.run_words import distinct
from treelab.trees.constraints import DOWN, UP, Constraints


def weight_fields(problem: Problem) -> None:
    """Let the visitor choose more targets, and the columns of weights and exposure."""
    apart = {*problem.targets, problem.truth, problem.weight, problem.exposure}
    kinds = column_kinds(problem).items()
    numbers = [name for name, kind in kinds if kind == "number" and name not in apart]
    is_amount = problem.task == "regression" and not problem.is_surrogate
    with st.container(horizontal=True, key="weights"):
        _column_field(
            *(problem, "weight", numbers, "rows count alike"),
            "A column that says what each row counts in training and in every score. "
            "It is not predicted from; rows of weight 0 are left out.",
        )
        if is_amount and not problem.exposure:
            chosen = list(problem.more_targets)
            more = [name for name in numbers if name != problem.split_column]
            st.multiselect(
                "More targets",
                [*chosen, *more],
                **choices.changes(problem, "more-targets", chosen, with_targets),
                placeholder="none",
                help="Numbers that the same tree predicts, too: every leaf has one for "
                "each. CART, GradTree and GET do that.",
                width=320,
            )
        if is_amount and not problem.more_targets:
            _column_field(
                *(problem, "exposure", numbers, "none"),
                f"Predicts {problem.target} per unit of this column, such as claims "
                "per year insured; rows count by it. It is not predicted from.",
            )


def _column_field(
    problem: Problem, name: str, numbers: list[str], none: str, words: str
) -> None:
    """Show the choice of the column of weights, or of the exposure."""
    chosen = getattr(problem, name)

    def with_column(now: Problem, column: str) -> Problem:
        """Take a column; the one that was chosen before is predicted from again."""
        both = {"weight": now.weight, "exposure": now.exposure} | {name: column}
        columns = choices.columns_and(now, [getattr(now, name)])
        return weighted_problem(now, **both, columns=columns)

    names = distinct({own: own or none for own in ("", *numbers, chosen)})
    st.selectbox(
        name.capitalize(),
        list(names),
        format_func=names.__getitem__,
        **choices.changes(problem, name, chosen, with_column),
        help=words,
        width=260,
    )


_COUNTS = ("max_columns", "min_samples_leaf")  # the others are text
_CONSTRAINTS = {  # label, example and help of each
    "max_columns": ("Max features", "all", None),
    "min_samples_leaf": ("Min rows per leaf", "1", None),
    "together": (
        "Allowed column combinations",
        "age, income; age, job",
        "Groups between semicolons: a decision path tests columns of one group. "
        "Columns in no group form one more.",
    ),
    "allowed": (
        "Allowed columns by level",
        "0: age, income; other: job",
        "Which columns a split may test: the root is level 0; “other” are all levels "
        "that are not named.",
    ),
    "column_costs": (
        "Column costs",
        "scan: 0.05, age: 0.01",
        "Fraction of the root's impurity that a column must save beyond its splits' "
        "own gain to be used at all.",
    ),
}


def constraint_fields(problem: Problem, specs: Sequence[LearnerSpec]) -> dict[str, Any]:
    """Show the constraints in a panel of their own; return what was written."""
    asked, classes = dict(_CONSTRAINTS), [*map(str, _labels(problem))]
    if classes:
        first, last = classes[0], classes[-1]
        asked["class_costs"] = (
            "Error costs",
            f"{last} as {first}: 5, {first} as {last}: 1",
            "True class “as” predicted class: cost. What is not written costs 1. "
            "Leaves predict the class with the lowest expected cost.",
        )
    with st.expander("Constraints", icon=":material/rule:", key="constraints"):
        st.caption("They hold on every possible row, not only on the table's.")
        given = _monotone(problem, specs, classes)
        places = cycle(st.columns(2, gap="medium"))
        for name, (label, example, words) in asked.items():
            own = {"key": f"constraint-{name}", "placeholder": example, "help": words}
            own["persist_state"] = "session"
            given[name] = (
                next(places).number_input(label, 1, value=None, step=1, **own)
                if name in _COUNTS
                else next(places).text_input(label, **own)
            )
    return given


def add_constraints(
    settings: dict[str, dict], given: dict[str, Any], problem: Problem
) -> bool:
    """Add constraints to learners' settings; False where they cannot be kept or read.

    The page shows why.
    """
    with refusals():
        constraints = Constraints.read(given)
        constraints.check_columns(problem.columns)
        constraints.check_classes([*map(str, _labels(problem))] or None)
        for learner, own in settings.items():
            LEARNERS[learner].check_constraints(constraints, problem.task)
            if LEARNERS[learner].kept_constraints(problem.task):
                own["constraints"] = constraints.to_dict() or None
        return True
    return False


def _monotone(
    problem: Problem, specs: Sequence[LearnerSpec], classes: list[str]
) -> dict[str, Any]:
    """Ask which columns must raise or lower the prediction, and of which class."""
    kinds = column_kinds(problem)
    numbers = [name for name in problem.columns if kinds.get(name) != "category"]
    of, named = "", None
    if classes:
        named = st.selectbox(
            "Positive class",
            classes,
            index=len(classes) - 1,
            key="constraint-class",
            format_func=plain,
            persist_state="session",
        )
        of = f' for "{plain(named)}"'
    monotone: dict[str, int] = {}
    ways = ("Increasing", "lowers", "up", UP), ("Decreasing", "raises", "down", DOWN)
    for place, (word, verb, key, sign) in zip(st.columns(2, gap="medium"), ways):
        chosen = place.multiselect(
            f"{word} features (monotone){of}",
            [name for name in numbers if name not in monotone],
            key=f"constraint-{key}",
            format_func=plain,
            persist_state="session",
            help=f"More of them never {verb} the prediction.",
        )
        monotone |= dict.fromkeys(chosen, sign)
    if not monotone:
        return {}
    ensembles = [spec for spec in specs if not spec.single_tree]
    if any("monotone" in own.kept_constraints(problem.task) for own in ensembles):
        st.caption(
            "GRANDE then gives each tree one weight for all rows: otherwise the "
            "ensemble would not be monotone."
        )
    return {"monotone": monotone, "monotone_class": named}


def _labels(problem: Problem) -> list:
    """Labels of the target in a learner's order; none of numbers."""
    if problem.task == "regression":
        return []
    return sorted(problem.labels(table(problem.table_id)).unique().tolist())


def import_box(problem: Problem) -> None:
    """Offer a place for a model's file; what fits the problem becomes a run."""
    with st.expander("Import model", icon=":material/upload_file:", key="import"):
        file = st.file_uploader(
            "A model of treelab, xgboost or LightGBM",
            type=["treelab", "json", "txt"],
            key="import-file",
            help="Written by treelab's export, or by save_model: JSON of xgboost, text "
            "of LightGBM. It is read as data; nothing in it is run.",
        )
        classes = None
        if labels := _labels(problem):
            classes = st.multiselect(
                "Classes 0, 1, … of an xgboost or LightGBM model",
                labels,
                default=labels,
                key=f"import-classes-{problem.table_id}-{problem.target}",
                help="Both store class numbers, not names. Sorted is the order of "
                "scikit-learn's LabelEncoder; a treelab model names its own classes.",
            )
        unsaid = {} if file is None else _unsaid(file.name)
        st.caption(
            f"The model becomes a run that predicts {plain(problem.target)}, scored on "
            f"{plain(problem.table_name)}. For a tree or forest of scikit-learn, write "
            "treelab.from_sklearn(model).save('model.treelab')."
        )
        if st.button("Import", disabled=file is None, key="import-start"):
            with refusals():
                lines = filter(str.strip, unsaid.pop("categories", []))
                given = unsaid | {"categories": jobs.read_categories(lines)}
                content = file.getvalue()
                model = jobs.model_from_bytes(content, file.name, classes, **given)
                title = file.name.rpartition(".")[0]
                run_id = jobs.import_model(store(), model, problem, title)
                st.switch_page("pages/tree.py", query_params={"run": run_id})


def _unsaid(name: str) -> dict:
    """Let the visitor say what a file of xgboost or LightGBM may not tell."""
    if name.endswith(".treelab"):
        return {}
    missing = None
    if name.endswith(".json"):
        missing = st.number_input(
            "Missing value in an xgboost model's training",
            value=None,
            placeholder="empty cells only",
            format="%.6g",
            key="import-missing",
            help="A number that counted as missing, such as -999: xgboost's file does "
            "not tell.",
        )
    rounds = st.number_input(
        "Boosting rounds",
        min_value=1,
        value=None,
        placeholder="as the model predicts",
        key="import-rounds",
        help="Read only the first rounds of an xgboost or LightGBM model.",
    )
    categories = st.text_area(
        "Categories",
        key="import-categories",
        placeholder="colour=red,green,blue",
        help="Only where an xgboost or LightGBM file lacks them: one column a line, "
        "its categories in the order of training.",
    )
    return {
        "missing": missing,
        "iteration_range": None if rounds is None else (0, int(rounds)),
        "categories": categories.splitlines(),
    }


_INVALID = object()  # a setting that cannot be read
_ALL, _EACH, _CHOSEN = "all columns", "each column, from the others", "chosen columns"


def settings_form(
    specs: list[LearnerSpec], task: str, columns: Sequence[str] = ()
) -> tuple[dict[str, dict], bool]:
    """Show learners' settings side by side; return them, and whether all are read."""
    chosen: dict[str, dict] = {}
    for spec, place in zip(specs, st.columns(max(len(specs), 3), gap="medium")):
        with place:
            st.markdown(f"**{spec.title}**", help=f"{spec.summary} {spec.paper}.")
            own: dict[str, Any] = {}
            for setting in spec.form_settings_of(task):
                if setting.applies_beside(own):
                    own[setting.name] = _field(spec, setting, columns)
            if own.get("recipe") == "paper":
                st.caption(plain(paper_words(spec, task)))
                # What is left at our default is the paper's to say.
                defaults = spec.defaults(task) | {"recipe": "treelab"}
                own = {k: v for k, v in own.items() if v != defaults[k]}
        chosen[spec.key] = own
    return chosen, not any(_INVALID in own.values() for own in chosen.values())


def _field(spec: LearnerSpec, setting: Setting, columns: Sequence[str]) -> Any:
    """Show one setting; return its value, or _INVALID where it cannot be read."""
    key = choices.setting_key(spec.key, setting)
    given = {"key": key, "help": setting.help, "persist_state": "session"}
    if setting.kind == "choice":
        at = setting.choices.index(setting.default)
        return st.selectbox(setting.label, list(setting.choices), at, **given)
    if setting.kind == "bool":
        return st.toggle(setting.label, setting.default, **given)
    if setting.kind == "floats":
        text = st.text_input(setting.label, value_text(setting.default), **given)
        return _checked(partial(ascending_floats, setting, text))
    if setting.kind == "columns":
        return _columns(setting, columns, given)
    return _number(setting, given)


def _number(setting: Setting, given: dict) -> Any:
    """Show a number; where the default is a word, an empty field stands for it."""
    kind = int if setting.kind == "int" else float
    has_word = not isinstance(setting.default, int | float)
    lowest = setting.above if setting.minimum is None else setting.minimum
    value = st.number_input(
        setting.label,
        min_value=None if lowest is None else kind(lowest),
        max_value=None if setting.maximum is None else kind(setting.maximum),
        value=None if has_word else kind(setting.default),
        step=1 if kind is int else None,
        format=None if kind is int else "%.6g",  # else 0.001 would stand there as 0.00
        placeholder=value_text(setting.default) if has_word else None,
        **given,
    )
    if value is None and has_word:
        return setting.default
    return value if _checked(partial(setting.check, value)) is None else _INVALID


def _checked(read: Callable[[], Any]) -> Any:
    """Read a setting; show what is wrong with it, and return _INVALID then."""
    try:
        return read()
    except ValueError as error:
        st.error(plain(error))
        return _INVALID


def _columns(setting: Setting, columns: Sequence[str], given: dict) -> Any:
    """Let the visitor take all columns, each in turn, or some but not all."""
    choice = st.selectbox(setting.label, (_ALL, _EACH, _CHOSEN), **given)
    if choice != _CHOSEN:
        return None if choice == _ALL else "each"
    picked = st.multiselect(
        "Columns", columns, key=f"{given['key']}-names", format_func=plain
    )
    if 0 < len(picked) < len(columns):
        return picked
    if picked:
        st.error("Leave at least one column for the splits.")
    else:
        st.caption("Choose at least one column.")
    return _INVALID


ADDRESS = "learners"  # name of the choice in the address
SPLITS = "data-splits"  # key of their number
N_SPLITS = (1, 3, 5)
FOLDS = "5 folds"
DEFAULT_LEARNERS = ("cart", "gradtree")
PILL_COLORS = {  # the theme gives these words the learners' colours
    "cart": "gray",
    "gradtree": "blue",
    "grande": "red",
    "get": "green",
    "argmin": "yellow",
}


def pick_learners() -> list[str]:
    """Let the visitor choose learners; the address brings the choice back."""
    named = [key for key in st.query_params.get(ADDRESS, "").split(",") if key]
    if "learners" not in st.session_state:
        known = named and {*named} <= {*LEARNERS}
        st.session_state["learners"] = named if known else list(DEFAULT_LEARNERS)

    def pill(key: str) -> str:
        dot = f":{PILL_COLORS[key]}[●]" if key in PILL_COLORS else "●"
        return f"{dot} {LEARNERS[key].title}"

    chosen = st.pills(
        "Learners",
        list(LEARNERS),
        selection_mode="multi",
        format_func=pill,
        wrap=True,
        key="learners",
        persist_state="session",
    )
    is_default = [*chosen] == [*DEFAULT_LEARNERS]
    choices.set_parameter(ADDRESS, None if is_default else ",".join(chosen))
    return chosen


def chosen_splits(problem: Problem) -> int | str:
    """Return on how many data splits the learners are to be trained, or on folds."""
    chosen = st.session_state.get(SPLITS) or N_SPLITS[0]
    return chosen if problem.can_have_folds else N_SPLITS[0]


def learners_form(
    problem: Problem, chosen: list[str]
) -> tuple[Problem, dict[str, dict], bool]:
    """Show the settings of the chosen learners; returns what ``clusters_form`` does."""
    specs = [LEARNERS[key] for key in chosen]
    with st.expander(
        "Weights, learner settings, constraints, import",
        icon=":material/tune:",
        key="settings",
    ):
        weight_fields(problem)
        settings, complete = settings_form(specs, problem.task)
        pick_one(
            "Data splits",
            [*N_SPLITS, FOLDS] if problem.can_have_folds else N_SPLITS[:1],
            SPLITS,
            persist_state="session",
            help="More than one: learners are trained again on other random splits. "
            "5 folds: each row is a test row once; press again for a new shuffle. "
            "Compare shows the mean over splits and tests the difference.",
        )
        asked = constraint_fields(problem, specs)
        if not (errors := problem_errors(problem)):
            import_box(problem)
    can_keep = add_constraints(settings, asked, problem)
    for error in errors:
        st.error(plain(error), icon=":material/error:")
    return problem, settings, bool(chosen) and complete and can_keep and not errors


def pick_aim() -> bool:
    """Let the visitor choose what trees are trained for; True for clusters."""
    goal = choices.CLUSTER if choices.finds_clusters() else choices.PREDICT
    st.session_state[choices.AIM] = goal
    chosen = pick_one(
        "Goal",
        {choices.PREDICT: "Predict", choices.CLUSTER: "Find clusters"},
        choices.AIM,
        default=None,  # that of the session
        persist_state="session",
        help="Clusters need no target: similar rows end in the same leaf of one tree.",
    )
    return chosen == choices.CLUSTER


def pick_labels(problem: Problem) -> str | None:
    """Let the visitor name the column of known labels; None for none."""
    base = choices.base_table(problem)
    columns = [*map(str, table(base).columns)]
    names = distinct(dict(enumerate(["none", *columns])))
    has_classes = problem.task != "regression" and problem.target in columns
    place = st.selectbox(
        "Known labels",
        list(names),
        index=1 + columns.index(problem.target) if has_classes else 0,
        format_func=names.__getitem__,
        key=f"known-{base}",
        help="A column to compare the clusters with. It is not used for training; it "
        "measures how pure the clusters are.",
        width=230,
    )
    return columns[place - 1] if place else None


def clusters_form(
    problem: Problem, known: str | None
) -> tuple[Problem | None, dict[str, dict], bool]:
    """Show the settings of a search for clusters, compared with known labels or none.

    Returns what a run is to be about, its settings, and whether all can be read; no
    problem where the table allows no clusters.
    """
    base, wanted = choices.base_table(problem), None
    columns = {*problem.columns, problem.target} - {known}
    given = {name: getattr(problem, name) for name in ("table_name", "seed", "units")}
    given["kinds"] = [pair for pair in problem.kinds if pair[0] in columns]
    with refusals():
        about = {"table_id": base, "known": known, "columns": columns}
        wanted = clusters_problem(table(base), **about, **given)
    with st.expander("Learner settings", icon=":material/tune:", key="settings"):
        settings, complete = settings_form(
            [CLUSTERS], "multiclass", wanted.columns if wanted else ()
        )
    return wanted, settings, complete
