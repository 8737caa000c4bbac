import numpy as np

from treelab.learners.common.class_prior import best_lean


def log_shares(share):
    return np.log(np.stack([1 - share, share], 1))


def test_answers_lean_to_a_rare_class_that_is_seldom_the_likelier_one():
    rng = np.random.default_rng(0)
    share = rng.choice([0.02, 0.4], size=4000, p=[0.8, 0.2])
    target = (rng.random(4000) < share).astype(int)
    balanced = np.log(len(target) / (2 * np.bincount(target)))
    power = best_lean(log_shares(share), target, balanced)
    told = (log_shares(share) + power * balanced).argmax(1)
    assert told.sum() == (share == 0.4).sum()


def test_balanced_classes_are_left_as_they_are():
    rng = np.random.default_rng(0)
    share = rng.random(1000)
    target = (rng.random(1000) < share).astype(int)
    assert best_lean(log_shares(share), target, np.zeros(2)) == 0
