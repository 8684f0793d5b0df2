"""What was tried to estimate better, and what it gave: most of it failed.

lab.py       a table with some rows hidden, what was answered so far, and how good an answer is
graphs.py    the graph with other numbers of steps, other distances, another second round
boosts.py    boosting's parts, other starts, and a third round
nets.py      networks of two seeds, and one that is given the other CFs
blends.py    blends of all these
variants.py  the list: what is compared with what, what is kept, and why
page.py      results → `docs/tried.md`

`python -m benchmarks.tried --data DIR --out docs/tried.json` runs them all and writes the page.
"""
