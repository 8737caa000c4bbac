"""backup and restore from the shell."""

from treelab.cli.main import main
from treelab.runs.store.run_store import RunStore


def test_a_store_comes_back_from_the_shell(trained, tmp_path, capsys, refused):
    file, new = str(tmp_path / "all.zip"), str(tmp_path / "new")
    assert main(["backup", file]) == 0
    assert "1 run and 1 table" in capsys.readouterr().out
    assert main(["restore", file, "--home", new]) == 0
    assert RunStore(new).run(trained).has_model
    assert "is not empty" in refused("restore", file, "--home", new)
    assert "ends in .zip" in refused("backup", str(tmp_path / "all.tar"))
    assert "no run store" in refused("backup", file, "--home", str(tmp_path / "none"))


def test_a_damaged_store_is_named_and_the_older_backup_stays(
    trained, tmp_path, capsys, refused
):
    file = tmp_path / "all.zip"
    assert main(["backup", str(file)]) == 0
    before = file.read_bytes()
    (table,) = (RunStore().home / "tables").iterdir()
    table.write_bytes(table.read_bytes()[:-9])
    assert "an older one stays" in refused("backup", str(file))
    assert file.read_bytes() == before
    assert main(["backup", str(file), "--anyway"]) == 1
    assert "Damaged or missing: the table" in capsys.readouterr().err
    new = str(tmp_path / "new")
    assert "--anyway" in refused("restore", str(file), "--home", new)
    assert main(["restore", str(file), "--home", new, "--anyway"]) == 1
