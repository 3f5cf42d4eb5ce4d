"""`python -m forebay.tools` is the `forebay` command."""

from forebay.tools.main import main

main()
