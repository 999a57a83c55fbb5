"""What a recipe needs before it is run: films, tokens, memory a device, processes, hours.

Lives here: arithmetic from a recipe, a policy's configuration and stated throughputs, of what every stage
will take, and what is refused with its mend. Nothing is loaded, trained or measured here.
"""
