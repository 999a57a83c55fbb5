import importlib.util
import io
import logging
import multiprocessing
import os
import pickle
import struct
import warnings
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pydicom
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from pydicom.data import get_testdata_file
from pydicom.dataset import FileMetaDataset
from pydicom.uid import (
    MPEG2MPML,
    DeflatedExplicitVRLittleEndian,
    ExplicitVRLittleEndian,
    HTJ2KLossless,
    JPEG2000Lossless,
    SecondaryCaptureImageStorage,
)

from radrl.data.images import decode, encode_png
from radrl.data.quarantine import Refused

SECRET = "Doe^Jane"
RAMP = np.arange(0, 1024, dtype=np.uint16).reshape(32, 32)  # value v stands at [v // 32, v % 32]


def dataset(pixels, *, kind="MONOCHROME2", bits=None, syntax=ExplicitVRLittleEndian, **tags):
    """A film with the tags of a patient; tags of None are left out."""
    found = pydicom.Dataset()
    found.file_meta = FileMetaDataset()
    found.file_meta.TransferSyntaxUID = syntax
    found.file_meta.MediaStorageSOPClassUID = SecondaryCaptureImageStorage
    found.file_meta.MediaStorageSOPInstanceUID = "1.2.3.4"
    found.PatientName = found.PatientComments = found.ReferringPhysicianName = SECRET
    found.PatientID, found.PatientBirthDate = SECRET, "19500101"
    found.Rows, found.Columns = pixels.shape[:2]
    found.SamplesPerPixel = 3 if pixels.ndim == 3 else 1
    found.PhotometricInterpretation = kind
    found.BitsAllocated = 8 * pixels.itemsize
    found.BitsStored = bits or found.BitsAllocated
    found.HighBit = found.BitsStored - 1
    found.PixelRepresentation = int(pixels.dtype.kind == "i")
    if pixels.ndim == 3:
        found.PlanarConfiguration = 0
    found.PixelData = pixels.tobytes()
    for name, value in tags.items():
        if value is None:
            delattr(found, name)
        else:
            setattr(found, name, value)
    return found


@pytest.fixture
def film(tmp_path):
    def write(pixels, **options):
        path = tmp_path / "film.dcm"
        found = dataset(pixels, **options)
        pydicom.dcmwrite(path, found, enforce_file_format=True, implicit_vr=False, little_endian=True)
        return path

    return write


def bundled(name):
    """A file that ships with pydicom; nothing is downloaded."""
    return Path(get_testdata_file(name, download=False))


def refusal(path):
    with pytest.raises(Refused) as error:
        decode(path)
    return error.value.reason, error.value.detail


def detail(path):
    """What is told of a film that is refused; nothing of one that is not."""
    try:
        assert decode(path).dtype == np.uint8
    except Refused as refused:
        return refused.detail
    return ""


def at(film, value):
    return film[value // 32, value % 32]


def table(entries, *, first=0, bits=16):
    item = pydicom.Dataset()
    item.LUTDescriptor = [len(entries), first, bits]
    item["LUTDescriptor"].VR = "US"
    item.add_new("LUTData", "US", list(entries))
    return [item]


class TestGrey:
    def test_without_a_window_the_extremes_become_black_and_white(self, film):
        found = decode(film(RAMP + 1000, bits=12))
        # 255 * v / 1023
        assert [at(found, v) for v in (0, 341, 682, 1023)] == [0, 85, 170, 255]

    def test_monochrome1_is_inverted(self, film):
        found = decode(film(RAMP, bits=12, kind="MONOCHROME1"))
        assert [at(found, v) for v in (0, 341, 682, 1023)] == [255, 170, 85, 0]

    @pytest.mark.parametrize("name", ["without an extension", "film.png"])
    def test_content_decides_not_the_extension(self, film, name):
        path = film(RAMP)
        other = path.rename(path.with_name(name))
        assert decode(other).shape == (32, 32)

    @pytest.mark.parametrize(
        ("function", "greys"),
        [
            # ((v - 499.5) / 500 + 0.5) * 255 between 249.5 and 749.5
            ("LINEAR", {249: 0, 350: 51, 500: 128, 749: 255, 750: 255}),
            (None, {249: 0, 350: 51, 500: 128, 749: 255, 750: 255}),
            # ((v - 500) / 501 + 0.5) * 255 between 249.5 and 750.5
            ("LINEAR_EXACT", {249: 0, 350: 51, 600: 178, 751: 255}),
            # 255 / (1 + exp(-4 * (v - 500) / 501))
            ("SIGMOID", {0: 5, 250: 31, 600: 176, 1000: 250}),
        ],
    )
    def test_windows(self, film, function, greys):
        tags = {} if function is None else {"VOILUTFunction": function}
        found = decode(film(RAMP, bits=12, WindowCenter=500, WindowWidth=501, **tags))
        assert {v: int(at(found, v)) for v in greys} == greys

    def test_the_first_of_several_windows_counts(self, film):
        found = decode(film(RAMP, bits=12, WindowCenter=[500, 100], WindowWidth=[501, 7]))
        assert at(found, 350) == 51

    @pytest.mark.parametrize(
        "tags",
        [
            {"WindowCenter": 500, "WindowWidth": 0},
            {"WindowCenter": 500, "WindowWidth": ""},
            {"WindowCenter": 500},
            {"WindowCenter": 0, "WindowWidth": 0, "VOILUTFunction": "SIGMOID"},
        ],
    )
    def test_what_is_no_window_is_ignored(self, film, tags):
        assert at(decode(film(RAMP, **tags)), 341) == 85

    def test_a_window_is_in_units_after_the_rescale(self, film):
        tags = {"RescaleSlope": 2, "RescaleIntercept": -1000, "WindowCenter": 0, "WindowWidth": 1001}
        # 2 * v - 1000 = -300 and 300: (-300 + 0.5) / 1000 + 0.5 = 0.2005, and 0.8005
        found = decode(film(RAMP, bits=12, **tags))
        assert [at(found, v) for v in (0, 350, 650, 1000)] == [0, 51, 204, 255]

    def test_a_negative_slope_turns_the_greys_round(self, film):
        tags = {"RescaleSlope": -1, "RescaleIntercept": 1023}
        assert [at(decode(film(RAMP, **tags)), v) for v in (0, 1023)] == [255, 0]
        windowed = decode(film(RAMP, **tags, WindowCenter=511.5, WindowWidth=1024))
        assert [at(windowed, v) for v in (0, 341, 1023)] == [255, 170, 0]

    def test_modality_table(self, film):
        tags = {"ModalityLUTSequence": table(range(1023, -1, -1))}
        assert [at(decode(film(RAMP, **tags)), v) for v in (0, 341, 1023)] == [255, 170, 0]

    def test_a_modality_table_may_begin_far_below_zero(self, film):
        stored = np.full((32, 32), 30_000, np.int16)
        stored[0, 0] = -30_000
        tables = table(range(1000), first=-30_000)
        tables[0]["LUTDescriptor"].VR = "SS"
        found = decode(film(stored, ModalityLUTSequence=tables))
        assert (found[0, 0], found[31, 31]) == (0, 255)

    @pytest.mark.parametrize("bits", [8, 16])
    def test_voi_table_wins_over_the_window_and_may_have_more_entries_than_greys(self, film, bits):
        entries = [index // 4 for index in range(1000)]  # to 249
        tags = {"VOILUTSequence": table(entries, first=20, bits=bits), "WindowCenter": 1, "WindowWidth": 2}
        found = decode(film(RAMP, bits=12, **tags))
        # (v - 20) // 4 * 255 / 249, clipped to the table's ends
        assert [at(found, v) for v in (0, 20, 420, 620, 1019, 1023)] == [0, 0, 102, 154, 255, 255]

    def test_values_far_above_a_voi_table_get_its_last_entry(self, film):
        tags = {"VOILUTSequence": table(range(500)), "RescaleSlope": 128, "RescaleIntercept": 0}
        found = decode(film(RAMP, **tags))
        # 128 * 512 = 65536, which would be entry 0 if indices of 16 bits ran over
        assert [at(found, v) for v in (0, 1, 2, 512, 1023)] == [0, 65, 131, 255, 255]

    def test_signed_values_with_rubbish_above_the_stored_bits(self, film):
        values = RAMP.astype(np.int16) - 512
        stored = (values & 0x0FFF).astype(np.uint16) | 0x5000
        found = decode(film(stored.view(np.int16), bits=12))
        assert [at(found, v) for v in (0, 341, 682, 1023)] == [0, 85, 170, 255]

    @pytest.mark.parametrize("kind", ["MONOCHROME1", "MONOCHROME2"])
    def test_padding_is_black_and_counts_for_neither_end(self, film, kind):
        padded = RAMP + 100
        padded[0, :10] = 4095
        padded[0, 10:20] = 4000
        found = decode(film(padded, bits=12, kind=kind, PixelPaddingValue=4095, PixelPaddingRangeLimit=4000))
        assert not found[0, :20].any()
        # the values left are 20 to 1023: 255 * (v - 20) / 1003
        greys = np.array([0, 103, 255])
        assert [at(found, v) for v in (20, 425, 1023)] == list(255 - greys if "1" in kind else greys)

    def test_a_film_of_padding_is_blank(self, film):
        assert refusal(film(np.full((32, 32), 7, np.uint16), PixelPaddingValue=7))[0] == "blank_image"

    def test_eight_bits_and_one_bit(self, film):
        assert at(decode(film((RAMP // 4).astype(np.uint8))), 400) == 100
        assert set(np.unique(decode(bundled("liver_1frame.dcm")))) == {0, 255}

    def test_numbers_that_are_none_are_refused(self, film):
        path = film(RAMP, RescaleSlope="1", RescaleIntercept="0")
        path.write_bytes(path.read_bytes().replace(b"DS\x02\x001 ", b"DS\x02\x00ab", 1))
        assert refusal(path)[0] == "unreadable_image"

    def test_real_film_that_is_tagged_monochrome1(self):
        path = Path(os.environ.get("RADRL_SHARED", "")) / "data/loader_fixtures/Fake_MONOHR1.dcm"
        if not path.is_file():
            pytest.skip("RADRL_SHARED holds no DICOM film")
        stored = pydicom.dcmread(path).pixel_array.astype(float)
        expected = 255 - np.rint((stored - stored.min()) / np.ptp(stored) * 255)
        np.testing.assert_array_equal(decode(path), expected)


class TestColour:
    @pytest.mark.parametrize("planar", [0, 1])
    def test_colour_becomes_luma(self, film, planar):
        pixels = np.zeros((32, 32, 3), np.uint8)
        pixels[:16] = [200, 100, 50]
        stored = np.ascontiguousarray(pixels.transpose(2, 0, 1)) if planar else pixels
        found = decode(film(pixels, kind="RGB", PlanarConfiguration=planar, PixelData=stored.tobytes()))
        # 0.299 * 200 + 0.587 * 100 + 0.114 * 50 = 124.2
        assert (found[0, 0], found[31, 31]) == (124, 0)

    def test_of_sixteen_bits_the_upper_eight_are_kept(self, film):
        pixels = np.zeros((32, 32, 3), np.uint16)
        pixels[:16] = 0x7FFF
        assert decode(film(pixels, kind="RGB"))[0, 0] == 0x7F

    def test_luminance_of_ybr_is_the_grey(self, film):
        pixels = np.full((32, 32, 3), 128, np.uint8)
        pixels[..., 0] = RAMP // 4
        found = decode(film(pixels, kind="YBR_FULL"))
        np.testing.assert_allclose(found.astype(int), RAMP // 4, atol=1)

    def test_palette_is_looked_up(self, film):
        tags = {}
        for colour, value in {"Red": 200, "Green": 100, "Blue": 50}.items():
            tags[f"{colour}PaletteColorLookupTableDescriptor"] = [2, 0, 16]
            tags[f"{colour}PaletteColorLookupTableData"] = struct.pack("<2H", 0, value * 256)
        found = decode(film((RAMP >= 512).astype(np.uint8), kind="PALETTE COLOR", **tags))
        assert (at(found, 0), at(found, 1023)) == (0, 124)

    @pytest.mark.parametrize(
        "name", ["examples_palette.dcm", "examples_rgb_color.dcm", "SC_ybr_full_422_uncompressed.dcm"]
    )
    def test_films_that_others_wrote(self, name):
        assert np.ptp(decode(bundled(name))) == 255


class TestCompressed:
    @pytest.mark.parametrize("kind", ["RLE", "jp2klossless", "bigendian", "implicit"])
    def test_other_ways_of_storing_give_the_same_film(self, kind):
        found = decode(bundled(f"MR_small_{kind}.dcm"))
        np.testing.assert_array_equal(found, decode(bundled("MR_small.dcm")))

    @pytest.mark.skipif(importlib.util.find_spec("gdcm") is None, reason="the extra dicom-codecs is absent")
    @pytest.mark.parametrize(
        ("name", "same"),
        [
            ("MR_small_jpeg_ls_lossless.dcm", "MR_small.dcm"),
            ("SC_rgb_jpeg_gdcm.dcm", "SC_rgb_rle.dcm"),  # JPEG Lossless, which hospitals' archives use
        ],
    )
    def test_what_the_extra_reads(self, name, same):
        np.testing.assert_array_equal(decode(bundled(name)), decode(bundled(same)))

    @pytest.mark.skipif(importlib.util.find_spec("gdcm") is not None, reason="the decoder is installed")
    @pytest.mark.parametrize(
        ("name", "syntax"),
        [("MR_small_jpeg_ls_lossless.dcm", "JPEG-LS Lossless"), ("SC_rgb_jpeg_gdcm.dcm", "JPEG Lossless")],
    )
    def test_without_decoder_the_extra_is_named(self, name, syntax):
        reason, told = refusal(bundled(name))
        assert reason == "no_decoder"
        assert told.startswith(f"transfer syntax {syntax}")
        assert "pip install 'radrl[dicom-codecs]'" in told

    @pytest.mark.parametrize("name", ["JPEG-lossy.dcm", "JPGExtended.dcm"])
    def test_twelve_bit_jpeg_needs_another_decoder(self, name):
        if importlib.util.find_spec("libjpeg") is not None:
            pytest.skip("pylibjpeg-libjpeg is installed")
        assert refusal(bundled(name))[0] == "no_decoder"

    def test_damaged_pixels(self, film):
        data = pydicom.encaps.encapsulate([b"\xff\x4f\xff\x51" + b"\0" * 50])
        reason, told = refusal(film(RAMP, syntax=JPEG2000Lossless, PixelData=data))
        assert reason == "unreadable_image"
        assert "JPEG 2000 Image Compression (Lossless Only)" in told


class TestRefused:
    @pytest.mark.parametrize(
        ("tags", "reason", "told"),
        [
            ({"NumberOfFrames": 12}, "unsupported_format", "12 frames; a film has one"),
            ({"PixelData": None}, "unreadable_image", "holds no pixels"),
            ({"PixelData": b""}, "unreadable_image", "holds no pixels"),
            ({"PixelData": b"\0" * 100}, "unreadable_image", "truncated or damaged"),
            ({"Rows": None}, "unreadable_image", "holds no image"),
            ({"PhotometricInterpretation": None}, "unreadable_image", "holds no image"),
            ({"kind": "CMYK"}, "unsupported_format", "none of MONOCHROME1"),
            ({"kind": "RGB"}, "unreadable_image", "no RGB film"),
            ({"Rows": 9000, "Columns": 9000}, "too_large", "9000 x 9000"),
            ({"Rows": 65535, "Columns": 65535, "PixelData": b"\0\0"}, "too_large", "65535"),
            ({"Rows": 8}, "too_small", "32 x 8"),
            ({"RescaleSlope": 0, "RescaleIntercept": 5}, "blank_image", "all greys"),
            ({"WindowCenter": 30000, "WindowWidth": 10}, "blank_image", "all greys"),
        ],
    )
    def test_headers(self, film, tags, reason, told):
        found = refusal(film(RAMP, **tags))
        assert found[0] == reason
        assert told in found[1]

    @pytest.mark.parametrize(
        ("syntax", "reason", "told"),
        [
            (MPEG2MPML, "unsupported_format", "MPEG2"),
            ("1.2.3.4.5", "unsupported_format", "unknown; decompress it"),
            (HTJ2KLossless, "no_decoder", "decompress it"),
            (DeflatedExplicitVRLittleEndian, "unsupported_format", "deflated"),
        ],
    )
    def test_transfer_syntaxes(self, film, syntax, reason, told):
        path = film(RAMP)
        meta = dataset(RAMP, syntax=syntax).file_meta
        buffer = io.BytesIO()
        pydicom.filewriter.write_file_meta_info(buffer, meta)
        content = path.read_bytes()
        body = content[content.index(b"\x08\0\x90\0") :]  # the referring physician comes first
        path.write_bytes(b"\0" * 128 + b"DICM" + buffer.getvalue() + body)
        found = refusal(path)
        assert found[0] == reason
        assert told in found[1]

    @pytest.mark.parametrize(
        ("name", "reason", "told"),
        [
            ("MR_truncated.dcm", "unreadable_image", "truncated or damaged"),
            ("meta_missing_tsyntax.dcm", "unreadable_image", "does not name its transfer syntax"),
            ("rtplan.dcm", "unreadable_image", "holds no image"),
            ("examples_ybr_color.dcm", "unsupported_format", "30 frames"),
            ("image_dfl.dcm", "unsupported_format", "deflated"),
            ("rtstruct.dcm", "unsupported_format", "without its file meta information"),
        ],
    )
    def test_files_that_others_wrote(self, name, reason, told):
        found = refusal(bundled(name))
        assert found[0] == reason
        assert told in found[1]

    def test_preamble_is_needed(self, film):
        path = film(RAMP)
        path.write_bytes(path.read_bytes()[132:])
        reason, told = refusal(path)
        assert reason == "unsupported_format"
        assert told.startswith("DICOM without its preamble")


class TestPatient:
    def test_nothing_but_pixels_is_written(self, film):
        png = encode_png(decode(film(RAMP)))
        assert SECRET.encode() in film(RAMP).read_bytes()
        assert SECRET.encode() not in png
        assert set(chunks(png)) == {b"IHDR", b"IDAT", b"IEND"}
        with Image.open(io.BytesIO(png)) as image:
            assert image.info == {}

    @pytest.mark.parametrize(
        "tags",
        [
            {},
            {"WindowCenter": "1", "WindowWidth": "0"},
            {"PatientAge": "no age", "StudyDate": "no date", "SOPInstanceUID": "no uid"},
            {"PixelData": b"\0" * 10},
            {"PixelData": RAMP.tobytes() + b"\0" * 10},
            {"VOILUTSequence": table(range(1000))},
        ],
    )
    @pytest.mark.filterwarnings("ignore:Invalid value")  # of pydicom as the test writes the file
    def test_nothing_is_said_aloud(self, film, tags, caplog, capfd, monkeypatch):
        path = film(RAMP, **tags)
        caplog.clear()
        capfd.readouterr()
        caplog.set_level(logging.DEBUG)
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            told = detail(path)
        assert "Doe" not in told
        assert warned == []
        assert caplog.records == []
        assert capfd.readouterr() == ("", "")

    @settings(max_examples=60, deadline=None)
    @given(st.lists(st.tuples(st.integers(128, 900), st.integers(0, 255)), min_size=1, max_size=6))
    def test_damage_anywhere_ends_in_a_film_or_a_refusal_that_tells_nothing(self, tmp_path_factory, damage):
        buffer = io.BytesIO()
        pydicom.dcmwrite(buffer, dataset(RAMP), enforce_file_format=True)
        content = bytearray(buffer.getvalue())
        for place, value in damage:
            content[place] = value
        path = tmp_path_factory.mktemp("damaged") / "film.dcm"
        path.write_bytes(content)
        assert "Doe" not in detail(path)


def chunks(png):
    place = 8
    while place < len(png):
        (length,) = struct.unpack(">I", png[place : place + 4])
        yield png[place + 4 : place + 8]
        place += 12 + length


class TestSideBySide:
    def test_threads_leave_warnings_and_logs_as_they_were(self, film):
        path, logger = film(RAMP), logging.getLogger("pydicom")
        before = list(warnings.filters), logger.propagate
        with ThreadPoolExecutor(8) as pool:
            films = list(pool.map(decode, [path] * 40))
        assert all((each == films[0]).all() for each in films)
        assert (warnings.filters, logger.propagate) == before

    def test_another_process_can_do_it(self, film):
        path = film(RAMP)
        with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
            np.testing.assert_array_equal(pool.submit(decode, path).result(), decode(path))

    def test_a_refusal_can_be_sent(self, film):
        with pytest.raises(Refused) as error:
            decode(film(RAMP, NumberOfFrames=2))
        sent = pickle.loads(pickle.dumps(error.value))
        assert (sent.reason, sent.detail) == (error.value.reason, error.value.detail)
