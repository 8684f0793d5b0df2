"""How long `cfl` takes, beside the paper's recipe done plainly and other tools one knows."""
