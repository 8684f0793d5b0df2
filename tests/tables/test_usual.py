import pytest

from cfl_cli.tables.codec import ReadOptions
from cfl_cli.tables.csv_reader import as_usual
from cfl_cli.tables.formats import KINDS

SAID = {"delimiter": ";", "encoding": "cp1252"}
USUAL, NOT_ENCODING = {}, {"delimiter": ";"}


@pytest.mark.parametrize(
    ("text", "encoding", "signs"),
    [
        ("größe,cf\nÄ;,a\n", "utf-8", USUAL),
        ("x,cf\n1,a\n", "ascii", USUAL),
        ("größe;cf\n1;ä\n", "cp1252", SAID),
        ("x;cf\n1;a\n", "ascii", SAID),  # alike in both encodings
        ("x;cf\n1;ä\n", "utf-8", NOT_ENCODING),
        ("x;cf\n1;Ã\xa4, ü\n", "cp1252", SAID),  # not all of it is UTF-8
        ("x,y\n1,a\n", "ascii", SAID),  # without the column
        ("x|cf\n1|a\n", "ascii", SAID),
        ('"x;y","cf"\n1,a\n', "ascii", USUAL),
        (
            "größe,cf\n1,a\n",
            "cp1252",
            SAID,
        ),  # another delimiter, but not UTF-8: as cfl never writes
        ("", "ascii", SAID),
    ],
)
def test_a_table_is_read_as_usual_only_if_its_bytes_show_that(text, encoding, signs):
    options, data = ReadOptions(KINDS["csv"], "t.csv", SAID), text.encode(encoding)
    for chunks in ([data], [data[n : n + 1] for n in range(len(data))]):
        assert as_usual(options, chunks, ["cf"]).signs == signs


def test_an_encoding_whose_characters_have_several_bytes_is_kept():
    options = ReadOptions(KINDS["csv"], "t.csv", {"encoding": "gbk"})
    both = "模".encode("gbk")  # is UTF-8 as well
    assert both.decode("utf-8")
    assert as_usual(options, [b"cf\n" + both], ["cf"]).signs == {"encoding": "gbk"}


def test_without_the_names_of_columns_a_table_is_read_as_it_is_said():
    options = ReadOptions(KINDS["csv"], "t.csv", SAID)
    assert as_usual(options, [b"x,cf\n1,a\n"], ()).signs == SAID
