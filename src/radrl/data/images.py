"""Films from files: found inside the data root, decoded to 8-bit grey, fitted, written as PNG.

What is done to the pixels of PNG and JPEG files, in this order (`radrl.data.dicom` has DICOM's):
- the EXIF orientation is applied;
- 16-bit and deeper grey is scaled linearly from the film's own darkest and brightest value to 0..255,
  because 16-bit files often hold 10 to 14 bits, which a division by 65,535 would leave black
  (16-bit colour PNGs are the exception: Pillow gives their upper 8 bits);
- transparent pixels lie on black, the film's background; palettes and colours become grey by
  ITU-R 601 luma, as Pillow does it.
"""

from __future__ import annotations

import io
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO, Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from PIL import ExifTags, Image, ImageFile
from PIL.JpegImagePlugin import JpegImageFile
from PIL.PngImagePlugin import PngImageFile

from radrl.data import dicom
from radrl.data.quarantine import Refused
from radrl.data.study import Box
from radrl.data.study import Film as Film
from radrl.parts.choices import require_one_of

Fit = Literal["pad", "stretch", "longest_side"]
FITS: Final[tuple[Fit, ...]] = get_args(Fit)

MAX_PIXELS: Final = 64_000_000  # the largest detectors give about 20 million
MIN_SIDE: Final = 16
MIN_GREYS: Final = 8  # a film with less between its darkest and brightest grey shows nothing
_SUFFIXES: Final = (".jpg", ".jpeg", ".png", ".dcm")
_TURNS: Final = {
    2: Image.Transpose.FLIP_LEFT_RIGHT,
    3: Image.Transpose.ROTATE_180,
    4: Image.Transpose.FLIP_TOP_BOTTOM,
    5: Image.Transpose.TRANSPOSE,
    6: Image.Transpose.ROTATE_270,
    7: Image.Transpose.TRANSVERSE,
    8: Image.Transpose.ROTATE_90,
}
"""What undoes each EXIF orientation but 1, which is upright."""

_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8\xff"
_OTHERS: Final = {
    b"GIF8": "GIF",
    b"BM": "BMP",
    b"II*\0": "TIFF",
    b"MM\0*": "TIFF",
    b"RIFF": "WebP",
    b"\0\0\0\x0cjP  ": "JPEG 2000",
    b"\xff\x4f\xff\x51": "JPEG 2000",
    b"%PDF": "PDF",
    b"\x02\0\0\0": "DICOM without its preamble",
    b"\x08\0": "DICOM without its file meta information",
}
_UNPACK: Final = {b"\x1f\x8b": "gzip", b"PK": "zip"}


def locate(path: Path, root: Path) -> Path:
    """Find a film's file and make sure that it lies inside the data root.

    Args:
        path: the film's path, the root included.
        root: the folder that no film may leave, neither by `..` nor by a link.

    Returns:
        The file with all links resolved.

    Raises:
        Refused: `outside_root` or `missing_image`.
    """
    try:
        real, real_root = path.resolve(), root.resolve()
        if not real.is_relative_to(real_root):
            raise Refused("outside_root", "the path leads out of the image root")
        if not real.is_file():
            raise Refused("missing_image", _why_missing(path, real))
    except (OSError, RuntimeError, ValueError) as error:  # a name too long, links in a circle, a NUL
        raise Refused("missing_image", f"the path cannot be followed ({type(error).__name__})") from error
    return real


def _why_missing(path: Path, real: Path) -> str:
    if real.exists():
        return "not a regular file"
    if path.is_symlink():
        return "the link leads nowhere"
    for mend, other in _misspelt(real):
        if other.is_file():
            return f"no such file; {mend}"
    beside = [name for name in _namesakes(real.name) if real.with_name(name).is_file()]
    return f"no such file; {' and '.join(beside)} is there" if beside else "no such file"


def _misspelt(path: Path) -> Iterator[tuple[str, Path]]:
    """The file that was meant by a path as another system writes it, each with what to do."""
    if "\\" in path.name:
        yield "write its path with / in place of \\", path.parent / path.name.replace("\\", "/")
    for form in ("NFC", "NFD"):
        other = unicodedata.normalize(form, path.name)
        if other != path.name:
            yield f"the same name in Unicode form {form} is there: rename it", path.with_name(other)


def _namesakes(name: str) -> Iterator[str]:
    """The name with each suffix of a film; what follows a dot need not be one (1.2.840.113)."""
    stem = name[: name.rindex(".")] if name.lower().endswith(_SUFFIXES) else name
    for suffix in _SUFFIXES:
        yield from (other for other in (stem + suffix, stem + suffix.upper()) if other != name)


def decode(path: Path) -> Film:
    """Decode a PNG, JPEG or DICOM file; its content decides, not its extension.

    Args:
        path: the file.

    Returns:
        The film, shape (H, W), uint8, by the rules above.

    Raises:
        Refused: `unreadable_image`, `unsupported_format`, `no_decoder`, `too_large`, `too_small` or
            `blank_image`.
    """
    try:
        film = _decoded(path)
    except Refused:
        raise
    except Exception as error:  # Pillow's decoders raise whatever the damaged bytes lead them to
        raise Refused("unreadable_image", _described(error)) from error
    return check(film)


def _described(error: Exception) -> str:
    if isinstance(error, OSError) and error.strerror:  # the system's, whose text would name the whole path
        return f"the file cannot be opened: {error.strerror}"
    return f"the file is truncated or damaged ({type(error).__name__}: {error})"


def _decoded(path: Path) -> Film:
    with path.open("rb") as stream:
        head = stream.read(dicom.HEAD)
        stream.seek(0)
        if head.startswith(_PNG):
            return _of_png(stream)
        if head.startswith(_JPEG):
            return _of_image(JpegImageFile(stream))
    if dicom.starts(head):
        return dicom.decode(path, _check_size)
    raise _no_film(head)


# The classes of the two formats are called without Image.open, whose warning of large films could be kept off
# the screen only by switching off warnings for all threads. _check_size refuses such films sooner.
def _of_png(stream: BinaryIO) -> Film:
    with PngImageFile(stream) as image:
        _check_size(*image.size)
        image.verify()  # checksums of the pixels, which decoding does not look at
    stream.seek(0)
    return _of_image(PngImageFile(stream))


def _of_image(image: ImageFile.ImageFile) -> Film:
    with image:
        _check_size(*image.size)
        if (frames := getattr(image, "n_frames", 1)) > 1:
            raise Refused("unsupported_format", f"{frames} frames; a film has one: extract it")
        image.load()
        return _grey(_upright(image))


def _upright(image: Image.Image) -> Image.Image:
    # Not ImageOps.exif_transpose, which writes all tags anew and fails where any of them is damaged
    try:
        orientation: Any = image.getexif().get(ExifTags.Base.Orientation)
        turn = _TURNS.get(orientation)
    except Exception:  # whatever damaged EXIF leads Pillow to; the pixels are sound
        return image
    return image if turn is None else image.transpose(turn)


def _no_film(head: bytes) -> Refused:
    if not head:
        return Refused("unreadable_image", "the file is empty")
    for magic, name in _OTHERS.items():
        if head.startswith(magic):
            return Refused("unsupported_format", f"{name}; PNG, JPEG and DICOM are read: convert it")
    for magic, name in _UNPACK.items():
        if head.startswith(magic):
            return Refused("unsupported_format", f"packed with {name}; unpack it")
    # what the file begins with is not told: it may be a patient's name
    return Refused("unreadable_image", "neither PNG nor JPEG nor DICOM")


def check(film: Film) -> Film:
    """Return the film when it can show anything.

    Raises:
        Refused: `unreadable_image` (not (H, W) uint8), `too_large`, `too_small` or `blank_image`.
    """
    if film.ndim != 2 or film.dtype != np.uint8:
        raise Refused("unreadable_image", f"pixels are {film.dtype} {film.shape}, not uint8 (height, width)")
    _check_size(film.shape[1], film.shape[0])
    if int(film.max()) - int(film.min()) < MIN_GREYS:
        raise Refused("blank_image", f"all greys lie between {film.min()} and {film.max()}")
    return film


def _check_size(width: int, height: int) -> None:
    if width * height > MAX_PIXELS:
        raise Refused("too_large", f"{width} x {height} pixels; at most {MAX_PIXELS} are decoded")
    if min(width, height) < MIN_SIDE:
        raise Refused("too_small", f"{width} x {height} pixels; at least {MIN_SIDE} a side are needed")


def _grey(image: Image.Image) -> Film:
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _scale(np.asarray(image))
    if image.has_transparency_data:
        black = Image.new("RGBA", image.size, (0, 0, 0, 255))
        image = Image.alpha_composite(black, image.convert("RGBA"))
    return np.array(image.convert("L"), dtype=np.uint8)


def _scale(values: npt.NDArray[np.generic]) -> Film:
    levels = values.astype(np.float64)  # (H, W)
    low, high = levels.min(), levels.max()
    if low == high:
        return np.zeros(levels.shape, dtype=np.uint8)
    scaled: Film = np.round((levels - low) * (255 / (high - low))).astype(np.uint8)
    return scaled


def fit(film: Film, *, size: int, how: Fit) -> Film:
    """Resize a film, antialiased (bicubic with support scaled to the reduction).

    Args:
        film: shape (H, W).
        size: side of the result in pixels.
        how: `pad` keeps the aspect and centres the film on a black square, `stretch` fills the
            square, `longest_side` keeps the aspect and cuts nothing off, so the result need not be square.

    Returns:
        Shape (size, size); for `longest_side` the longer side is `size`.

    Raises:
        ValueError: `how` is none of `FITS`.
    """
    require_one_of("image_fit", how, FITS)
    height, width = film.shape
    if how == "stretch":
        return _resize(film, size, size)
    scale = size / max(height, width)
    resized = _resize(film, max(1, round(height * scale)), max(1, round(width * scale)))
    return resized if how == "longest_side" else _centre(resized, size)


def fit_box(box: Box, shape: tuple[int, ...], how: Fit) -> Box:
    """Where a box lies on a film that was fitted (`fit`).

    Args:
        box: on the film as it was.
        shape: of that film, (H, W).
        how: one of `FITS`.

    Returns:
        The box as shares of the fitted film.
    """
    if how != "pad":
        return box
    height, width = shape
    side = max(shape)
    across, down = (side - width) / 2, (side - height) / 2  # the black edges
    return Box(
        box.sentence,
        (across + box.left * width) / side,
        (down + box.top * height) / side,
        (across + box.right * width) / side,
        (down + box.bottom * height) / side,
    )


def _resize(film: Film, height: int, width: int) -> Film:
    image = Image.fromarray(film).resize((width, height), Image.Resampling.BICUBIC)
    return np.array(image, dtype=np.uint8)


def _centre(film: Film, size: int) -> Film:
    square = np.zeros((size, size), dtype=np.uint8)
    top, left = (size - film.shape[0]) // 2, (size - film.shape[1]) // 2
    square[top : top + film.shape[0], left : left + film.shape[1]] = film
    return square


def encode_png(film: Film) -> bytes:
    """Write a film as an 8-bit grey PNG without metadata: same pixels, same bytes."""
    buffer = io.BytesIO()
    Image.fromarray(film).save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()
