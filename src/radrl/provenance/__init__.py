"""What ran is what is recorded: digests of what code does, and the parameters a stage was started with.

Lives here: what decides whether a stage is out of date beyond what DVC sees by itself. It reads source files
and params.yaml; a part or a stage is never imported to be looked at.
"""
