from treelab.learners.grande.settings import SPEC
from treelab.ops.decide import SOFT
from treelab.ops.losses import LOSSES


def test_every_choice_is_one_that_the_operators_know():
    choices = {setting.name: set(setting.choices) for setting in SPEC.settings}
    assert choices["loss"] == set(LOSSES)
    assert choices["decision"] == set(SOFT)
