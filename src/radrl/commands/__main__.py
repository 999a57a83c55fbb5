"""`python -m radrl.cli`, the command without its entry point."""

from radrl.cli.main import main

main()
