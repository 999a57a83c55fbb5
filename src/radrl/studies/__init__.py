"""Studies: arms over seeds and variations of a recipe, run by DVC in clones, side by side in a table.

Lives here: what makes experiments of a study file: clones, their runs, the pooled table and its page.
Statistics are in `evaluation`; DVC and Kedro are started as programs.
"""
