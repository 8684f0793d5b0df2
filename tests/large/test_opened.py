import pytest

from cfl_cli.core.parallel import Workers
from cfl_cli.core.settings import RunSettings
from cfl_cli.errors import UsageError
from cfl_cli.large import IN_MEMORY, open_engine, remove_run
from cfl_cli.large.stored import Stored


def opened(rows=10, near=None, **settings):
    return open_engine(RunSettings(jobs=1, **settings), rows=rows, identity={}, near=near)


def test_few_rows_are_worked_on_in_memory(tmp_path):
    with opened(IN_MEMORY, tmp_path) as engine:
        assert type(engine) is Workers
        assert list(tmp_path.iterdir()) == []


def test_more_rows_are_in_files_that_go_with_the_run(tmp_path):
    with opened(IN_MEMORY + 1, tmp_path) as engine:
        assert type(engine) is Stored
        assert not engine.keeps
        array = engine.empty("x", (3,), int)
        assert len(list(tmp_path.rglob("*.npy"))) == 1
    assert list(tmp_path.iterdir()) == []
    assert array.tolist() == [0, 0, 0]  # whoever holds it still has it


def test_a_run_directory_stays_until_the_run_is_finished(tmp_path):
    run = str(tmp_path / "run")
    for resume in (False, True):
        with opened(run_dir=run, resume=resume) as engine:
            assert engine.keeps
    with pytest.raises(UsageError, match="another run has done"), opened(run_dir=run):
        pass
    with opened(run_dir=run, resume=True) as engine:
        engine.finish()
    assert list(tmp_path.iterdir()) == []


def test_a_run_directory_can_also_be_removed_later(tmp_path):
    run = str(tmp_path / "run")
    with opened(run_dir=run):
        pass
    remove_run(RunSettings(run_dir=run))
    remove_run(RunSettings(run_dir=run))
    remove_run(RunSettings())
    assert list(tmp_path.iterdir()) == []
