"""Films from files: found inside the data root, decoded to 8-bit grey, fitted, written as PNG.

What is done to the pixels, in this order:
- the EXIF orientation is applied;
- 16-bit and deeper grey is scaled linearly from the film's own darkest and brightest value to 0..255,
  because 16-bit files often hold 10 to 14 bits, which a division by 65,535 would leave black
  (16-bit colour PNGs are the exception: Pillow gives their upper 8 bits);
- transparent pixels lie on black, the film's background; palettes and colours become grey by
  ITU-R 601 luma, as Pillow does it.
"""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Final, Literal, get_args

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageOps, UnidentifiedImageError

from radrl.data.quarantine import Refused
from radrl.data.study import Film as Film

Fit = Literal["pad", "stretch", "longest_side"]
FITS: Final[tuple[Fit, ...]] = get_args(Fit)

MAX_PIXELS: Final = 64_000_000  # the largest detectors give about 20 million
MIN_SIDE: Final = 16
MIN_GREYS: Final = 8  # a film with less between its darkest and brightest grey shows nothing
_SUFFIXES: Final = (".png", ".jpg", ".jpeg")


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
    beside = [real.with_suffix(suffix).name for suffix in _SUFFIXES if real.with_suffix(suffix).is_file()]
    return f"no such file; {' and '.join(beside)} is there" if beside else "no such file"


def decode(path: Path) -> Film:
    """Decode a PNG or JPEG file; its content decides, not its extension.

    Args:
        path: the file.

    Returns:
        The film, shape (H, W), uint8, by the rules above.

    Raises:
        Refused: `unreadable_image`, `unsupported_format`, `too_large`, `too_small` or `blank_image`.
    """
    try:
        with path.open("rb") as stream, warnings.catch_warnings():
            # Pillow warns of bombs before our own, lower limit is checked
            warnings.simplefilter("ignore", Image.DecompressionBombWarning)
            with Image.open(stream, formats=("PNG", "JPEG")) as image:
                _check_size(*image.size)
                film = _grey(ImageOps.exif_transpose(image))
    except Refused:
        raise
    except Image.DecompressionBombError as error:
        raise Refused("too_large", str(error)) from error
    except UnidentifiedImageError as error:
        raise _unidentified(path) from error
    except Exception as error:  # Pillow's decoders raise whatever the damaged bytes lead them to
        raise Refused("unreadable_image", f"{type(error).__name__}: {error}") from error
    return check(film)


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


def _unidentified(path: Path) -> Refused:
    with path.open("rb") as stream:
        head = stream.read(132)
    if not head:
        return Refused("unreadable_image", "the file is empty")
    if head[128:] == b"DICM":
        return Refused("unsupported_format", "DICOM; this source reads PNG and JPEG")
    return Refused("unreadable_image", f"neither PNG nor JPEG; begins with {head[:8]!r}")


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
    if how not in FITS:
        raise ValueError(f"image_fit {how!r} is unknown; valid: {', '.join(FITS)}")
    height, width = film.shape
    if how == "stretch":
        return _resize(film, size, size)
    scale = size / max(height, width)
    resized = _resize(film, max(1, round(height * scale)), max(1, round(width * scale)))
    return resized if how == "longest_side" else _centre(resized, size)


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
