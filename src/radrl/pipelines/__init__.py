"""The stages: what the nodes of each do, and its pipeline, which says what is wired to what.

Node functions import what is heavy inside their bodies: Kedro loads every pipeline to run one, and torch or
TRL cost seconds that a stage without them should not pay.

Lives here: one module a stage, plain functions and below them `create_pipeline`; a stage that also has
tables, figures or a page is a package: `nodes.py` with the functions, `pipeline.py` with wiring alone. What
two stages need lives further down.
"""
