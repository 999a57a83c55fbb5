"""What ran is what is recorded: digests of what code does, and the parameters a stage was started with."""
