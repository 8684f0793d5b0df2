from builders.command_line import cfl


def test_check_reports_sizes_and_what_a_run_takes(folder):
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    assert result.exit_code == 0
    for words in ("12", "MB", "no problems"):
        assert words in result.stdout


def test_check_finds_all_problems_at_once(folder):
    (folder / "data.csv").write_text("x,y,cf\n1,many,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    assert result.exit_code == 1
    assert "'many'" in result.stderr
    assert "'d'" in result.stderr


def test_check_names_bad_cells_absent_columns_and_k_together(folder):
    (folder / "data.csv").write_text("x,z,cf\nmany,1,a\n2,3,d\n3,4,b\n")
    result = cfl("check", "data.csv", "--schema", "schema.yml")
    for word in ("column 'y' is in the schema but not in the table", "'many'", "'d'", "k = 3"):
        assert word in result.stderr
    assert cfl("check", "data.csv", "-s", "schema.yml", "--k", "2").stderr.count("k = ") == 0
