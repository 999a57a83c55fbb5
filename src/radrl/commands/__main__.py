"""`python -m radrl.commands`, the command without its entry point."""

from radrl.commands.main import main

main()
