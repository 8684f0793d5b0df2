from builders.command_line import cfl, impute


def test_init_drafts_a_schema_that_works(folder):
    assert cfl("init", "data.csv", "--cf", "cf", "--out", "draft.yml").exit_code == 0
    assert impute("--k", 3, schema="draft.yml").exit_code == 0


def test_init_knows_its_columns(folder):
    result = cfl("init", "data.csv", "--cf", "cff")
    assert result.exit_code == 2
    assert "did you mean 'cf'?" in result.stderr
