"""`python -m cfl_cli` is `cfl`."""

from cfl_cli.cli import main

if __name__ == "__main__":
    main()
