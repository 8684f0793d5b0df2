"""Makes the sample: a clinic's triage list in which staff noted what a patient does *not* have.

Nothing here is real. A patient's diagnosis decides what is measured; the ward follows from
diagnosis, age and oxygen; the coat rack follows from nothing. For each of the three,
staff noted values that are ruled out, drawn uniformly: mostly one, for diagnoses sometimes two,
sometimes the diagnosis itself (`=flu`), sometimes nothing. So diagnosis and ward can be estimated
from the other columns and the coat rack cannot, and the report should say so.

    python sample_data/make.py

writes triage.csv and triage_truth.csv beside itself, the same bytes every time.
"""

from pathlib import Path

import numpy as np
import polars as pl

ROWS = 3000
HERE = Path(__file__).parent

# What is typical: share, age, temperature, heart rate, oxygen, days ill, cough, rash
DIAGNOSES = {
    "flu": (0.30, 38, 39.0, 92, 97, 3, 0.80, 0.02),
    "pneumonia": (0.20, 66, 38.6, 104, 91, 6, 0.90, 0.01),
    "migraine": (0.20, 35, 36.7, 76, 98, 1, 0.05, 0.01),
    "appendicitis": (0.12, 24, 37.9, 98, 98, 1, 0.05, 0.01),
    "allergy": (0.18, 29, 36.8, 84, 97, 2, 0.35, 0.85),
}
WARDS = ["day clinic", "general", "intensive", "surgery"]
# Where the coat hangs: nothing in the table bears on it.
RACKS = ["left", "middle", "right"]


def main() -> None:
    """Write the table and its truth."""
    rng = np.random.default_rng(7)
    names = list(DIAGNOSES)
    typical = np.array(list(DIAGNOSES.values()))
    truth = rng.choice(len(names), size=ROWS, p=typical[:, 0])
    _, age, temperature, pulse, oxygen, days, cough, rash = typical[truth].T
    age = np.clip(rng.normal(age, 13), 1, 97).round().astype(int)
    oxygen = np.clip(rng.normal(oxygen, 1.5), 80, 100).round().astype(int)
    diagnosis = np.array(names)[truth]
    ward = _wards(diagnosis, age, oxygen)
    rack = rng.choice(RACKS, size=ROWS)
    patients = {
        "patient": [f"P{number:04}" for number in range(1, ROWS + 1)],
        "age": age,
        "temperature": rng.normal(temperature, 0.5).round(1),
        "heart_rate": rng.normal(pulse, 9).round().astype(int),
        "oxygen": oxygen,
        "days_ill": rng.poisson(days),
        "cough": _yes(rng.random(ROWS) < cough),
        "rash": _yes(rng.random(ROWS) < rash),
        "arrival": rng.choice(["ambulance", "referral", "walk-in"], size=ROWS, p=[0.2, 0.3, 0.5]),
    }
    noted = {
        "diagnosis": _note(rng, diagnosis, names, two=0.15, exact=0.05, empty=0.03),
        "ward": _note(rng, ward, WARDS),
        "coat_rack": _note(rng, rack, RACKS),
    }
    pl.DataFrame(patients | noted).write_csv(HERE / "triage.csv")
    exact = {"diagnosis": diagnosis, "ward": ward, "coat_rack": rack}
    pl.DataFrame({"patient": patients["patient"]} | exact).write_csv(HERE / "triage_truth.csv")


def _wards(diagnosis: np.ndarray, age: np.ndarray, oxygen: np.ndarray) -> np.ndarray:
    """Return where each patient goes, by rule."""
    conditions = [
        diagnosis == "appendicitis",
        oxygen < 91,
        (diagnosis == "pneumonia") | (age > 70),
    ]
    return np.select(conditions, ["surgery", "intensive", "general"], "day clinic")


def _yes(drawn: np.ndarray) -> np.ndarray:
    return np.where(drawn, "yes", "no")


def _note(
    rng: np.random.Generator,
    truth: np.ndarray,
    domain: list[str],
    *,
    two: float = 0.0,
    exact: float = 0.0,
    empty: float = 0.0,
) -> list[str]:
    """Return a cell per patient: values drawn from all but the true one, joined by `;`."""
    cells = []
    for value in truth:
        wrong = rng.permutation([other for other in domain if other != value])
        kind = rng.random()
        if kind < exact:
            cells.append(f"={value}")
        elif kind < exact + empty:
            cells.append("")
        else:
            count = 2 if kind < exact + empty + two else 1
            cells.append(";".join(wrong[:count]))
    return cells


if __name__ == "__main__":
    main()
