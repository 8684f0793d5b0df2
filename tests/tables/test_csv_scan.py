"""Bits, lines and a loop over characters agree on records, their widths and the first fault."""

import csv
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.tables import csv_scan
from cfl_cli.tables.csv_scan import (
    BEHIND,
    OPEN,
    RETURNED,
    WITHIN,
    closes,
    find_records,
    next_line,
    opens,
    scan,
    split,
)
from cfl_cli.tables.dialect import Dialect

COMMA = Dialect(",", '"')


def scanned(text, dialect=COMMA):
    ends, delimiters, fault = scan(np.frombuffer(text.encode(), dtype=np.uint8), dialect)
    return ends.tolist(), delimiters.tolist(), fault


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


def by_character(text):
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
            return ends, before_ends, (place, RETURNED)
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


DIALECTS = [
    *(COMMA, Dialect(",", '"', None, returns=True), Dialect(",", None), Dialect(";", "'")),
    *(Dialect(",", '"', trims=True), Dialect(",", '"', None, returns=True, trims=True)),
]


def one_by_one(data, dialect):
    """The records and the other stretches, by a new scan from every line after a fault."""
    view, offset, records, bad = np.frombuffer(data, dtype=np.uint8), 0, [], []
    while offset < len(data):
        ends, delimiters, fault = scan(view[offset:], dialect)
        starts = [0, *(ends + 1).tolist()]
        widths = (np.diff(delimiters, prepend=0) + 1).tolist()
        records += [
            (start + offset, int(end) + offset, width)
            for start, end, width in zip(starts, ends, widths, strict=False)
        ]
        if fault is None:
            break
        at = fault.position + offset
        stop = next_line(data, at, dialect)
        bad.append((starts[-1] + offset, stop, at, fault.reason))
        offset = stop
    return records, bad


@given(
    text=st.text(st.sampled_from("a \",\n\r;'"), max_size=120),
    dialect=st.sampled_from(DIALECTS),
    chunk=st.sampled_from([1, 7, 1 << 22]),
)
def test_lines_are_records_or_faults_as_one_scan_after_the_other_says(text, dialect, chunk):
    usual, csv_scan.CHUNK = csv_scan.CHUNK, chunk
    try:
        found, bad, used = find_records(text.encode(), dialect, go_on=True)
    finally:
        csv_scan.CHUNK = usual
    columns = (found.starts.tolist(), found.ends.tolist(), found.widths.tolist())
    stretches = [(one.start, one.stop, one.position, one.reason) for one in bad]
    assert ([*zip(*columns, strict=True)], stretches) == one_by_one(text.encode(), dialect)
    assert used == len(text)


def test_a_record_that_goes_on_in_the_next_piece_waits_for_it():
    found, bad, used = find_records(b'a,b\n1,5" x\n2,"two\n', COMMA, go_on=True, last=False)
    assert (len(found.starts), len(bad), used) == (1, 1, 11)


@pytest.mark.parametrize("go_on", [True, False])
def test_an_escaped_line_end_goes_on_in_the_next_piece_too(go_on):
    found, bad, used = find_records(
        b"a,b\n1,x\\\n", Dialect(",", '"', "\\"), go_on=go_on, last=False
    )
    assert (len(found.starts), bad, used) == (1, [], 4)


@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 5000, 20_000])
def test_any_number_of_blanks_is_passed(count):
    dialect, pad = Dialect(",", '"', trims=True), b" " * count
    text = np.frombuffer(b"x," + pad + b'"y"' + pad + b",z" + pad, dtype=np.uint8)
    first = count + 2
    assert opens(text, np.array([first]), dialect).all()
    assert closes(text, np.array([first + 2]), dialect).all()
    assert not closes(text, np.array([1]), dialect).any()


@pytest.mark.parametrize("trims", [False, True])
@given(
    text=st.text(st.sampled_from('a ",\n\r\\é'), max_size=40),
    quote=st.sampled_from(['"', None]),
    escape=st.sampled_from([None, "\\"]),
)
def test_cells_of_a_record_are_those_that_python_reads(trims, text, quote, escape):
    dialect = Dialect(",", quote, escape, trims=trims)
    data = text.encode()
    records, _, _ = find_records(data, dialect, go_on=True)
    for start, end, width in zip(records.starts, records.ends, records.widths, strict=True):
        record = data[start:end].removesuffix(b"\r")
        found = split(record, dialect)
        assert len(found) == (width if record else 0)
        if not trims:
            how = {"quotechar": quote, "escapechar": escape}
            how["quoting"] = csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE
            assert [found] == [
                *csv.reader(io.StringIO(record.decode(), newline=""), **how)
            ] or not (record)
