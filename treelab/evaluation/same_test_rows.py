"""Whether two scores may be compared: they must be of the same rows and targets."""

from treelab.data.problem import Problem


def have_same_test_rows(one: Problem, other: Problem) -> bool:
    """Whether two problems test on the same rows of the same target.

    Clusters that a run found itself are no truth to test by.
    """
    return not one.origin and _test_rows(one) == _test_rows(other)


def _test_rows(problem: Problem) -> tuple:
    """What decides on which rows, and against which target, is tested."""
    return (
        problem.table_id,
        problem.target,
        problem.task,
        problem.seed,
        problem.valid_share,
        problem.test_share,
        problem.split_by,
        problem.split_column,
        problem.n_folds,
    )
