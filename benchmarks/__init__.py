"""How long `cfl` takes and how well it does, beside the paper and other tools one knows."""
