"""The notebook of the docs: its cells, run by plain Python here, and by Jupyter to renew it.

`python tests/builders/notebook.py` runs every cell and renews the output; it needs nbclient and
ipykernel, which the tests do without.
"""

import ast
import io
import json
from contextlib import chdir, redirect_stdout
from pathlib import Path

BOOK = Path(__file__).parents[2] / "docs" / "start" / "notebook.ipynb"


def cells():
    """Yield the code of each cell, and what the notebook shows of it: what is printed, and its value."""
    for cell in json.loads(BOOK.read_text())["cells"]:
        if cell["cell_type"] == "code":
            printed = value = ""
            for output in cell["outputs"]:
                if output["output_type"] == "stream":
                    printed += "".join(output["text"])
                else:
                    value = "".join(output["data"]["text/plain"])
            yield "".join(cell["source"]), printed, value


def run(code, names):
    """Run a cell, and return what it prints, and its last line as a value if it is one."""
    tree, value, out = ast.parse(code), None, io.StringIO()
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    with chdir(BOOK.parent), redirect_stdout(out):
        exec(compile(tree, "cell", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "cell", "eval"), names)
    return out.getvalue(), value


def renew():
    import nbclient
    import nbformat

    book = nbformat.read(BOOK, as_version=4)
    nbclient.NotebookClient(book, resources={"metadata": {"path": str(BOOK.parent)}}).execute()
    for cell in book.cells:
        cell.metadata.pop("execution", None)  # the hour
    nbformat.write(book, BOOK)


if __name__ == "__main__":
    renew()
