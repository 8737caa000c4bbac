"""Random trees beside greedy ones: they have the sizes at which they lead clearly."""

import numpy as np
import pytest

from treelab.learners.common.tuned_tree import Candidate, Choice
from treelab.learners.gradtree.estimators import RandomTrees, with_random_trees


def choice(scores):
    """Greedy trees of three sizes, with these scores and some noise, by part."""
    noise = np.random.default_rng(0).normal(scale=0.02, size=(3, 20))
    own = np.array(scores)[:, None] + noise
    candidates = [Candidate(8, 1, 0)] * 3
    return Choice(np.array([2, 4, 8]), candidates, own, 2, own.std(1))


@pytest.mark.parametrize("lead", [0.0, 0.001, 0.2])
def test_random_trees_have_the_sizes_at_which_they_lead_by_two_errors(lead):
    greedy = choice([0.5, 0.6, 0.7])
    jitter = np.random.default_rng(1).normal(scale=0.02, size=(3, 20))
    more = np.array([0.0, lead, lead])[:, None]
    found = RandomTrees(greedy.fold_scores + more + jitter - jitter.mean(), [], [])
    chosen, leads = with_random_trees(greedy, found)
    assert leads.tolist() == [False, lead > 0.1, lead > 0.1]
    for place, has in enumerate(leads):
        own = found if has else greedy
        assert (chosen.fold_scores[place] == own.fold_scores[place]).all()


def test_the_smallest_size_within_an_error_is_chosen_anew():
    greedy = choice([0.5, 0.6, 0.7])
    scores = greedy.fold_scores.copy()
    scores[1] = scores[2] = 0.9
    chosen, leads = with_random_trees(greedy, RandomTrees(scores, [], []))
    assert leads.tolist() == [False, True, True]
    assert chosen.sizes[chosen.chosen] == 4
