"""Synthetic tables: a trap for greedy trees, and one with every kind of column."""

import numpy as np
import pandas as pd

TRAP_UNITS = {
    "furnace temperature": "°C",
    "cooling rate": "K/min",
    "carbon": "%",
    "manganese": "%",
    "bar diameter": "mm",
    "rolling speed": "m/s",
    "air humidity": "%",
    "time in furnace": "min",
    "water pressure": "bar",
    "shift hour": "h",
}
MEMBER_UNITS = {
    "age": "years",
    "income": "€/month",
    "years a member": "years",
    "visits": "a month",
    "distance": "km",
}
OCCUPATIONS = {  # name: (frequency, euros a month, how gladly they renew)
    "student": (0.16, 950, 0.9),
    "retired": (0.15, 1700, 1.2),
    "teacher": (0.10, 3100, 1.3),
    "engineer": (0.09, 4400, -0.2),
    "nurse": (0.09, 2700, 0.2),
    "clerk": (0.08, 2500, 0.0),
    "sales": (0.08, 2600, -0.9),
    "craft": (0.07, 2800, -1.0),
    "driver": (0.06, 2300, -1.2),
    "manager": (0.05, 5600, -0.6),
    "artist": (0.04, 1600, 0.8),
    "farmer": (0.03, 2400, -0.7),
}


def greedy_trap(n_rows: int = 1500, *, seed: int = 0) -> pd.DataFrame:
    """Return steel bars that crack when hot is cooled fast or cool is cooled slowly.

    The target is the exclusive or of the first two of ten columns, each thresholded
    in the middle, with 3% label noise. Either of the two alone is independent of the
    target, while each of the other eight is correlated with it a little: a greedy tree
    follows these and learns next to nothing, where two levels of splits suffice.
    """
    rng = np.random.default_rng(seed)
    low = np.array([750, 10, 0.1, 0.4, 8, 2, 30, 20, 2, 0])
    high = np.array([950, 70, 0.9, 1.6, 40, 18, 90, 120, 10, 8])
    decimals = [0, 1, 3, 3, 1, 1, 0, 0, 2, 2]
    position = rng.random((n_rows, 10))  # from low to high, 0 to 1
    hot, fast = position[:, 0] > 0.5, position[:, 1] > 0.5
    cracks = (hot == fast) ^ (rng.random(n_rows) < 0.03)
    correlated = rng.random((n_rows, 10)) < 0.05
    correlated[:, :2] = False
    position = np.where(correlated, (cracks[:, None] + position) / 2, position)
    values = low + position * (high - low)
    frame = pd.DataFrame(
        {name: np.round(values[:, j], decimals[j]) for j, name in enumerate(TRAP_UNITS)}
    )
    return frame.assign(bar=np.where(cracks, "cracked", "sound"))


def library_members(n_rows: int = 1200, *, seed: int = 0) -> pd.DataFrame:
    """Return members of a library and whether they renew.

    Numbers, a category of twelve, one of five, a yes or no, and missing values in
    both kinds; income is missing more often for those who do not renew.
    """
    rng = np.random.default_rng(seed)
    names = np.array(list(OCCUPATIONS), dtype=object)
    frequency, pay, liking = np.array(list(OCCUPATIONS.values())).T
    trade = rng.choice(len(names), n_rows, p=frequency / frequency.sum())
    age = rng.normal(43, 11, n_rows)
    age = np.where(names[trade] == "student", rng.normal(22, 2.5, n_rows), age)
    age = np.where(names[trade] == "retired", rng.normal(71, 5, n_rows), age)
    age = np.clip(np.round(age), 17, 90)
    income = np.round(pay[trade] * rng.lognormal(0, 0.25, n_rows), -1)
    region = rng.choice(
        ["north", "east", "south", "west", "centre"],
        n_rows,
        p=[0.18, 0.2, 0.22, 0.2, 0.2],
    ).astype(object)
    children = rng.random(n_rows) < np.where((age > 27) & (age < 55), 0.55, 0.08)
    years = np.round(rng.gamma(1.6, 2.4, n_rows), 1)
    visits = rng.poisson(1.2 + 1.3 * (liking[trade] > 0.5) + 0.8 * children)
    distance = np.round(rng.gamma(2.0, 2.2, n_rows) + 0.1, 1)
    liked = (
        -1.3
        + 1.1 * liking[trade]
        + 0.75 * visits
        - 0.22 * distance
        + np.where(years > 3, 0.9, -0.3)
        + np.where((region == "centre") & (income > 2500), -1.0, 0.2)
    )
    renews = rng.logistic(0, 0.6, n_rows) < liked
    no_income = rng.random(n_rows) < np.where(renews, 0.06, 0.18)
    return pd.DataFrame(
        {
            "age": np.where(rng.random(n_rows) < 0.03, np.nan, age),
            "income": np.where(no_income, np.nan, income),
            "occupation": _text(names[trade], rng.random(n_rows) < 0.05),
            "region": _text(region, np.zeros(n_rows, dtype=bool)),
            "children": _text(
                np.where(children, "yes", "no"), rng.random(n_rows) < 0.02
            ),
            "years a member": years,
            "visits": visits,
            "distance": np.where(rng.random(n_rows) < 0.08, np.nan, distance),
            "renews": _text(
                np.where(renews, "yes", "no"), np.zeros(n_rows, dtype=bool)
            ),
        }
    )


def _text(values: np.ndarray, missing: np.ndarray) -> pd.Series:
    """Return a text column with some of its values missing."""
    return pd.Series(values, dtype="str").mask(missing)
