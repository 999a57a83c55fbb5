"""The stages: each package has the stage's nodes (what is done) and its pipeline (what is wired to what).

Node functions import what is heavy inside their bodies: Kedro loads every pipeline to run one, and torch or
TRL cost seconds that a stage without them should not pay.
"""
