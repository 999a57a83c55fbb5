"""The schema of params.yaml: every key an experimenter may set, its type and its bounds.

The file is validated once, before anything is loaded (`radrl.wiring.hooks`). Stages never import this
package: they receive plain values, so that a change here re-runs nothing.

Lives here: one pydantic section a block of params.yaml, what must hold between sections, and the messages of
refusal.
"""
