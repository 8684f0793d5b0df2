"""The files that guesses may be tuned on."""

from collections.abc import Iterator

from benchmarks.messy.cells import Dice
from benchmarks.messy.files import MessyFile
from benchmarks.messy.tuning import abroad, english, exports, german

MAKERS = (
    *(german.clinic, german.clinic_utf8, german.orders_de),
    *(abroad.ventes, abroad.encuesta, abroad.ankieta, abroad.enquete, abroad.kanja),
    *(english.survey, english.shoes, english.products, english.visits),
    *(exports.staff, exports.staff_floats, exports.trial, exports.lab),
)


def files() -> Iterator[MessyFile]:
    """Yield all files of the set."""
    for seed, make in enumerate(MAKERS):
        yield make(Dice(240 + 10 * seed, seed))
