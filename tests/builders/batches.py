"""A made model and batches of new rows for it, whose true values are known."""

import numpy as np

from cfl_cli.core.arrays import Fallback, posterior
from cfl_cli.core.exclusions import Mechanism
from cfl_cli.encode.encode import Block, Encoded
from cfl_cli.methods.interface import Estimate, Hidden, Origin
from cfl_cli.trust import verdict
from cfl_cli.trust.drift import BatchCounts, judge_batch, reference_of
from cfl_cli.trust.report import BatchFacts

SHARPNESS = {"sure": 0.1, "weak": 5.0}  # of the CFs' priors: the smaller, the surer
SIZE = 4


class Rows:
    def __init__(self, n, seed, *, scrambled=0.0, exclusions=(1,), empty=0.0, cfs=SHARPNESS):
        rng = np.random.default_rng(seed)
        mechanism, priors, values, cells = Mechanism(SIZE), [], [], []
        for name, sharpness in cfs.items():
            prior = rng.dirichlet(np.full(SIZE, sharpness), size=n)
            value = np.minimum((prior.cumsum(axis=1) < rng.random((n, 1))).sum(axis=1), SIZE - 1)
            if name == "sure":  # what the first CF's values have to do with the OFs changes
                value = np.where(rng.random(n) < scrambled, rng.permutation(value), value)
            sizes = np.where(rng.random(n) < empty, 0, rng.choice(exclusions, n))
            cells.append(mechanism.draw(value, sizes, rng.random((n, SIZE))))
            priors.append(prior)
            values.append(value)
        self.priors, self.values = np.hstack(priors), np.column_stack(values)
        blocks = tuple(
            Block(name, tuple("abcd"), SIZE * place, 1.0, 0, 0) for place, name in enumerate(cfs)
        )
        self.encoded = Encoded(np.zeros((n, 1)), np.hstack(cells), blocks, ())

    def estimate(self, shares=None):
        confidences, mass = posterior(
            self.priors,
            self.encoded.known.evidence,
            over=self.encoded.known.blocks,
            fallback=Fallback.CELL,
        )
        return Estimate(
            confidences,
            mass == 0,
            mass,
            (Origin("boost"),) * len(self.encoded.blocks),
            Hidden(np.arange(len(mass)), self.priors, None, shares),
        )

    def right(self, number):
        columns = self.encoded.blocks[number].columns
        answers = self.estimate().confidences[:, columns].argmax(axis=1)
        return (answers == self.values[:, number]).mean()


class FittedModel:
    def __init__(self, n=3000, seed=0, **options):
        rows = Rows(n, seed, **options)
        self.shares = tuple(rows.encoded.known.shares())
        estimate = rows.estimate()
        self.report = verdict.build(
            rows.encoded, estimate, cfl_version="9", settings={}, k=1, always_second_round=False
        )
        self.reference = reference_of(rows.encoded, estimate)

    def judge(self, rows, courses=None, **options):
        n = len(rows.values)
        about = {"new_categories": {}, "out_of_range": {}, "model": "m", "checksum": "b"}
        asked = {name: options.pop(name) for name in (*about, "number") if name in options}
        return judge_batch(
            rows.encoded,
            rows.estimate(self.shares),
            batch=BatchFacts(n, **about | asked),
            rows=n,
            counts=[BatchCounts(0, 0, 0, 0, 0)] * len(rows.encoded.blocks),
            fitting=self.report,
            reference=self.reference,
            courses=courses,
            cfl_version="9",
            settings={},
            **options,
        )
