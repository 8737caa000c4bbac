import pytest
import torch

from treelab.bench import dense_oblique_tree, oblique_steps
from treelab.ops.oblique import oblique_margin, soft_route


@pytest.mark.slow
def test_the_yardstick_computes_what_the_operator_computes():
    rng = torch.Generator().manual_seed(0)
    x = torch.rand(4, 30, generator=rng)
    weights, threshold = torch.randn(1, 7, 4, generator=rng), torch.zeros(1, 7)
    leaf, scale = torch.randn(1, 8, 1, generator=rng), torch.full((1, 1, 1), 3.0)
    ours = soft_route(oblique_margin(x, weights, threshold), scale, leaf)[0, 0]
    dense = dense_oblique_tree(x, weights[0], threshold[0], scale[0], leaf[0, :, 0])
    torch.testing.assert_close(ours, dense)


@pytest.mark.slow
def test_both_steps_run():
    for step in oblique_steps(n_starts=2, depth=2, n_features=3, n_rows=20).values():
        step()
