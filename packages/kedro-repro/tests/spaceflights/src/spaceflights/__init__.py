"""The pipelines of Kedro's spaceflights starter, small and written anew."""
