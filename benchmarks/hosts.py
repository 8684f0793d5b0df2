"""Count the rows that would travel between hosts in every step, for some numbers of blocks.

    python -m benchmarks.hosts FOLDER --blocks 8 32 100

FOLDER is what `benchmarks.tables` wrote. Beside its own rows, a block needs the confidences of the
rows beyond it that it leans on.
"""

import argparse
from pathlib import Path

from benchmarks.tables import load
from cfl_cli.core.parallel import Workers, slices
from cfl_cli.methods.graph.neighbors import nearest
from cfl_cli.methods.graph.propagation import Graph
from cfl_cli.methods.graph.weights import solve


def main() -> None:
    """Print a line for each number of blocks."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--blocks", type=int, nargs="+", default=[8, 32, 100])
    given = parser.parse_args()
    features = load(given.folder)[0].features
    with Workers(2) as workers:
        near = nearest(features, k=20, workers=workers)
        weights = solve(features, near.rows, ridge=0.3, workers=workers)
        graph = Graph.of(near.rows, weights.values, near.order, workers=workers)
    for blocks in given.blocks:
        parts = slices(len(graph), -(-len(graph) // blocks))
        beyond = sum(len(graph.beyond(part)) for part in parts)
        print(f"{blocks} blocks: {beyond / len(graph):.2f} rows beyond a block, per row")


if __name__ == "__main__":
    main()
