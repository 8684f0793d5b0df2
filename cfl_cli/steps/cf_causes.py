"""Why cells of a CF are wrong: other signs than the schema's, codes, or values it does not have."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from cfl_cli.core.messages import quote
from cfl_cli.core.quick import dataclass
from cfl_cli.schema.model import Complementary, Schema
from cfl_cli.steps.causes import codes, folded, not_in_domain, pasteable, patched, spelled, take
from cfl_cli.steps.cells import Cells, Ruling
from cfl_cli.steps.findings import Cause
from cfl_cli.texts import missing_codes
from cfl_cli.texts.lists import SIGNS
from cfl_cli.texts.matching import Matcher
from cfl_cli.texts.negations import without_not
from cfl_cli.texts.tally import BLANKS

_MARK = re.compile(r"(?:[=!+]|[^\W\d_][^\d:=]{0,30}[:=])")


def in_cf(
    wrong: Sequence[str], cells: Cells, values: Sequence[str], schema: Schema
) -> Iterator[Cause]:
    """Yield the causes of a CF's wrong cells; `values` are its domain."""
    name = cells.name
    trial = _Trial(cells, schema.complementary[name], values)
    left = dict.fromkeys(wrong)
    right = [text for text in cells.seen if text not in left]
    mended: dict[str, str] = {}
    if not cells.are_lists:
        for found in (_separated(left, right, trial), _marked(left, right, trial)):
            if found is not None:
                yield found
                take(left, found)
                mended |= found.patch["columns"][name] if found.patch else {}
    yield from codes(left, name, schema, missing_codes.is_code)
    if not cells.are_lists:
        sign = mended.get("separator") or _commonest_sign(left, trial)
        trial = trial.by(sign, mended.get("exact"))
    outside = {text: trial.foreign(text) for text in left}
    spellings = {folded(value): value for value in values}
    alike = [
        text
        for text, foreign in outside.items()
        if foreign and all(folded(part) in spellings for part in foreign)
    ]
    if alike:
        yield spelled(alike, spellings[folded(outside[alike[0]][0])])
        take(left, alike)
    for found in _composed({text: outside[text] for text in left if outside[text]}, trial):
        yield found
        take(left, found)
    foreign = {text: outside[text] for text in left if outside[text]}
    if foreign:
        yield not_in_domain(foreign, values, name, schema)
        take(left, foreign)
    if left:
        yield Cause("all-excluded", "rule out the whole domain", correct="leave at least one value")


@dataclass(frozen=True)
class _Trial:
    """A CF as its cells are read by one separator and mark."""

    cells: Cells
    cf: Complementary
    values: Sequence[str]

    def by(self, separator: str | None = None, exact: str | None = None) -> "_Trial":
        """Return the same with another separator or mark, where one is given."""
        keys = {"separator": separator, "exact": exact}
        update = {key: sign for key, sign in keys.items() if sign is not None}
        return replace(self, cf=self.cf.model_copy(update=update))

    def ruling(self, text: str) -> Ruling:
        """Return what a text says."""
        return self.cells.ruling(text, self.cf, self.match)

    @cached_property
    def match(self) -> Matcher:
        """Return what finds the value that a text means."""
        return Matcher(self.values)

    def fits(self, text: str) -> bool:
        """Return whether a text names values only, and leaves one possible."""
        return self.ruling(text).fits(self.values)

    def knows(self, text: str) -> bool:
        """Return whether a text is a value of the domain, in whatever letter case."""
        return self.match.place(text) >= 0 or folded(text) in self.spellings

    @cached_property
    def spellings(self) -> frozenset[str]:
        """Return the values without what their spellings differ in."""
        return frozenset(map(folded, self.values))

    def foreign(self, text: str) -> list[str]:
        """Return what a text names and the domain does not hold."""
        named = self.ruling(text).values
        return [part.strip(BLANKS) for part in named if part not in self.match.exact]


def _separated(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
    """Return that cells are lists by a sign that is not the schema's, if any are."""
    cf, best = now.cf, list[str]()
    for sign in SIGNS:
        if sign in (cf.separator, cf.exact) or any(sign in value for value in now.values):
            continue
        trial = now.by(sign)
        fits = [text for text in left if sign in text and trial.fits(text)]
        if len(fits) > len(best):
            best, chosen, harmless = fits, sign, all(map(trial.fits, right))
    if not best:
        return None
    set_it, patch = f"set separator: {pasteable(chosen)}", patched(now.cells.name, separator=chosen)
    if cf.separator is None:
        what = f"hold {quote(chosen)}, and the parts are values"
        return Cause("separator", what, set_it, patch=patch, texts=best)
    what = f"are split by {quote(chosen)}, but the schema says {quote(cf.separator)}"
    if harmless:
        return Cause("separator-other", what, set_it, patch=patch, texts=best)
    correct = f"write {quote(cf.separator)} instead"
    return Cause("separator-other", what, correct=correct, texts=best)


def _commonest_sign(texts: Iterable[str], now: _Trial) -> str | None:
    """Return the sign by which most wrong cells have a part that is a value, if there is one."""
    if now.cf.separator is not None:
        return None
    trials = {sign: now.by(sign) for sign in SIGNS}
    counts = Counter(
        sign
        for text in texts
        for sign, trial in trials.items()
        if sign in text and len(trial.foreign(text)) < len(trial.ruling(text).values)
    )
    return counts.most_common(1)[0][0] if counts else None


def _composed(outside: Mapping[str, Sequence[str]], now: _Trial) -> Iterator[Cause]:
    """Yield that cells say more than a value, which the domain should not get: not flu, a / b."""
    negated, several = list[str](), list[str]()
    named = {part for parts in outside.values() for part in parts}
    for text, parts in outside.items():
        rests = [rest for part in parts if (rest := without_not(part)) is not None]
        if any(rest in named or now.knows(rest) for rest in rests):
            negated.append(text)
        elif any(_holds_more(part, now) for part in parts):
            several.append(text)
    if negated:
        what = "say not, but the cells of a CF name what is ruled out"
        yield Cause("negation", what, correct="write the values alone", texts=negated)
    if several:
        what = "hold more than a value, in a way that the schema does not say"
        signs = [quote(sign) for sign in (now.cf.separator, now.cf.exact) if sign is not None]
        beside = f", beside {' and '.join(signs)}" if signs else ""
        yield Cause("more-than-values", what, correct=f"write values only{beside}", texts=several)


def _holds_more(part: str, now: _Trial) -> bool:
    """Return whether a text has a mark before it, or a value of the domain beside something else.

    Signs that values have themselves show nothing.
    """
    match = _MARK.match(part)
    signs = [sign for sign in SIGNS if not any(sign in value for value in now.values)]
    if match is not None and not any(match[0][-1] in value for value in now.values):
        return True
    return any(sign in part and any(map(now.knows, part.split(sign))) for sign in signs)


def _marked(left: Iterable[str], right: Sequence[str], now: _Trial) -> Cause | None:
    """Return that cells begin with a mark before a value, if any do."""
    found: dict[str, list[str]] = {}
    for text in left:
        match = _MARK.match(text.strip(BLANKS))
        if match is not None and not any(match[0] in value for value in now.values):
            found.setdefault(match[0], []).append(text)
    for mark, texts in sorted(found.items(), key=lambda item: -len(item[1])):
        trial = now.by(exact=mark)
        fits = [*filter(trial.fits, texts)]
        if not fits:
            continue
        what = f"begin with {quote(mark)} before a value"
        if now.cf.exact is not None:
            correct = f"write {quote(now.cf.exact)} instead"
            return Cause("exact", what, correct=correct, texts=fits)
        if all(map(trial.fits, right)):
            patch = patched(now.cells.name, exact=mark)
            return Cause("exact", what, f"set exact: {pasteable(mark)}", patch=patch, texts=fits)
    return None
