"""Lines judged all at once give what a scan gives that begins anew after every fault."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfl_cli.tables import csv_scan
from cfl_cli.tables.csv_scan import OPEN, Records, Dialect, find_records, next_line, scan

SIGNS = [
    *(Dialect(",", '"'), Dialect(",", '"', None, returns=True), Dialect(",", None), Dialect(";", "'")),
    *(Dialect(",", '"', trims=True), Dialect(",", '"', None, returns=True, trims=True)),
]


def one_by_one(data, signs):
    """The records and the other stretches, by a new scan from every line after a fault."""
    view, offset, records, bad = np.frombuffer(data, dtype=np.uint8), 0, [], []
    while offset < len(data):
        ends, delimiters, fault = scan(view[offset:], signs)
        starts = [0, *(ends + 1).tolist()]
        widths = (np.diff(delimiters, prepend=0) + 1).tolist()
        records += [
            (start + offset, int(end) + offset, width)
            for start, end, width in zip(starts, ends, widths, strict=False)
        ]
        if fault is None:
            break
        at = fault.position + offset
        stop = next_line(data, at, signs)
        bad.append((starts[-1] + offset, stop, at, fault.cause))
        offset = stop
    return records, bad


@given(
    text=st.text(st.sampled_from("a \",\n\r;'"), max_size=120),
    signs=st.sampled_from(SIGNS),
    chunk=st.sampled_from([1, 7, 1 << 22]),
)
def test_lines_are_records_or_faults_as_one_scan_after_the_other_says(text, signs, chunk):
    usual, csv_scan.CHUNK = csv_scan.CHUNK, chunk
    try:
        found, bad, used = find_records(text.encode(), signs, go_on=True)
    finally:
        csv_scan.CHUNK = usual
    columns = (found.starts.tolist(), found.ends.tolist(), found.widths.tolist())
    stretches = [(one.start, one.stop, one.position, one.cause) for one in bad]
    assert ([*zip(*columns, strict=True)], stretches) == one_by_one(text.encode(), signs)
    assert used == len(text)


def test_a_record_that_goes_on_in_the_next_piece_waits_for_it():
    found, bad, used = find_records(
        b'a,b\n1,5" x\n2,"two\n', Dialect(",", '"'), go_on=True, last=False
    )
    assert (len(found.starts), len(bad), used) == (1, 1, 11)


@pytest.mark.parametrize("go_on", [True, False])
def test_an_escaped_line_end_goes_on_in_the_next_piece_too(go_on):
    found, bad, used = find_records(b"a,b\n1,x\\\n", Dialect(",", '"', "\\"), go_on=go_on, last=False)
    assert (len(found.starts), bad, used) == (1, [], 4)
    assert isinstance(found, Records)


def test_a_quote_that_is_never_closed_takes_its_line_only():
    found, bad, _ = find_records(b'x\n"a" b\n"never\n1\n2\n', Dialect(",", '"'), go_on=True)
    assert [one.cause for one in bad][-1] == OPEN
    assert len(found.starts) == 3
