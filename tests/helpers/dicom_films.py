"""Films as DICOM files, small and sound, with any tag made another."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pydicom
from pydicom.dataset import FileMetaDataset
from pydicom.uid import ExplicitVRLittleEndian, SecondaryCaptureImageStorage


def dicom(pixels: np.ndarray[Any, Any], *, bits: int, **tags: object) -> bytes:
    """One film.

    Args:
        pixels: rows x columns of unsigned integers.
        bits: of a pixel's, those that are used.
        **tags: in place of its own, or beside them.
    """
    found = pydicom.Dataset()
    found.file_meta = FileMetaDataset()
    found.file_meta.TransferSyntaxUID = ExplicitVRLittleEndian
    found.file_meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    found.file_meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    found.PatientName = "Doe^Jane"
    found.Rows, found.Columns = pixels.shape
    found.SamplesPerPixel, found.PhotometricInterpretation = 1, "MONOCHROME2"
    found.BitsAllocated, found.BitsStored, found.HighBit = 8 * pixels.itemsize, bits, bits - 1
    found.PixelRepresentation = 0
    found.PixelData = pixels.tobytes()
    for name, value in tags.items():
        setattr(found, name, value)
    buffer = io.BytesIO()
    pydicom.dcmwrite(buffer, found, enforce_file_format=True)
    return buffer.getvalue()
