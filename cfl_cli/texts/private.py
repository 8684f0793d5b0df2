"""Columns that are private by their names: what names a person, and what people keep to themselves.

Names are looked at word by word, without accents, in the languages of `STEMS`.
"""

import re
import unicodedata

from cfl_cli.texts.words import words

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
# How words begin that say what people keep to themselves: health, belief, money, descent, sex,
# politics, crime. English, German, French, Spanish, Italian, Portuguese, Dutch, Polish.
STEMS = words("""
    health diagnos disease illness disab medic hiv aids pregnan psych addict cancer depress
    religi faith belief income salar wage earning wealth ethnic racial sexual politic criminal
    convict genetic biometric
    gesundheit krank erkrank behinder schwanger konfession glaube einkommen gehalt lohn vermogen
    herkunft sexu partei gewerkschaft vorstraf
    sante malad handicap grossesse revenu salaire syndicat
    salud enfermedad discapacidad embarazo ingreso sueldo etnia raza sindicato
    salute malatt gravidanza reddito stipendi
    saude doenca deficiencia gravidez renda rendiment raca
    gezond ziekte zwanger geloof inkomen loon afkomst vakbond
    zdrow chorob niepelnospr ciaz wyznani dochod zarobk wynagrodz
""")
WHOLE = frozenset(words("race religion union orientation ethnicity sexuality icd icd10"))
# Words that are enough to say that cells name somebody, whatever they hold …
NAMES = frozenset(
    words("""
    ssn email mail passport iban phone telephone telefon telefono mobile handy surname lastname
    firstname fullname vorname nachname familienname prenom apellido apellidos cognome sobrenome
    voornaam achternaam nazwisko versichertennummer steuernummer nif dni cpf pesel bsn nino
    """)
)
# … those that do so where nearly every row has another cell …
ROWS = frozenset(
    words("""
    id uuid guid name nom nombre nome naam imie address adresse anschrift direccion indirizzo
    endereco adres
    """)
)
# … and those that do so beside a word for a number.
PEOPLE = words("""
    patient person customer client employee user member subject participant insured account kunde
    mitarbeiter mitglied versicherte klient
""")
NUMBERS = words("no nr num number nummer code key numero numer")
DIFFERENT = 0.9  # of the cells, nearly


def says_private(name: str) -> bool:
    """Return whether a column's name says that people keep its values to themselves."""
    found = _words(name)
    return any(word in WHOLE or word.startswith(STEMS) for word in found)


def says_identifier(name: str, *, different: float) -> bool:
    """Return whether a column names rows, by its name and the share of cells that differ."""
    found = _words(name)
    if NAMES.intersection(found) or "".join(found) in NAMES:
        return True
    numbered = any(word.startswith(PEOPLE) for word in found) and any(
        word in NUMBERS or word.endswith("nummer") for word in found
    )
    return different >= DIFFERENT and (numbered or not ROWS.isdisjoint(found))


def _words(name: str) -> list[str]:
    """Return the words of a name in small letters, without accents: `Patienten-ID` has two."""
    plain = unicodedata.normalize("NFKD", name.replace("ł", "l").replace("ß", "ss"))
    plain = "".join(sign for sign in plain if not unicodedata.combining(sign))
    return [word.casefold() for word in _WORD.findall(plain)]
