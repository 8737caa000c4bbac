from dataclasses import replace

import pytest

from treelab.learners.get.settings import BUDGETS


@pytest.fixture(params=["brief", pytest.param("full", marks=pytest.mark.slow)])
def standard_budget(request, monkeypatch):
    """The standard budget, and one with every step of it but less of each."""
    if request.param == "brief":
        brief = replace(
            BUDGETS["standard"],
            steps=150,
            n_grown=2,
            polish_steps=40,
            n_bagged=4,
        )
        monkeypatch.setitem(BUDGETS, "standard", brief)
