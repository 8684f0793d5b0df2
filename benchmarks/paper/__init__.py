"""The paper's evaluation, from the tables as published to the page that compares.

published.py   what the paper printed, table by table
plan.py        what is run: points of tables and figures, and the tasks behind them
labels.py      the target predicted from OFs and confidences
work.py        one task → one result, with accuracy, macro-F1, cross entropy and entropy
store.py       results as files, which a later run finds
runner.py      all tasks, several at once, with news of how long it takes
summary.py     results → rows with mean, standard deviation and verdict: `results.json`
plots.py       rows → figures
page.py        rows → `results.md`
__main__.py    all of it, for the command line
"""
