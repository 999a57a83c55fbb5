"""Wiring of the stage ingest."""

from kedro.pipeline import Pipeline, node, pipeline

from radrl.pipelines.ingest.nodes import read_source, report_quarantine


def create_pipeline() -> Pipeline:
    """Source -> corpus, quarantine, summary."""
    return pipeline(
        [
            node(
                read_source,
                ["params:ingest", "params:seed", "ingest_workspace"],
                ["corpus", "ingestion"],
                name="read_source",
            ),
            node(
                report_quarantine,
                ["ingestion", "params:ingest"],
                ["quarantine", "ingest_summary"],
                name="report_quarantine",
            ),
        ]
    )
