"""Films that the tests encode themselves: times, rotation, limits, and everything that is not a
film.
"""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from films_made import write_film

import kerneton
from kerneton.exceptions import FormatError, MissingDataError
from kerneton.video import films
from kerneton.video.films import Film, decoded_picture, is_film

av = pytest.importorskip("av", reason="PyAV is not installed: pip install 'kerneton[video]'")


def pictures(path):
    with Film(path) as film:
        return list(film.pictures()), film.warnings


def test_pictures_and_times(tmp_path):
    found, told = pictures(write_film(tmp_path / "film.mp4"))
    assert [p.pixels.shape for p in found] == [(48, 64, 4)] * 20
    assert np.allclose([p.time for p in found], np.arange(20) / 20, atol=2e-3)
    assert abs(int(found[7].pixels[40, 50, 0]) - 70) < 8
    assert found[7].pixels[4, 4, 0] > 180 > 60 > found[7].pixels[4, 4, 1]
    assert told == []


def test_variable_rates_keep_their_times(tmp_path):
    times = [0, 0.02, 0.05, 0.2, 0.21, 0.6]
    found, _ = pictures(write_film(tmp_path / "film.mkv", times))
    assert np.allclose([p.time for p in found], times, atol=2e-3)


def test_pictures_of_phones_are_turned_upright(tmp_path):
    """MP4 states the turn as a matrix in the track header: the red quarter moves as a player shows
    it.
    """
    path = write_film(tmp_path / "film.mp4")
    data = path.read_bytes()
    unity = b"".join(v.to_bytes(4, "big") for v in (1 << 16, 0, 0, 0, 1 << 16, 0, 0, 0, 1 << 30))
    place = data.index(unity, data.index(b"tkhd"))
    minus = (1 << 32) - (1 << 16)
    clockwise = (0, 1 << 16, 0, minus, 0, 0, 48 << 16, 0, 1 << 30)  # x' = 48 - y, y' = x
    turned = b"".join(v.to_bytes(4, "big") for v in clockwise)
    path.write_bytes(data[:place] + turned + data[place + len(unity) :])
    found, _ = pictures(path)
    assert found[0].pixels.shape == (64, 48, 4)
    red = found[15].pixels[..., 0].astype(int) - found[15].pixels[..., 1]
    quarters = {(i, j): red[32 * i :, 24 * j :][4:28, 4:20].mean() for i in (0, 1) for j in (0, 1)}
    assert max(quarters, key=quarters.get) == (0, 1)  # upper left became upper right


def test_large_pictures_are_made_smaller(tmp_path):
    found, _ = pictures(write_film(tmp_path / "film.mp4", size=(3840, 2160), n=2))
    assert found[0].pixels.shape == (1080, 1920, 4)


def test_a_film_that_ends_early_is_read_as_far_as_it_goes(tmp_path):
    path = write_film(tmp_path / "film.mkv", n=60, size=(160, 120))
    data = path.read_bytes()
    path.write_bytes(data[: len(data) // 2])
    found, told = pictures(path)
    assert 10 < len(found) < 50
    assert any("ends early" in message for message in told)


def test_damaged_parts_are_skipped(tmp_path):
    path = write_film(tmp_path / "film.mkv", n=60, size=(160, 120))
    data = bytearray(path.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 400] = bytes(400)
    path.write_bytes(data)
    found, _ = pictures(path)
    assert len(found) > 20


def sound(path: Path) -> Path:
    with av.open(str(path), "w") as out:
        stream = out.add_stream("aac", rate=44100)
        for _ in range(5):
            frame = av.AudioFrame.from_ndarray(
                np.zeros((1, 1024), np.float32), format="fltp", layout="mono"
            )
            frame.sample_rate = 44100
            out.mux(stream.encode(frame))
        out.mux(stream.encode(None))
    return path


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("film.mp4", b"", "an empty file"),
        ("film.mp4", b"\0\0\0\x18ftypisom" + bytes(500), "not a film that can be read"),
        ("film.mkv", b"\x1aE\xdf\xa3" + bytes(100), "not a film that can be read"),
        ("list.m3u8", b"#EXTM3U\n#EXTINF:1,\nother.ts\n", "not a film that can be read"),
        ("list.ffconcat", b"ffconcat version 1.0\nfile other.mp4\n", "not a film that can be read"),
        ("picture.gif", b"GIF89a" + bytes(200), "not a film that can be read"),
        ("picture.png", b"\x89PNG\r\n\x1a\n" + bytes(200), "not a film that can be read"),
    ],
)
def test_what_is_not_a_film_is_one_error(tmp_path, name, content, told):
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(FormatError, match=told) as error:
        pictures(path)
    assert str(path) in str(error.value)


def test_a_playlist_leads_nowhere(tmp_path):
    """FFmpeg follows playlists; here even a good one is no film."""
    write_film(tmp_path / "good.mp4")
    (tmp_path / "list.ffconcat").write_text(f"ffconcat version 1.0\nfile {tmp_path / 'good.mp4'}\n")
    with pytest.raises(FormatError, match="not a film"):
        pictures(tmp_path / "list.ffconcat")


def test_sound_alone(tmp_path):
    with pytest.raises(FormatError, match="no pictures in this film, only audio"):
        pictures(sound(tmp_path / "film.mp4"))


def test_no_file(tmp_path):
    with pytest.raises(MissingDataError, match="no such file"):
        pictures(tmp_path / "none.mp4")


def test_limits_are_errors_before_anything_is_decoded(tmp_path, monkeypatch):
    path = write_film(tmp_path / "film.mp4")
    with pytest.raises(FormatError, match="pictures of 8 x 8"):
        films.check_size(path, 8, 8)
    with pytest.raises(FormatError, match="pictures of 30000 x 30000"):
        films.check_size(path, 30000, 30000)
    monkeypatch.setattr(films, "MOST_FRAMES", 10)
    with pytest.raises(
        FormatError, match=r"too long: .* at most 2 hours and 10 pictures are read, cut it first"
    ):
        pictures(path)


def test_a_film_longer_than_it_states_is_read_up_to_the_limit(tmp_path, monkeypatch):
    path = write_film(tmp_path / "film.avi", n=40)
    monkeypatch.setattr(Film, "_check", unlimited(Film._check))
    monkeypatch.setattr(films, "MOST_FRAMES", 30)
    found, told = pictures(path)
    assert len(found) == 30
    assert told == ["only the first 30 pictures were read, 1 seconds"]


def unlimited(check):
    def checked(film):
        check(film)
        film.stated_frames = 0

    def lying(film):
        limit, films.MOST_FRAMES = films.MOST_FRAMES, 1 << 40
        try:
            checked(film)
        finally:
            films.MOST_FRAMES = limit

    return lying


def test_ten_hours_are_refused_by_what_the_film_states(tmp_path):
    path = write_film(tmp_path / "long.mkv", times=[0, 36_000])
    with pytest.raises(FormatError, match=r"too long: 10\.0 hours"):
        pictures(path)


def test_pixels_of_all_pictures_are_limited(tmp_path, monkeypatch):
    path = write_film(tmp_path / "film.mkv")
    monkeypatch.setattr(films, "MOST_IN_ALL", 7 * 64 * 48)
    found, told = pictures(path)
    assert len(found) == 7
    assert told[0].startswith("only the first 7 pictures were read")


def test_pictures_that_grow_inside_a_film_take_no_memory(tmp_path, monkeypatch):
    """The decoder itself refuses them, before it makes room."""
    path = write_film(tmp_path / "film.mkv")
    monkeypatch.setattr(films, "MOST_PIXELS", 1000)
    monkeypatch.setattr(films, "check_size", lambda *_: None)
    with pytest.raises(FormatError, match="no picture in this film can be decoded"):
        pictures(path)


def test_a_film_without_pictures_in_its_stream(tmp_path):
    data = write_film(tmp_path / "film.mkv").read_bytes()
    path = tmp_path / "empty.mkv"
    path.write_bytes(data[: data.index(b"\x1f\x43\xb6\x75")])  # the first cluster
    with pytest.raises(FormatError, match=r"empty\.mkv: (no picture|not a film)"):
        pictures(path)


def test_a_codec_without_a_decoder(tmp_path):
    path = write_film(tmp_path / "film.mkv")
    data = path.read_bytes()
    assert b"V_MPEG4/ISO/ASP" in data
    path.write_bytes(data.replace(b"V_MPEG4/ISO/ASP", b"V_NOBODY/KNOWS1"))
    with pytest.raises(FormatError, match="its codec is unknown to this FFmpeg; convert the film"):
        pictures(path)


@pytest.mark.parametrize("length", [1, 3_000_000])
def test_a_length_that_is_a_lie(tmp_path, length):
    """Matroska states its length in milliseconds: too short is read on, too long is refused."""
    path = write_film(tmp_path / "film.mkv", n=60)
    data = path.read_bytes()
    place = data.index(b"\x44\x89\x88") + 3
    path.write_bytes(data[:place] + struct.pack(">d", 1000.0 * length) + data[place + 8 :])
    if length == 1:
        found, told = pictures(path)
        assert (len(found), told) == (60, [])
    else:
        with pytest.raises(FormatError, match=r"too long: 833\.3 hours"):
            pictures(path)


def animation() -> bytes:
    """The head of an animated WebP picture."""
    extended = b"VP8X" + struct.pack("<I", 10) + bytes([2, 0, 0, 0, 63, 0, 0, 47, 0, 0])
    frames = b"ANIM" + struct.pack("<I", 6) + bytes(6)
    return b"RIFF" + struct.pack("<I", 4 + len(extended + frames)) + b"WEBP" + extended + frames


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("wave.webp", animation()),
        ("wave.gif", b"GIF89a" + bytes(200)),
        ("wave.png", b"\x89PNG\r\n\x1a\n" + bytes(200)),
        ("wave.jpg", b"\xff\xd8\xff\xe0" + bytes(200)),
    ],
)
@pytest.mark.parametrize("ending", ["", ".mp4"])
def test_pictures_are_no_films(tmp_path, name, content, ending):
    """Whatever they are called."""
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=r"wave\..*(a picture, moving or not|not a film)"):
        kerneton.read(path)


def test_the_beginning_tells_films_from_other_files(tmp_path):
    for name, codec in (("a.mp4", "mpeg4"), ("a.mkv", "mpeg4"), ("a.avi", "mpeg4"), ("a.mpg", "mpeg1video"),
                        ("a.ts", "mpeg4"), ("a.flv", "flv"), ("a.mov", "mpeg4")):  # fmt: skip
        rate = 25
        path = write_film(tmp_path / name, codec=codec, rate=rate)
        assert is_film(path.read_bytes()[:4096]), name
    assert not is_film(b"0.1 0.2 0.3\n")
    assert not is_film(b"\0\0\0\x18ftypheic")
    assert not is_film(b"GIF89a")


def test_pictures_in_memory(tmp_path):
    with av.open(str(tmp_path / "one.jpg"), "w", format="mjpeg") as out:
        stream = out.add_stream("mjpeg", rate=1)
        stream.width, stream.height, stream.pix_fmt = 64, 48, "yuvj420p"
        frame = av.VideoFrame.from_ndarray(np.full((48, 64, 3), 90, np.uint8), format="rgb24")
        out.mux(stream.encode(frame.reformat(format="yuvj420p")))
        out.mux(stream.encode(None))
    pixels = decoded_picture((tmp_path / "one.jpg").read_bytes())
    assert pixels.shape == (48, 64, 4)
    assert abs(pixels[..., :3].mean() - 90) < 3
    with pytest.raises(ValueError, match="cannot be decoded"):
        decoded_picture(b"\xff\xd8\xff" + bytes(100))
