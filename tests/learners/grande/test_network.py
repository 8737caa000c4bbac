import pytest
import torch

from treelab.learners.grande.network import weighted_prediction


@pytest.mark.parametrize("n_outputs", [1, 3])
def test_a_prediction_is_the_mean_weighted_by_a_softmax_over_the_trees(n_outputs):
    rng = torch.Generator().manual_seed(n_outputs)
    tree_output = torch.randn(5, n_outputs, 7, generator=rng)  # (E, C, B)
    leaf_weight = torch.randn(5, 7, generator=rng)
    predicted = weighted_prediction(tree_output, leaf_weight)
    for row in range(7):
        raw = [float(w.exp()) for w in leaf_weight[:, row]]
        for output in range(n_outputs):
            values = tree_output[:, output, row].tolist()
            expected = sum(w * v for w, v in zip(raw, values)) / sum(raw)
            assert float(predicted[output, row]) == pytest.approx(expected, rel=1e-5)


def test_trees_that_are_not_active_take_no_part():
    rng = torch.Generator().manual_seed(0)
    tree_output = torch.randn(4, 2, 6, generator=rng)
    leaf_weight = torch.randn(4, 6, generator=rng)
    active = torch.tensor([True, False, True, True])[:, None]
    stays = [0, 2, 3]
    torch.testing.assert_close(
        weighted_prediction(tree_output, leaf_weight, active),
        weighted_prediction(tree_output[stays], leaf_weight[stays]),
    )
