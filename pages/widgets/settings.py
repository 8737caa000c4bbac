"""The form of Train: learners, settings, weights, constraints, clusters, imports."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import streamlit as st

from pages.cached.store import column_kinds, problem_errors, store, table
from pages.state.choices import (
    AIM,
    AIMS,
    CLUSTER,
    PREDICT,
    base_table,
    changes,
    set_parameter,
    setting_key,
    with_targets,
)
from pages.widgets.words import plain
from treelab.data.columns import useful_columns
from treelab.data.problem import Problem, weighted_problem
from treelab.learners.common.settings import LearnerSpec, Setting
from treelab.learners.registry import CLUSTERS, LEARNERS
from treelab.learners.setting_text import ascending_floats, paper_words, value_text
from treelab.runs.jobs.clusters import clusters_problem
from treelab.runs.jobs.import_model import (
    import_model,
    model_from_bytes,
    read_categories,
)
from treelab.trees.constraints import DOWN, UP, Constraints


def weight_fields(problem: Problem) -> None:
    """Let the visitor choose the columns of weights and of the exposure."""
    kinds = column_kinds(problem)
    numbers = [
        name
        for name, kind in kinds.items()
        if kind == "number" and name not in (*problem.targets, problem.truth)
    ]
    with st.container(horizontal=True, key="weights"):
        _column_field(
            problem,
            "weight",
            "Weight",
            [name for name in numbers if name != problem.exposure],
            "rows count alike",
            "A column that says what each row counts in training and in every score. "
            "It is not predicted from; rows of weight 0 are left out.",
        )
        if problem.task == "regression" and not problem.is_surrogate:
            if not problem.exposure:
                _more_targets(problem, numbers)
            if problem.more_targets:
                return
            _column_field(
                problem,
                "exposure",
                "Exposure",
                [name for name in numbers if name != problem.weight],
                "none",
                f"Predicts {problem.target} per unit of this column, such as claims "
                "per year insured; rows count by it. It is not predicted from.",
            )


def _more_targets(problem: Problem, numbers: list[str]) -> None:
    """Let the visitor choose numbers that the same tree predicts, too."""
    apart = (problem.weight, problem.split_column)
    st.multiselect(
        "More targets",
        [*problem.more_targets, *(name for name in numbers if name not in apart)],
        **changes(problem, "more-targets", list(problem.more_targets), with_targets),
        placeholder="none",
        help="Numbers that the same tree predicts, too: every leaf has one for each. "
        "CART, GradTree and GET do that.",
        width=320,
    )


def _column_field(
    problem: Problem, name: str, label: str, columns: list[str], none: str, words: str
) -> None:
    """Show the choice of one of the two columns."""
    chosen = getattr(problem, name)
    options = list(dict.fromkeys(["", *columns, chosen]))

    def with_column(now: Problem, column: str) -> Problem:
        """Take a column; the one that was chosen before is predicted from again."""
        frame = table(now.table_id)
        both = {"weight": now.weight, "exposure": now.exposure} | {name: column}
        useful = useful_columns(frame, now.target)
        kept = {*now.columns} | ({getattr(now, name)} & {*useful})
        columns = [str(own) for own in frame.columns if str(own) in kept]
        columns += [own for own in now.columns if own not in columns]
        return weighted_problem(now, **both, columns=columns)

    st.selectbox(
        label,
        options,
        format_func=lambda column: column or none,
        **changes(problem, name, chosen, with_column),
        help=words,
        width=260,
    )


TITLE = "Constraints"
_TEXTS = {
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
    with st.expander(TITLE, icon=":material/rule:", key="constraints"):
        st.caption("They hold on every possible row, not only on the table's.")
        return _monotone(problem, specs) | _counts() | _texts(problem)


def read_constraints(
    given: dict[str, Any], problem: Problem, specs: Sequence[LearnerSpec]
) -> tuple[Any, bool]:
    """Return constraints as a run takes them, and whether all learners keep them.

    None where nothing is asked, or where they cannot be read: the page shows why.
    """
    try:
        constraints = Constraints.read(given)
        constraints.check_columns(problem.columns)
        constraints.check_classes(_classes(problem))
        for spec in specs:
            spec.check_constraints(constraints, problem.task)
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
        return None, False
    return constraints.to_dict() or None, True


def _monotone(problem: Problem, specs: Sequence[LearnerSpec]) -> dict[str, Any]:
    """Ask which columns must raise or lower the prediction, and of which class."""
    kinds, classes = column_kinds(problem), _classes(problem)
    numbers = [name for name in problem.columns if kinds.get(name) != "category"]
    of, named = "", None
    if classes is not None:
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
    left, right = st.columns(2, gap="medium")
    for place, word, verb, key, sign in (
        (left, "Increasing", "lowers", "up", UP),
        (right, "Decreasing", "raises", "down", DOWN),
    ):
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
    if any(
        "monotone" in spec.kept_constraints(problem.task) and not spec.single_tree
        for spec in specs
    ):
        st.caption(
            "GRANDE then gives each tree one weight for all rows: otherwise the "
            "ensemble would not be monotone."
        )
    return {"monotone": monotone, "monotone_class": named}


def _counts() -> dict[str, Any]:
    """Ask how many columns and rows there may be."""
    given = {"min_value": 1, "value": None, "step": 1, "persist_state": "session"}
    left, right = st.columns(2, gap="medium")
    return {
        name: place.number_input(
            label, placeholder=default, key=f"constraint-{name}", **given
        )
        for place, name, label, default in (
            (left, "max_columns", "Max features", "all"),
            (right, "min_samples_leaf", "Min rows per leaf", "1"),
        )
    }


def _texts(problem: Problem) -> dict[str, str]:
    """Ask for what is written: groups, levels, costs."""
    asked, given = dict(_TEXTS), {}
    if (classes := _classes(problem)) is not None:
        first, last = classes[0], classes[-1]
        asked["class_costs"] = (
            "Error costs",
            f"{last} as {first}: 5, {first} as {last}: 1",
            "True class “as” predicted class: cost. What is not written costs 1. "
            "Leaves predict the class with the lowest expected cost.",
        )
    places = st.columns(2, gap="medium")
    for number, (name, (label, example, help_text)) in enumerate(asked.items()):
        given[name] = places[number % 2].text_input(
            label,
            placeholder=example,
            help=help_text,
            key=f"constraint-{name}",
            persist_state="session",
        )
    return given


def _labels(problem: Problem) -> list:
    """Labels of a target of classes in a learner's order."""
    return sorted(problem.labels(table(problem.table_id)).unique().tolist())


def _classes(problem: Problem) -> list[str] | None:
    """Labels of the target in a learner's order, as text; None for numbers."""
    return None if problem.task == "regression" else [*map(str, _labels(problem))]


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
        classes = None if problem.task == "regression" else _class_order(problem)
        unsaid = {} if file is None else _unsaid(file.name)
        st.caption(
            f"The model becomes a run that predicts {plain(problem.target)}, scored on "
            f"{plain(problem.table_name)}. For a tree or forest of scikit-learn, write "
            "treelab.from_sklearn(model).save('model.treelab')."
        )
        if st.button("Import", disabled=file is None, key="import-start"):
            try:
                lines = unsaid.pop("categories", [])
                model = model_from_bytes(
                    file.getvalue(),
                    file.name,
                    classes,
                    categories=read_categories(filter(str.strip, lines)),
                    **unsaid,
                )
                title = file.name.rpartition(".")[0]
                run_id = import_model(store(), model, problem, title)
            except ValueError as error:
                st.error(plain(error), icon=":material/error:")
                return
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


def _class_order(problem: Problem) -> list:
    """Let the visitor name the labels behind xgboost's class numbers."""
    labels = _labels(problem)
    return st.multiselect(
        "Classes 0, 1, … of an xgboost or LightGBM model",
        labels,
        default=labels,
        key=f"import-classes-{problem.table_id}-{problem.target}",
        help="Both store class numbers, not names. Sorted is the order of "
        "scikit-learn's LabelEncoder; a treelab model names its own classes.",
    )


_INVALID = object()  # a setting that cannot be read
_ALL, _EACH, _CHOSEN = "all columns", "each column, from the others", "chosen columns"


def settings_form(
    specs: list[LearnerSpec], task: str, columns: Sequence[str] = ()
) -> tuple[dict[str, dict], bool]:
    """Show learners' settings side by side; return them, and whether all are read."""
    chosen: dict[str, dict] = {}
    complete = True
    places = st.columns(max(len(specs), 3), gap="medium")
    for spec, place in zip(specs, places):
        with place:
            st.markdown(f"**{spec.title}**", help=f"{spec.summary} {spec.paper}.")
            chosen[spec.key] = {
                setting.name: _field(spec, setting, columns)
                for setting in spec.form_settings_of(task)
            }
            if chosen[spec.key].get("recipe") == "paper":
                st.caption(plain(paper_words(spec, task)))
                # What is left at our default is the paper's to say.
                defaults = spec.defaults(task) | {"recipe": "treelab"}
                own = chosen[spec.key].items()
                chosen[spec.key] = {k: v for k, v in own if v != defaults[k]}
        complete &= _INVALID not in chosen[spec.key].values()
    return chosen, complete


def _field(spec: LearnerSpec, setting: Setting, columns: Sequence[str]) -> Any:
    """Show one setting; return its value, or _INVALID where it cannot be read."""
    key = setting_key(spec.key, setting)
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
    set_parameter(ADDRESS, None if is_default else ",".join(chosen))
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
        st.segmented_control(
            "Data splits",
            [*N_SPLITS, FOLDS] if problem.can_have_folds else [*N_SPLITS[:1]],
            default=N_SPLITS[0],
            required=True,
            key=SPLITS,
            persist_state="session",
            help="More than one: learners are trained again on other random splits. "
            "5 folds: each row is a test row once; press again for a new shuffle. "
            "Compare shows the mean over splits and tests the difference.",
        )
        asked = constraint_fields(problem, specs)
        if not (errors := problem_errors(problem)):
            import_box(problem)
    constraints, can_keep = read_constraints(asked, problem, specs)
    for spec in specs:
        if spec.kept_constraints(problem.task):
            settings[spec.key]["constraints"] = constraints
    for error in errors:
        st.error(plain(error), icon=":material/error:")
    return problem, settings, bool(chosen) and complete and can_keep and not errors


def pick_aim() -> bool:
    """Let the visitor choose what trees are trained for; True for clusters."""
    if st.session_state.get(AIM) not in AIMS:
        st.session_state[AIM] = PREDICT
    words = {PREDICT: "Predict", CLUSTER: "Find clusters"}
    chosen = st.segmented_control(
        "Goal",
        AIMS,
        format_func=words.__getitem__,
        required=True,
        key=AIM,
        persist_state="session",
        help="Clusters need no target: similar rows end in the same leaf of one tree.",
    )
    return chosen == CLUSTER


def pick_labels(problem: Problem) -> str | None:
    """Let the visitor name the column of known labels; None for none."""
    base = base_table(problem)
    names = [str(name) for name in table(base).columns]
    first = 0
    if problem.task != "regression" and problem.target in names:
        first = names.index(problem.target) + 1
    place = st.selectbox(
        "Known labels",
        range(len(names) + 1),
        index=first,
        format_func=["none", *names].__getitem__,
        key=f"known-{base}",
        help="A column to compare the clusters with. It is not used for training; it "
        "measures how pure the clusters are.",
        width=230,
    )
    return names[place - 1] if place else None


def clusters_form(
    problem: Problem, known: str | None
) -> tuple[Problem | None, dict[str, dict], bool]:
    """Show the settings of a search for clusters, compared with known labels or none.

    Returns what a run is to be about, its settings, and whether all can be read; no
    problem where the table allows no clusters.
    """
    base = base_table(problem)
    columns = {*problem.columns, problem.target} - {known}
    wanted = None
    try:
        wanted = clusters_problem(
            table(base),
            table_id=base,
            table_name=problem.table_name,
            known=known,
            columns=columns,
            kinds=[pair for pair in problem.kinds if pair[0] in columns],
            seed=problem.seed,
            units=problem.units,
        )
    except ValueError as error:
        st.error(plain(error), icon=":material/error:")
    with st.expander("Learner settings", icon=":material/tune:", key="settings"):
        settings, complete = settings_form(
            [CLUSTERS], "multiclass", wanted.columns if wanted else ()
        )
    return wanted, settings, complete
