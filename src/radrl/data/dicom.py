"""Films in DICOM files, as a viewer would show them, to 8-bit grey; through pydicom.

Only the tags that say how pixels are to be read are parsed. Tags of the patient are skipped unread, so none
can reach a film, a message or a log. Names that were burned into the pixels stay there.

What is done to grey films, in this order:
- the modality LUT or rescale, then the first VOI LUT, or else the first window (linear, linear exact,
  sigmoid); without one, or where its width is no window, the film's own extremes become 0 and 255;
- MONOCHROME1 is inverted, so that 0 is black;
- padding (PixelPaddingValue) counts for neither end and becomes black.

Colour becomes grey as in `radrl.data.images`; of more than 8 bits the upper 8 are kept.
"""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import numpy as np
import numpy.typing as npt
from PIL import Image
from pydicom import Dataset, dcmread
from pydicom.filereader import read_file_meta_info
from pydicom.pixels import apply_color_lut, apply_modality_lut, apply_voi_lut, get_decoder
from pydicom.uid import UID, DeflatedExplicitVRLittleEndian, JPEGExtended12Bit

from radrl.data.quarantine import Refused
from radrl.data.study import Film

HEAD: Final = 132  # bytes that tell a DICOM file: its preamble and the word DICM

_GREY: Final = ("MONOCHROME1", "MONOCHROME2")
_COLOUR: Final = ("RGB", "YBR_FULL", "YBR_FULL_422", "YBR_ICT", "YBR_RCT")  # pydicom gives all of them as RGB
_PALETTE: Final = "PALETTE COLOR"

_HEADER: Final = [
    *("SamplesPerPixel", "PhotometricInterpretation", "PlanarConfiguration", "NumberOfFrames"),
    *("Rows", "Columns", "BitsAllocated", "BitsStored", "HighBit", "PixelRepresentation"),
    *("PixelPaddingValue", "PixelPaddingRangeLimit", "RescaleSlope", "RescaleIntercept"),
    *("ModalityLUTSequence", "VOILUTSequence", "WindowCenter", "WindowWidth", "VOILUTFunction"),
    *(f"{colour}PaletteColorLookupTableDescriptor" for colour in ("Red", "Green", "Blue")),
    *(f"{colour}PaletteColorLookupTableData" for colour in ("Red", "Green", "Blue")),
    *(f"Segmented{colour}PaletteColorLookupTableData" for colour in ("Red", "Green", "Blue")),
]
_PIXELS: Final = [*_HEADER, "PixelData", "ExtendedOffsetTable", "ExtendedOffsetTableLengths"]

_EXTREMES: Final = np.array([-1e12, 1e12])  # beyond any stored value: what they become is the window's range
_ONE_AT_A_TIME: Final = threading.Lock()

Values = npt.NDArray[Any]


def starts(head: bytes) -> bool:
    """Tell by the first `HEAD` bytes whether a file is DICOM."""
    return head[128:HEAD] == b"DICM"


def decode(path: Path, check_size: Callable[[int, int], None]) -> Film:
    """Decode a DICOM file of one film.

    Args:
        path: the file.
        check_size: is given width and height in pixels before any pixel is read; raises `Refused`.

    Returns:
        The film, shape (H, W), uint8, by the rules above.

    Raises:
        Refused: `no_decoder`, `unsupported_format`, `unreadable_image`, or what `check_size` raises.
    """
    try:
        with _quiet():
            return _decoded(path, check_size)
    except Refused:
        raise
    except Exception as error:  # pydicom and the codecs raise whatever damaged bytes lead them to
        # and may quote these bytes, so only the kind of the error is told
        what = f"the DICOM file is truncated or damaged ({type(error).__name__})"
        raise Refused("unreadable_image", what) from None


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep pydicom's warnings, which quote values at times, off the screen and out of logs.

    Filters of warnings are the process's and not the thread's, so threads take turns.
    """
    logger = logging.getLogger("pydicom")
    with _ONE_AT_A_TIME, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        propagate, logger.propagate = logger.propagate, False
        try:
            yield
        finally:
            logger.propagate = propagate


def _decoded(path: Path, check_size: Callable[[int, int], None]) -> Film:
    syntax = read_file_meta_info(path).get("TransferSyntaxUID")
    if syntax is None:
        raise Refused("unreadable_image", "the DICOM file does not name its transfer syntax")
    if syntax == DeflatedExplicitVRLittleEndian:  # unpacked whole before a size is known
        raise Refused("unsupported_format", "deflated DICOM; inflate it, for example with dcmconv +te")
    header = dcmread(path, stop_before_pixels=True, specific_tags=_HEADER)
    _check_header(header)
    check_size(header.Columns, header.Rows)
    _check_decoder(syntax, header)
    dataset = dcmread(path, specific_tags=_PIXELS)
    if not dataset.get("PixelData"):
        raise Refused("unreadable_image", "the DICOM file holds no pixels")
    pixels = _pixels(dataset, syntax)
    kind = dataset.PhotometricInterpretation
    if pixels.ndim != (3 if kind in _COLOUR else 2):
        raise Refused("unreadable_image", f"pixels of shape {pixels.shape} are no {kind} film")
    return _grey(pixels, dataset) if kind in _GREY else _luma(pixels, dataset)


def _check_header(header: Dataset) -> None:
    kind = header.get("PhotometricInterpretation")
    if kind is None or not header.get("Rows") or not header.get("Columns"):
        raise Refused("unreadable_image", "the DICOM file holds no image, or does not say its size and kind")
    if kind not in (*_GREY, *_COLOUR, _PALETTE):
        valid = ", ".join((*_GREY, *_COLOUR, _PALETTE))
        raise Refused("unsupported_format", f"PhotometricInterpretation is none of {valid}")
    frames = int(header.get("NumberOfFrames") or 1)
    if frames > 1:
        raise Refused("unsupported_format", f"{frames} frames; a film has one: extract it")


def _check_decoder(syntax: UID, header: Dataset) -> None:
    try:
        decoder = get_decoder(syntax)
    except NotImplementedError:
        raise Refused("unsupported_format", f"transfer syntax {_named(syntax)}; decompress it") from None
    # Pillow and GDCM say that they read it, and do so up to 8 bits
    twelve = syntax == JPEGExtended12Bit and header.BitsAllocated > 8
    if twelve and "pylibjpeg" not in decoder.available_plugins:
        raise Refused("no_decoder", f"transfer syntax {_named(syntax)} with 12 bits; decompress it")
    if not decoder.is_available:
        known = any("gdcm" in plugin for plugin in decoder.missing_dependencies)
        mend = "pip install 'radrl[dicom-codecs]', or decompress it" if known else "decompress it"
        raise Refused("no_decoder", f"transfer syntax {_named(syntax)}; {mend}")


def _pixels(dataset: Dataset, syntax: UID) -> Values:
    try:
        pixels: Values = dataset.pixel_array
    except RuntimeError:  # every installed decoder was tried
        what = f"the pixels are damaged, or of a kind that no installed decoder of {_named(syntax)} knows"
        raise Refused("unreadable_image", what) from None
    return pixels


def _named(syntax: UID) -> str:
    name = str(syntax.name)
    return "that is unknown" if name == str(syntax) else name


def _luma(pixels: Values, dataset: Dataset) -> Film:
    if dataset.PhotometricInterpretation == _PALETTE:
        pixels = apply_color_lut(pixels, dataset)
        bits = 8 * pixels.itemsize
    else:
        bits = int(dataset.BitsStored)
    upper = (pixels >> max(bits - 8, 0)).astype(np.uint8)  # (H, W, 3)
    return np.array(Image.fromarray(upper[..., :3]).convert("L"), dtype=np.uint8)


def _grey(pixels: Values, dataset: Dataset) -> Film:
    padding = _padding(pixels, dataset)  # (H, W)
    # 64 bits, because the modality LUT computes indices in the type it is given
    values = apply_modality_lut(pixels.astype(np.int64), dataset)
    shown, low, high = _shown(values, padding, dataset)
    if not np.isfinite(high - low):
        raise Refused("unreadable_image", "rescale or window of the DICOM file hold no finite numbers")
    if high == low:
        return np.zeros(pixels.shape, dtype=np.uint8)
    film: Film = np.rint(np.clip((shown - low) / (high - low), 0, 1) * 255).astype(np.uint8)
    if dataset.PhotometricInterpretation == "MONOCHROME1":
        film = 255 - film
    film[padding] = 0
    return film


def _padding(pixels: Values, dataset: Dataset) -> npt.NDArray[np.bool_]:
    value = dataset.get("PixelPaddingValue")
    if value is None:
        return np.zeros(pixels.shape, dtype=np.bool_)
    limit = dataset.get("PixelPaddingRangeLimit")
    low, high = sorted((int(value), int(value if limit is None else limit)))
    found: npt.NDArray[np.bool_] = (pixels >= low) & (pixels <= high)
    return found


def _shown(values: Values, padding: npt.NDArray[np.bool_], dataset: Dataset) -> tuple[Values, float, float]:
    """Values as they are to be shown, with those of black and white."""
    if table := _voi_table(dataset):
        # pydicom keeps indices in the type of the entries: make that 16 bits, and the indices fit into it
        table.LUTDescriptor = [*table.LUTDescriptor[:2], 16]
        entries, first = table.LUTDescriptor[0] or 2**16, table.LUTDescriptor[1]
        known = np.clip(np.rint(values).astype(np.int64), first, first + entries - 1)
        every = apply_voi_lut(np.arange(first, first + entries), dataset).astype(float)
        return apply_voi_lut(known, dataset).astype(float), every.min(), every.max()
    if _has_window(dataset):
        low, high = apply_voi_lut(_EXTREMES, dataset)
        return apply_voi_lut(values, dataset), float(low), float(high)
    seen = values if padding.all() else values[~padding]
    return values.astype(float), float(seen.min()), float(seen.max())


def _voi_table(dataset: Dataset) -> Dataset | None:
    tables = dataset.get("VOILUTSequence")
    return tables[0] if tables and "LUTDescriptor" in tables[0] and "LUTData" in tables[0] else None


def _has_window(dataset: Dataset) -> bool:
    centre, width = (_first(dataset.get(name)) for name in ("WindowCenter", "WindowWidth"))
    linear = str(dataset.get("VOILUTFunction") or "LINEAR").upper() == "LINEAR"
    return centre is not None and width is not None and (width >= 1 if linear else width > 0)


def _first(value: Any) -> float | None:
    if value is None or isinstance(value, int | float):
        return value
    return float(value[0]) if len(value) else None
