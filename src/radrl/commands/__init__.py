"""The command `radrl`: labels and scores for any system's reports, without Kedro and without the study."""
