"""Bits give what a loop over characters gives: where records end, their widths, the first fault."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.tables import csv_scan
from cfl_cli.tables.csv_scan import BEHIND, OPEN, WITHIN, Dialect, find_records, scan
from cfl_cli.tables.encodings import LONE_RETURN

COMMA = Dialect(",", '"')


def scanned(text, signs=COMMA):
    ends, delimiters, fault = scan(np.frombuffer(text.encode(), dtype=np.uint8), signs)
    return ends.tolist(), delimiters.tolist(), fault


def spans(text, *, go_on=False):
    """Return the text and the width of every record, and the text and the cause of what is none."""
    data = text.encode()
    records, bad, _ = find_records(data, COMMA, go_on=go_on)
    columns = (records.starts, records.ends, records.widths)
    return (
        [(data[start:end].decode(), width) for start, end, width in zip(*columns, strict=True)],
        [(data[record.start : record.stop].decode(), record.cause) for record in bad],
    )


def test_records_end_and_are_delimited_outside_quotes_only():
    assert scanned('a,b\n"x,\n""y""",2\n') == ([3, 16], [1, 2], None)


def test_the_last_record_needs_no_line_end():
    assert scanned("a,b\n1,2") == ([3, 7], [1, 2], None)
    assert scanned("") == ([], [], None)


@pytest.mark.parametrize(
    ("text", "position", "cause"),
    [
        ('a,b\n1,5" pipe\n', 7, WITHIN),
        ('a,b\n1,"x" y\n', 8, BEHIND),
        ('a,b\n1,"x\n2,3\n', 6, OPEN),
        ("a,b\r1,2\n", 3, LONE_RETURN),
        ("a,b\n1,2\r", 7, LONE_RETURN),
    ],
)
def test_a_fault_is_named_where_it_is_and_records_before_it_stay(text, position, cause):
    ends, _, fault = scanned(text)
    assert fault == (position, cause)
    assert ends == [end for end in (text.find("\n"),) if 0 <= end < position]


def test_a_carriage_return_in_quotes_or_before_a_line_feed_is_no_fault():
    assert scanned('a\r\n"x\ry"\r\n')[2] is None


def test_delimiter_and_quote_are_the_given_ones():
    assert scanned("a;b,c\n'x;y';2\n", Dialect(";", "'")) == ([5, 13], [1, 2], None)


@given(
    text=st.text(st.sampled_from('ab",\n\r'), max_size=150),
    sizes=st.lists(st.integers(1, 70), min_size=1, max_size=3),
)
def test_the_size_of_the_blocks_changes_nothing(text, sizes):
    usual, csv_scan.BLOCKS = csv_scan.BLOCKS, sizes
    try:
        assert scanned(text) == by_character(text)
    finally:
        csv_scan.BLOCKS = usual


def by_character(text):  # noqa: C901 — plain on purpose: it is the oracle
    """Return what `scan` should, by one look at every character."""
    ends, before_ends, delimiters, inside, opened = [], [], 0, False, 0
    for place, sign in enumerate(text):
        before, behind = text[place - 1 : place] or "\n", text[place + 1 : place + 2] or "\n"
        if sign == '"':
            inside = not inside
            opened = place if inside else opened
            if inside and before not in ',\n"':
                return ends, before_ends, (place, WITHIN)
            if not inside and behind not in ',\n"' and text[place + 1 : place + 3] != "\r\n":
                lone = text[place + 1 :] == "\r"  # the end of the text counts as a line feed
                if not lone:
                    return ends, before_ends, (place, BEHIND)
        elif inside:
            continue
        elif sign == "\r" and text[place + 1 : place + 2] != "\n":
            return ends, before_ends, (place, LONE_RETURN)
        elif sign == ",":
            delimiters += 1
        elif sign == "\n":
            ends.append(place)
            before_ends.append(delimiters)
    if inside:
        return ends, before_ends, (opened, OPEN)
    if text and text[-1] != "\n":
        ends.append(len(text))
        before_ends.append(delimiters)
    return ends, before_ends, None


def test_records_and_what_is_none_cover_the_text():
    text = 'a,b\n1,2,3\n4,"x" y\n5\n6,"open\n7,8\n'
    assert spans(text) == (
        [("a,b", 2), ("1,2,3", 3)],
        [('4,"x" y\n', BEHIND)],
    )
    assert spans(text, go_on=True) == (
        [("a,b", 2), ("1,2,3", 3), ("5", 1), ("7,8", 2)],
        [('4,"x" y\n', BEHIND), ('6,"open\n', OPEN)],
    )
