"""The Triton kernels, in Triton's interpreter where there is no GPU."""

import os
import subprocess
import sys
from importlib.util import find_spec

import pytest
import torch

CODE = """
import sys
import torch
from treelab.ops.axis_trees import axis_trees

device = sys.argv[1]
for soft in ("logistic", "softsign", "entmoid"):
    for depth, n_rows, n_outputs, n_offered in (
        (1, 3, 1, 4), (3, 150, 2, 6), (4, 40, 3, 3),
    ):
        rng = torch.Generator().manual_seed(depth)
        shape = (3, 2**depth - 1, n_offered)
        x = torch.randn(n_rows, 6, generator=rng).to(device)
        start = [torch.randn(s, generator=rng).to(device) for s in (
            shape, shape, (3, 2**depth, n_outputs))]
        columns = torch.rand(3, 6, generator=rng).argsort(1)[:, :n_offered].to(device)
        columns = columns if n_offered < 6 else None
        found = []
        weight = torch.randn(3, n_outputs, n_rows, generator=rng).to(device)
        for backend in ("torch", "triton"):
            leaves = [t.clone().requires_grad_() for t in start]
            out = axis_trees(x, *leaves, columns=columns, soft=soft, backend=backend)
            gradients = torch.autograd.grad((out * weight).sum(), leaves)
            found.append((out, *gradients))
        for ours, reference in zip(*reversed(found), strict=True):
            torch.testing.assert_close(ours, reference, atol=1e-4, rtol=1e-4)
print("agreed")
"""


@pytest.mark.skipif(find_spec("triton") is None, reason="triton is not installed")
def test_the_kernels_agree_with_the_reference():
    on_gpu = torch.cuda.is_available()
    environment = os.environ | ({} if on_gpu else {"TRITON_INTERPRET": "1"})
    answer = subprocess.run(
        [sys.executable, "-c", CODE, "cuda" if on_gpu else "cpu"],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert answer.stdout.strip() == "agreed", answer.stderr
