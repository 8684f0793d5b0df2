"""The variants: what each is, what it is compared with, whether it is kept, and why."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Variant:
    """One thing that was tried."""

    name: str
    what: str
    against: str | None = None  # the variant whose score its gain is over
    kept: str = "no"


GROUPS: dict[str, list[Variant]] = {
    "Steps and rounds of the graph": [
        Variant("graph", "`graph` as by default: both rounds, 100 steps", kept="as the paper's"),
        Variant(
            "graph, steps chosen",
            "every CF stops where hidden cells favor it (`--iterations auto`)",
            "graph",
            "as an option",
        ),
        Variant(
            "graph, both chosen",
            "and takes the round that they favor (`--gamma auto`)",
            "graph",
            "as an option; in `auto`",
        ),
        Variant(
            "one round, 100 steps", "the first round alone (`--gamma 0`)", "graph", "as an option"
        ),
        Variant("one round, 20 steps", "shorter, all CFs alike", "one round, 100 steps"),
        Variant("one round, 400 steps", "longer, all CFs alike", "one round, 100 steps"),
        Variant(
            "one round, steps chosen",
            "every CF's own number of steps, at most 100",
            "one round, 100 steps",
            "in `auto`",
        ),
    ],
    "Boosting's estimates as features of the second round": [
        Variant(
            "fed by boosting", "boosting's confidences in place of round one's, 100 steps", "graph"
        ),
        Variant(
            "fed by boosting, steps chosen",
            "the same, every CF's own number of steps",
            "graph, steps chosen",
        ),
        Variant(
            "fed by priors, steps chosen",
            "boosting's priors, which have not seen the row's own cells",
            "graph, steps chosen",
        ),
    ],
    "Learned distances": [
        Variant(
            "one round, k = 50",
            "50 neighbors instead of 20: nothing learned",
            "one round, steps chosen",
        ),
        Variant(
            "distance standardised",
            "OFs divided by their standard deviation: nothing learned",
            "one round, steps chosen",
        ),
        Variant(
            "distance important",
            "OFs times the root of their share of the gain in boosting's trees",
            "one round, steps chosen",
        ),
        Variant("distance standardised, important", "both", "one round, steps chosen"),
        Variant(
            "distance searched",
            "each OF doubled, halved or dropped where the held-out score of other rows rises",
            "one round, steps chosen",
        ),
        Variant(
            "distance own",
            "standardised and important, every CF with a graph of its own",
            "one round, steps chosen",
        ),
        Variant(
            "distance own, 400 steps",
            "the same, at most 400 steps instead of 100",
            "graph, both chosen",
        ),
        Variant(
            "distance own, k = 50",
            "the same, 50 neighbors instead of 20",
            "one round, steps chosen",
        ),
    ],
    "Boosting": [
        Variant("boost", "`boost`: shallow, deep and related, blended", kept="yes"),
        Variant("shallow", "shallow trees alone", "boost", "as a part"),
        Variant("deep", "deep trees alone", "boost", "as a part"),
        Variant("related", "trees that are told of the other CFs, alone", "boost", "as a part"),
        Variant("shallow, deep", "both that see the OFs alone", "boost"),
        Variant("shallow, start 0", "shallow trees that start from nothing", "shallow"),
        Variant(
            "shallow, start 1",
            "shallow trees that start from the domain shares (`boost`: half way)",
            "shallow",
        ),
        Variant(
            "boost, deep twice",
            "a second run of deep trees, with another seed, in the blend",
            "boost",
        ),
        Variant("third", "**the trap**: a third round, fed by the second", "boost"),
        Variant("boost, third", "**the trap** in the blend", "boost"),
    ],
    "Networks": [
        Variant("net", "`net`", kept="yes"),
        Variant("net, other seed", "the same with another seed: what chance does", "net"),
        Variant("two nets", "the mean of both", "net"),
        Variant(
            "net, told of others",
            "a network for each CF, told of the other CFs by boosting from the OFs",
            "net",
        ),
    ],
    "Blends": [
        Variant("auto", "`auto`: graph, `boost` and `net`, weighted geometric mean", kept="yes"),
        Variant("boost, net", "without the graph", "auto"),
        Variant("boost, net, evenly", "without the graph, both weighing alike", "auto"),
        Variant("auto, full graph", "always both rounds of the graph, up to 400 steps", "auto"),
        Variant(
            "auto, parts of boosting apart", "boosting's three parts as parts of `auto`", "auto"
        ),
        Variant("auto, deep twice", "with deep trees of two seeds", "auto"),
        Variant("auto, two nets", "with the mean of two networks", "auto"),
        Variant(
            "auto, net told of others",
            "with a fourth part: the network that is told of other CFs",
            "auto",
        ),
        Variant("auto, both nets", "with both of the last two", "auto"),
        Variant("auto, fed by boosting", "with a fourth part: the graph fed by boosting", "auto"),
        Variant("auto, own distances", "with the graph of every CF's own distance", "auto"),
        Variant("auto, own distances, k = 50", "the same, 50 neighbors", "auto"),
        Variant("auto, arithmetic", "an arithmetic mean in place of the geometric one", "auto"),
        Variant("auto, own distances, arithmetic", "the last two together", "auto"),
        Variant(
            "auto, sharpened", "raised to the power that hidden cells favor, for each CF", "auto"
        ),
        Variant("auto, third", "**the trap** in the blend", "auto"),
    ],
}
VARIANTS = [variant for group in GROUPS.values() for variant in group]
NOTES = dict.fromkeys(GROUPS, "")
