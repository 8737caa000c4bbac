"""Estimators around a model: what they do to its columns is not in its trees."""


def refuse_wrapped(model) -> None:
    """Raise ValueError where a model stands inside another estimator.

    Parameters
    ----------
    model : object

    Raises
    ------
    ValueError
        If it is a Pipeline or a search.
    """
    if hasattr(model, "steps"):
        raise ValueError(
            "The last step of a Pipeline reads the columns that the steps before it "
            "make. Pass that step, pipeline[-1], and give tables as "
            "pipeline[:-1].transform(X) makes them."
        )
    if hasattr(model, "best_estimator_"):
        raise ValueError(
            f"A {type(model).__name__} holds several models; pass its best_estimator_."
        )
