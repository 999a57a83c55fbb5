"""The source that params.yaml names."""

import pytest

from radrl.data.sources import open_source
from radrl.data.tables import SourceError
from radrl.parts.find import PartError

CSV = {"path": "nowhere.csv", "image_root": ".", "columns": {"image": "i", "report": "r"}, "views": {}}


def test_a_missing_table_names_the_file_and_the_section_to_mend():
    with pytest.raises(SourceError, match=r"nowhere\.csv is no file\nMend ingest\.csv in params\.yaml"):
        open_source({"source": "csv", "image_size": 64, "csv": CSV}, seed=0)


def test_an_unknown_source_names_the_valid_ones():
    with pytest.raises(PartError, match=r"ingest\.dicom: no source 'dicom'\. There are phantom, csv"):
        open_source({"source": "dicom"}, seed=0)
