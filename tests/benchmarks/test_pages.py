"""The benchmark of the pages: its table, and that it opens every page."""

import pytest

from benchmarks import pages
from benchmarks.pages import LEVELS, N_ROWS, TARGET, census_like

SMALL = {
    "cart": {"tune": False},
    "gradtree": {"n_steps": 5, "n_restarts": 2, "max_leaf_nodes": 4},
    "grande": {"n_estimators": 4, "depth": 3, "max_epochs": 2},
}


def test_the_table_is_as_large_as_adult_and_always_the_same():
    frame = census_like()
    assert frame.shape == (N_ROWS, 6 + len(LEVELS) + 1)
    assert frame.equals(census_like())
    assert frame[TARGET].value_counts(normalize=True)[">50K"] == pytest.approx(
        0.24, abs=0.001
    )
    assert (frame.isna().mean() > 0.04).sum() == 3
    assert frame["category 8"].nunique() == max(LEVELS)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_every_page_is_measured(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(pages, "census_like", lambda: census_like(400))
    monkeypatch.setattr(pages, "N_WARM", 1)
    monkeypatch.setattr(pages, "SETTINGS", SMALL)
    # All of them are opened by test_large.py.
    monkeypatch.setattr(pages, "OF_A_RUN", pages.OF_A_RUN[::3])
    monkeypatch.setattr(pages, "OF_A_TREE", pages.OF_A_TREE[1:])
    table = pages.run_ui(home=tmp_path)
    pages_seen = {"data", "train", "runs", "tree", "explain", "compare"}
    assert set(table["page"]) == pages_seen
    assert (table[["cold", "warm"]] > 0).all().all()
    assert table.set_index("page")["changed"].loc[["explain", "compare"]].gt(0).all()
    assert "census-like, 400 rows" in capsys.readouterr().out
