"""Miniatures of IU X-Ray in its published layouts; texts are invented."""

import io
import json
import tarfile
from pathlib import Path
from xml.sax.saxutils import escape

import numpy as np
import pytest
from PIL import Image

from radrl.data.ingest import ingest
from radrl.data.quarantine import Refusal
from radrl.data.sources import iu_xray as iu_xray
from radrl.data.study import Record

COLUMNS = (
    "Atelectasis,Cardiomegaly,Effusion,Infiltration,Mass,Nodule,Pneumonia,Pneumothorax,"
    "Consolidation,Edema,Emphysema,Fibrosis,Pleural_Thickening,Hernia,normal"
)


def _report(uid, *, findings="Clear lungs.", impression="Normal chest.", tags=("normal",), films=()):
    """One XML report as NLM writes it."""
    images = "".join(f'<parentImage id="{film}"><caption>PA</caption></parentImage>' for film in films)
    majors = "".join(f"<major>{escape(tag)}</major>" for tag in tags)
    return (
        f'<?xml version="1.0" encoding="utf-8"?>\n<eCitation><uId id="{uid}"/><MedlineCitation>'
        f'<Article><Abstract><AbstractText Label="COMPARISON">None.</AbstractText>'
        f'<AbstractText Label="INDICATION">Cough</AbstractText>'
        f'<AbstractText Label="FINDINGS">{escape(findings)}</AbstractText>'
        f'<AbstractText Label="IMPRESSION">{escape(impression)}</AbstractText></Abstract></Article>'
        f"</MedlineCitation><MeSH>{majors}<automatic>lungs</automatic></MeSH>{images}</eCitation>"
    )


class Tree:
    """A root with the parts of the collection that a test wants, and what the source makes of them."""

    report = staticmethod(_report)

    def __init__(self, root: Path) -> None:
        self.root = root

    def write(self, name, content):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return name

    def folder(self, **reports):
        """XML reports, number to content, as `x12=...`."""
        for name, content in reports.items():
            self.write(f"ecgen-radiology/{name[1:]}.xml", content)
        return "ecgen-radiology"

    def archive(self, members, name="NLMCXR_reports.tgz"):
        with tarfile.open(self.root / name, "w:gz") as archive:
            for member, content in members.items():
                info = tarfile.TarInfo(member)
                info.size = len(content.encode())
                archive.addfile(info, io.BytesIO(content.encode()))
        return name

    def csv(self, *rows, header="uid,MeSH,Problems,image,indication,comparison,findings,impression"):
        return self.write("indiana_reports.csv", "\n".join([header, *rows, ""]))

    def projections(self, *rows):
        return self.write("indiana_projections.csv", "\n".join(["uid,filename,projection", *rows, ""]))

    def labels(self, **positive):
        """Study to its positive columns."""
        names = COLUMNS.split(",")
        rows = [
            ",".join([uid, *(str(int(n in columns)) for n in names)]) for uid, columns in positive.items()
        ]
        return self.write("gold_labels.csv", "\n".join([f"filename,{COLUMNS}", *rows, ""]))

    def annotation(self, **lists):
        return self.write("annotation.json", json.dumps(lists))

    def film(self, name, seed=0):
        buffer = io.BytesIO()
        pixels = np.random.default_rng([seed, *name.encode()]).integers(0, 256, (24, 20), dtype=np.uint8)
        Image.fromarray(pixels).save(buffer, "PNG")
        self.write(name, buffer.getvalue())

    def read(self, **options):
        return list(iu_xray.read(root=self.root, **{"reports": None, **options}).records)

    def drawn(self, **options):
        return self.read(images="phantom", **options)

    def ingested(self, records):
        run = ingest(
            records, seed=0, target="report", image_size=32, image_fit="pad", split_shares={"train": 1.0},
            max_quarantined_share=1.0, min_report_words=1, image_root=self.root,
        )  # fmt: skip
        for _ in run:
            pass
        return run

    @staticmethod
    def kept(records):
        return [r for r in records if isinstance(r, Record)]

    @staticmethod
    def reasons(records):
        return [(r.reason, r.study_id) for r in records if isinstance(r, Refusal)]


@pytest.fixture
def tree(tmp_path):
    return Tree(tmp_path)
