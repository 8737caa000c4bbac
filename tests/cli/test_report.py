"""Reports and model cards from the shell."""

from tests.pages.stores import add_run
from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


def test_a_report_and_a_model_card_are_written(home, tmp_path, capsys, refused):
    store = RunStore()
    runs = [add_run(store, learner) for learner in ("cart", "gradtree")]
    path = tmp_path / "report.html"
    assert main(["report", *runs, "-o", str(path)]) == 0
    assert path.read_text("utf-8").startswith("<!doctype html>")
    capsys.readouterr()
    assert main(["report", runs[0], "--format", "md"]) == 0
    assert capsys.readouterr().out.startswith("# CART")
    assert "one run" in refused("report", *runs, "--format", "md")
    assert main(["report", runs[0], "-o", str(path.with_suffix(".md"))]) == 0
    assert path.with_suffix(".md").read_text("utf-8").startswith("# CART")
