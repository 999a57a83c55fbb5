import io
import os
import struct
import warnings
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.JpegImagePlugin import JpegImageFile

from radrl.data import images
from radrl.data.images import check, decode, encode_png, fit, fit_box, locate
from radrl.data.quarantine import Refused
from radrl.data.study import Box

RAMP = np.tile(np.arange(0, 240, 10, dtype=np.uint8), (20, 1))  # (20, 24)


def saved(folder, image, name="film.png", **options):
    path = folder / name
    image.save(path, **options)
    return path


def refusal(function, *args):
    with pytest.raises(Refused) as error:
        function(*args)
    return error.value.reason, error.value.detail


class TestDecode:
    def test_eight_bit_grey_is_left_alone(self, tmp_path):
        np.testing.assert_array_equal(decode(saved(tmp_path, Image.fromarray(RAMP))), RAMP)

    def test_sixteen_bit_is_scaled_from_its_own_range(self, tmp_path):
        twelve_bit = np.full((20, 20), 1000, dtype=np.uint16)
        twelve_bit[0, :3] = [500, 1500, 3000]
        film = decode(saved(tmp_path, Image.fromarray(twelve_bit)))
        # 255 * (v - 500) / 2500
        assert film[0, :4].tolist() == [0, 102, 255, 51]

    def test_colour_becomes_luma(self, tmp_path):
        colour = np.zeros((16, 16, 3), dtype=np.uint8)
        colour[:8] = [200, 100, 50]
        film = decode(saved(tmp_path, Image.fromarray(colour)))
        # 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
        assert film[0, 0] == 124
        assert film[15, 15] == 0

    def test_transparent_pixels_are_black(self, tmp_path):
        pixels = np.full((16, 16, 4), 255, dtype=np.uint8)
        pixels[:8, :, 3] = 0
        film = decode(saved(tmp_path, Image.fromarray(pixels)))
        assert film[0, 0] == 0
        assert film[15, 0] == 255

    def test_palette_is_looked_up(self, tmp_path):
        film = Image.fromarray((RAMP >= 120).astype(np.uint8))
        film.putpalette([10, 10, 10, 250, 250, 250])
        np.testing.assert_array_equal(decode(saved(tmp_path, film)), np.where(RAMP >= 120, 250, 10))

    def test_one_bit_film(self, tmp_path):
        film = Image.fromarray(RAMP).point(lambda v: 255 * (v > 100), mode="1")
        assert set(np.unique(decode(saved(tmp_path, film)))) == {0, 255}

    @pytest.mark.parametrize(
        ("orientation", "upright"),
        [
            (1, RAMP),
            (2, RAMP[:, ::-1]),
            (3, RAMP[::-1, ::-1]),
            (4, RAMP[::-1]),
            (5, RAMP.T),
            (6, np.rot90(RAMP, -1)),  # the camera was turned: rotate by 90 degrees clockwise
            (7, RAMP[::-1, ::-1].T),
            (8, np.rot90(RAMP)),
            (9, RAMP),
        ],
    )
    def test_exif_orientation_is_applied(self, tmp_path, orientation, upright):
        exif = Image.Exif()
        exif[0x0112] = orientation
        np.testing.assert_array_equal(decode(saved(tmp_path, Image.fromarray(RAMP), exif=exif)), upright)

    def test_content_decides_not_the_extension(self, tmp_path):
        path = saved(tmp_path, Image.fromarray(RAMP), "film.jpg", format="PNG")
        np.testing.assert_array_equal(decode(path), RAMP)

    @pytest.mark.parametrize("name", ["film.png", "film.jpg"])
    def test_truncated_file_is_refused(self, tmp_path, noise_film, name):
        path = saved(tmp_path, Image.fromarray(noise_film(height=64, width=64)), name)
        path.write_bytes(path.read_bytes()[:-200])
        assert refusal(decode, path)[0] == "unreadable_image"

    @pytest.mark.parametrize(
        ("content", "reason", "detail"),
        [
            (b"", "unreadable_image", "empty"),
            (b"<html>not found</html>", "unreadable_image", "neither PNG nor JPEG nor DICOM"),
            (b"\x89PNG\r\n\x1a\n", "unreadable_image", "truncated or damaged"),
            (b"\xff\xd8\xff\xe0", "unreadable_image", "truncated or damaged"),
            (b"\0" * 128 + b"DICM" + b"\0" * 99, "unreadable_image", "DICOM"),
            (b"GIF89a", "unsupported_format", "GIF; PNG, JPEG and DICOM are read: convert it"),
            (b"\x1f\x8b\x08", "unsupported_format", "packed with gzip; unpack it"),
        ],
    )
    def test_files_that_are_no_film(self, tmp_path, content, reason, detail):
        path = tmp_path / "film.png"
        path.write_bytes(content)
        found = refusal(decode, path)
        assert found[0] == reason
        assert detail in found[1]

    def test_what_a_text_says_is_not_told(self, tmp_path):
        path = tmp_path / "film.png"
        path.write_text("Doe^Jane, born 1950")
        assert refusal(decode, path) == ("unreadable_image", "neither PNG nor JPEG nor DICOM")

    def test_pixels_that_contradict_their_checksum_are_refused(self, tmp_path, noise_film):
        path = saved(tmp_path, Image.fromarray(noise_film(height=64, width=64)), compress_level=0)
        content = bytearray(path.read_bytes())
        content[content.index(b"IDAT") + 500] ^= 1  # a pixel by one grey, which decodes without complaint
        path.write_bytes(content)
        assert refusal(decode, path)[0] == "unreadable_image"

    @pytest.mark.filterwarnings("ignore:Corrupt EXIF data")
    @pytest.mark.parametrize("exif", [b"Exif\0\0II*\0\x08\0\0\0\xff\xff", b"Exif\0\0no TIFF at all"])
    def test_damaged_exif_leaves_the_film_as_it_lies(self, tmp_path, exif):
        np.testing.assert_array_equal(decode(saved(tmp_path, Image.fromarray(RAMP), exif=exif)), RAMP)

    def test_orientation_counts_however_damaged_the_other_tags_are(self, tmp_path):
        # XResolution, a fraction, as two letters: Pillow reads it and cannot write it again
        entries = struct.pack("<HHI4sHHI4s", 0x0112, 3, 1, b"\3\0", 0x011A, 2, 3, b"ab\0")
        exif = b"Exif\0\0II*\0\x08\0\0\0" + struct.pack("<H", 2) + entries + bytes(4)
        film = decode(saved(tmp_path, Image.fromarray(RAMP), exif=exif))
        np.testing.assert_array_equal(film, RAMP[::-1, ::-1])

    def test_several_frames_are_refused(self, tmp_path):
        film = Image.fromarray(RAMP)
        path = saved(tmp_path, film, save_all=True, append_images=[Image.fromarray(255 - RAMP)])
        assert refusal(decode, path) == ("unsupported_format", "2 frames; a film has one: extract it")

    def test_threads_leave_warnings_as_they_were(self, tmp_path, noise_film):
        path = saved(tmp_path, Image.fromarray(noise_film(height=300, width=300)), "film.jpg")
        before = list(warnings.filters)
        with ThreadPoolExecutor(8) as pool:
            films = list(pool.map(decode, [path] * 40))
        assert all((film == films[0]).all() for film in films)
        assert warnings.filters == before

    @pytest.mark.parametrize("side", [9_000, 60_000])  # Pillow by itself lets the first one pass
    def test_bomb_is_refused_before_it_is_decoded(self, tmp_path, side):
        path = tmp_path / "bomb.png"
        path.write_bytes(png_of_header(side))
        assert refusal(decode, path)[0] == "too_large"

    def test_large_jpeg_is_refused_before_it_is_decoded(self, tmp_path, monkeypatch):
        path = saved(tmp_path, Image.fromarray(RAMP), "film.jpg")
        content = path.read_bytes()
        sides = content.index(b"\xff\xc0") + 5
        path.write_bytes(content[:sides] + struct.pack(">2H", 9_000, 9_000) + content[sides + 4 :])
        monkeypatch.setattr(JpegImageFile, "load", lambda image: pytest.fail("was decoded"))
        assert refusal(decode, path) == ("too_large", "9000 x 9000 pixels; at most 64000000 are decoded")

    def test_blank_film_is_refused(self, tmp_path):
        assert refusal(decode, saved(tmp_path, Image.new("L", (64, 64), 17)))[0] == "blank_image"
        flat = Image.fromarray(np.full((64, 64), 40_000, dtype=np.uint16))
        assert refusal(decode, saved(tmp_path, flat))[0] == "blank_image"

    def test_tiny_film_is_refused(self, tmp_path):
        assert refusal(decode, saved(tmp_path, Image.new("L", (1, 1))))[0] == "too_small"


def png_of_header(side):
    """A PNG that promises side x side pixels and holds none."""

    def chunk(kind, body):
        return len(body).to_bytes(4, "big") + kind + body + zlib.crc32(kind + body).to_bytes(4, "big")

    header = side.to_bytes(4, "big") * 2 + bytes([8, 0, 0, 0, 0])
    data = chunk(b"IDAT", zlib.compress(b""))
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + data + chunk(b"IEND", b"")


@pytest.mark.parametrize("pixels", [RAMP.astype(np.float32), RAMP[..., None], RAMP[0]])
def test_check_refuses_pixels_of_another_kind(pixels):
    assert refusal(check, pixels)[0] == "unreadable_image"


class TestLocate:
    @pytest.fixture
    def root(self, tmp_path):
        root = tmp_path / "root"
        (root / "folder.png").mkdir(parents=True)
        (root / "film.jpg").write_bytes(b"x")
        (tmp_path / "secret.png").write_bytes(b"x")
        (root / "out.png").symlink_to(tmp_path / "secret.png")
        (root / "in.png").symlink_to("film.jpg")
        (root / "dangling.png").symlink_to("nothing.png")
        (root / "circle.png").symlink_to("circle.png")
        return root

    @pytest.mark.parametrize("name", ["film.jpg", "in.png", "folder.png/../film.jpg"])
    def test_inside(self, root, name):
        assert locate(root / name, root) == root.resolve() / "film.jpg"

    @pytest.mark.parametrize(
        "name", ["../secret.png", "out.png", "/etc/hostname", "folder.png/../../secret.png"]
    )
    def test_outside(self, root, name):
        assert refusal(locate, root / name, root)[0] == "outside_root"

    @pytest.mark.parametrize(
        ("name", "detail"),
        [
            ("none.png", "no such file"),
            ("film.png", "film.jpg is there"),
            ("folder.png", "not a regular file"),
            (".", "not a regular file"),
            ("dangling.png", "link leads nowhere"),
            ("circle.png", "cannot be followed"),
            ("n" * 300 + ".png", "cannot be followed"),
            ("nul\0.png", "cannot be followed"),
            ("film.jpg/x.png", "no such file"),
        ],
    )
    def test_missing(self, root, name, detail):
        found = refusal(locate, root / name, root)
        assert found[0] == "missing_image"
        assert detail in found[1]

    @pytest.mark.parametrize(
        ("there", "asked", "told"),
        [
            (["a.jpeg", "a.dcm"], "a.png", "a.jpeg and a.dcm is there"),
            (["a.JPG"], "a.jpg", "a.JPG is there"),
            (["a.png"], "a", "a.png is there"),
            (["1.2.840.dcm"], "1.2.840", "1.2.840.dcm is there"),
            (["a.txt", "ab.png"], "a.png", "no such file"),
            (["folder.png/b.png"], "folder.png\\b.png", "write its path with / in place of \\"),
            (["e\u0301.png"], "\u00e9.png", "the same name in Unicode form NFD is there: rename it"),
            (["\u00e9.png"], "e\u0301.png", "the same name in Unicode form NFC is there: rename it"),
        ],
    )
    def test_what_may_have_been_meant_is_told(self, root, there, asked, told):
        for name in there:
            (root / name).write_bytes(b"x")
        if (root / asked).exists():
            pytest.skip("this file system does not tell the two names apart")
        assert refusal(locate, root / asked, root)[1].endswith(told)

    def test_pipe_is_not_waited_for(self, root):
        os.mkfifo(root / "pipe.png")
        assert refusal(locate, root / "pipe.png", root) == ("missing_image", "not a regular file")


class TestFit:
    def test_pad_centres_on_black(self):
        square = fit(np.full((10, 20), 200, dtype=np.uint8), size=40, how="pad")
        assert square.shape == (40, 40)
        assert (square[10:30] == 200).all()
        assert not square[:10].any()
        assert not square[30:].any()

    @pytest.mark.parametrize(
        ("how", "shape"), [("stretch", (32, 32)), ("pad", (32, 32)), ("longest_side", (32, 16))]
    )
    def test_shapes(self, noise_film, how, shape):
        assert fit(noise_film(height=100, width=50), size=32, how=how).shape == shape

    def test_reduction_is_antialiased(self):
        stripes = np.tile(np.array([0, 255], dtype=np.uint8), (64, 32))  # (64, 64)
        small = fit(stripes, size=16, how="stretch")
        assert np.abs(small[:, 1:-1].astype(int) - 128).max() <= 2

    def test_extreme_aspect_keeps_a_pixel(self, noise_film):
        assert fit(noise_film(height=1000, width=16), size=20, how="longest_side").shape == (20, 1)

    @pytest.mark.parametrize("how", images.FITS)
    @pytest.mark.parametrize("shape", [(80, 40), (40, 80), (64, 64)])
    def test_a_box_goes_where_its_pixels_go(self, how, shape):
        height, width = shape
        film = np.zeros(shape, dtype=np.uint8)
        film[height // 4 : height // 2, width // 8 : width // 2] = 255
        fitted = fit(film, size=160, how=how)
        box = fit_box(Box("Here.", 0.125, 0.25, 0.5, 0.5), shape, how)
        rows, columns = (fitted > 127).any(1).nonzero()[0], (fitted > 127).any(0).nonzero()[0]
        seen = [columns[0] / fitted.shape[1], rows[0] / fitted.shape[0]]
        seen += [(columns[-1] + 1) / fitted.shape[1], (rows[-1] + 1) / fitted.shape[0]]
        assert [*box[1:]] == pytest.approx(seen, abs=0.01)
        assert box.sentence == "Here."

    def test_unknown_way_names_the_valid_ones(self):
        with pytest.raises(ValueError, match=r"'crop'.*pad, stretch, longest_side"):
            fit(RAMP, size=10, how="crop")


@given(st.integers(0, 2**32), st.integers(16, 40), st.integers(16, 40), st.sampled_from(images.FITS))
def test_png_is_lossless_and_the_same_bytes_every_time(noise_film, seed, height, width, how):
    film = fit(noise_film(seed, height, width), size=24, how=how)
    png = encode_png(film)
    assert png == encode_png(film.copy())
    with Image.open(io.BytesIO(png)) as image:
        assert (image.format, image.mode) == ("PNG", "L")
        np.testing.assert_array_equal(np.asarray(image), film)
