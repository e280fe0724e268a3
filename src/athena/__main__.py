"""`python -m athena` is the `athena` command."""

from athena.cli import main

if __name__ == "__main__":
    main()
