"""The files that no guess may be tuned on: other languages, scales, codes and quirks.

Whoever works on the guesses reads the figures by kind, not these files.
"""

from collections.abc import Iterator

from benchmarks.messy.cells import Dice
from benchmarks.messy.files import MessyFile
from benchmarks.messy.held_out import exports
from benchmarks.messy.held_out.spreadsheets import sheet
from benchmarks.messy.held_out.words import LANGUAGES

MAKERS = (
    *(exports.panel, exports.register, exports.ledger, exports.frame),
    *(exports.study, exports.laboratory, exports.shop),
)
SHEETS = 3  # of each language


def files() -> Iterator[MessyFile]:
    for seed, make in enumerate(MAKERS):
        yield make(Dice(200 + 17 * seed, 1000 + seed))
    for place, language in enumerate(LANGUAGES):
        for number in range(SHEETS):
            yield sheet(language, Dice(150 + 40 * number, 2000 + 10 * place + number), number)
