"""The stages: each package has the stage's nodes (what is done) and its pipeline (what is wired to what).

Node functions import what is heavy inside their bodies: Kedro loads every pipeline to run one, and torch or
TRL cost seconds that a stage without them should not pay.

Lives here: one package a stage: `nodes.py` with plain functions, `pipeline.py` with wiring alone, and the
tables and figures of this stage. What two stages need lives further down.
"""
