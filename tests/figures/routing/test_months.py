"""The stability index by month."""

import pandas as pd

from treelab.figures.routing import months_figure


def test_months_that_differ_have_a_star_and_chance_a_line():
    found = pd.DataFrame(
        {
            "month": ["2024-01", "2024-02"],
            "rows": [90, 5],
            "psi": [0.3, 0.5],
            "psi_by_chance": [0.02, 0.6],
            "differs": [True, False],
        }
    )
    bars, chance = months_figure(found).data
    assert list(bars.text) == ["*", ""]
    assert list(chance.y) == [0.02, 0.6]
    assert months_figure(found).layout.yaxis.range[1] > 0.6
