"""Segments from tables, ELAN, Praat, Label Studio and CVAT: files as these tools write them."""

from __future__ import annotations

import json
import os

import pytest
from hypothesis import given
from hypothesis import strategies as st
from samples import write_segments
from walks import walk

from kerneton.data.segments import Segment
from kerneton.data.sequence import SkeletonSequence
from kerneton.exceptions import DataError, FormatError, KernetonError, MissingDataError
from kerneton.files.segments import read_segments, segments_beside, with_segments

WAVE, CLAP = Segment("wave", 30, 75), Segment("clap", 120, 150)

EAF = """<?xml version="1.0" encoding="UTF-8"?>
<ANNOTATION_DOCUMENT AUTHOR="" FORMAT="3.0" VERSION="3.0">
    <HEADER MEDIA_FILE="" TIME_UNITS="milliseconds"/>
    <TIME_ORDER>
        <TIME_SLOT TIME_SLOT_ID="ts1" TIME_VALUE="1000"/>
        <TIME_SLOT TIME_SLOT_ID="ts2" TIME_VALUE="2500"/>
        <TIME_SLOT TIME_SLOT_ID="ts3" TIME_VALUE="4000"/>
        <TIME_SLOT TIME_SLOT_ID="ts4" TIME_VALUE="5000"/>
        <TIME_SLOT TIME_SLOT_ID="ts5"/>
    </TIME_ORDER>
    <TIER LINGUISTIC_TYPE_REF="default-lt" TIER_ID="actions">
        <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a1" TIME_SLOT_REF1="ts1" TIME_SLOT_REF2="ts2">
            <ANNOTATION_VALUE>wave</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
        <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a2" TIME_SLOT_REF1="ts3" TIME_SLOT_REF2="ts4">
            <ANNOTATION_VALUE>clap</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
        <ANNOTATION><ALIGNABLE_ANNOTATION ANNOTATION_ID="a3" TIME_SLOT_REF1="ts4" TIME_SLOT_REF2="ts5">
            <ANNOTATION_VALUE>open</ANNOTATION_VALUE></ALIGNABLE_ANNOTATION></ANNOTATION>
    </TIER>
    <TIER LINGUISTIC_TYPE_REF="ref" PARENT_REF="actions" TIER_ID="hands">
        <ANNOTATION><REF_ANNOTATION ANNOTATION_ID="a4" ANNOTATION_REF="a1">
            <ANNOTATION_VALUE>left</ANNOTATION_VALUE></REF_ANNOTATION></ANNOTATION>
    </TIER>
</ANNOTATION_DOCUMENT>"""

TEXTGRID_LONG = """File type = "ooTextFile"
Object class = "TextGrid"

xmin = 0
xmax = 6
tiers? <exists>
size = 2
item []:
    item [1]:
        class = "IntervalTier"
        name = "actions"
        xmin = 0
        xmax = 6
        intervals: size = 3
        intervals [1]:
            xmin = 0
            xmax = 1
            text = ""
        intervals [2]:
            xmin = 1
            xmax = 2.5
            text = "wave"
        intervals [3]:
            xmin = 4
            xmax = 5
            text = "clap"
    item [2]:
        class = "TextTier"
        name = "points"
        xmin = 0
        xmax = 6
        points: size = 1
        points [1]:
            number = 3.5
            mark = "a ""quoted"" 7 mark"
"""

TEXTGRID_SHORT = """File type = "ooTextFile"
Object class = "TextGrid"

0
6
<exists>
1
"IntervalTier"
"actions"
0
6
2
1
2.5
"wave"
4
5
"clap"
"""

CVAT_VIDEO = """<?xml version="1.0" encoding="utf-8"?>
<annotations>
  <version>1.1</version>
  <meta><task><id>1</id><name>long</name><size>200</size><mode>interpolation</mode></task></meta>
  <track id="0" label="wave" source="manual">
    <box frame="30" outside="0" occluded="0" keyframe="1" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0"></box>
    <box frame="60" outside="0" occluded="0" keyframe="0" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0"></box>
    <box frame="75" outside="1" occluded="0" keyframe="1" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0"></box>
  </track>
  <track id="1" label="clap" source="manual">
    <box frame="120" outside="0" occluded="0" keyframe="1" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0"></box>
    <box frame="149" outside="0" occluded="0" keyframe="1" xtl="1" ytl="1" xbr="9" ybr="9" z_order="0"></box>
  </track>
</annotations>"""

CVAT_IMAGES = "<annotations><version>1.1</version>{}</annotations>".format(
    "".join(
        f'<image id="{t}" name="frame_{t:06d}" width="640" height="480">'
        + ("<tag label='wave' source='manual'></tag>" if 30 <= t < 75 else "")
        + ("<tag label='clap' source='manual'></tag>" if 120 <= t < 150 else "")
        + "</image>"
        for t in range(200)
    )
)


def label_studio(kind, *values):
    result = [
        {"id": "x", "type": kind, "value": {**value, kind: [label]}} for label, value in values
    ]
    cancelled = {
        "was_cancelled": True,
        "result": [{"type": kind, "value": {"start": 0, "end": 1, kind: ["no"]}}],
    }
    return json.dumps([{"id": 7, "data": {}, "annotations": [{"result": result}, cancelled]}])


FORMS = {
    "frames.csv": "label,start,stop\nwave,30,75\nclap,120,150\n",
    "inclusive.csv": "Label;First;Last\nwave;30;74\nclap;120;149\n",
    "seconds.tsv": "start_s\tstop_s\taction\n1.0\t2.5\twave\n4\t5\tclap\n",
    "per_frame.csv": "label\n" + "none\n" * 30 + "wave\n" * 45 + "none\n" * 45 + "clap\n" * 30,
    "numbered.csv": "frame,label\n"
    + "".join(f"{t},wave\n" for t in range(30, 75))
    + "".join(f"{t},clap\n" for t in range(120, 150)),
    "bom.csv": "\ufefflabel,start,stop\r\nwave,30,75\r\nclap,120,150\r\n",
    "long.TextGrid": TEXTGRID_LONG,
    "short.TextGrid": TEXTGRID_SHORT,
    "video.xml": CVAT_VIDEO,
    "images.xml": CVAT_IMAGES,
    "timeline.json": label_studio(
        "timelinelabels",
        ("wave", {"ranges": [{"start": 31, "end": 75}]}),
        ("clap", {"ranges": [{"start": 121, "end": 150}]}),
    ),
    "series_frames.json": label_studio(
        "timeserieslabels", ("wave", {"start": 30, "end": 74}), ("clap", {"start": 120, "end": 149})
    ),
    "series_seconds.json": label_studio(
        "timeserieslabels", ("wave", {"start": 1.0, "end": 2.5}), ("clap", {"start": 4, "end": 5})
    ),
    "audio.json": label_studio(
        "labels", ("wave", {"start": 1, "end": 2.5}), ("clap", {"start": 4, "end": 5})
    ),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_segments(tmp_path, name):
    (tmp_path / name).write_text(FORMS[name], encoding="utf-8")
    found = read_segments(tmp_path / name, fps=30)[""]
    assert tuple(s for s in found if not s.is_point) == (WAVE, CLAP)


def test_tiers_of_points_are_read_as_points(tmp_path):
    (tmp_path / "long.TextGrid").write_text(TEXTGRID_LONG)
    (found,) = read_segments(tmp_path / "long.TextGrid", fps=30, tier="points")[""]
    assert found == Segment.at('a "quoted" 7 mark', 105)


def test_elan_tiers(tmp_path):
    (tmp_path / "long.eaf").write_text(EAF)
    assert read_segments(tmp_path / "long.eaf", fps=30, tier="actions") == {"": (WAVE, CLAP)}
    assert read_segments(tmp_path / "long.eaf", fps=30, tier="hands") == {
        "": (Segment("left", 30, 75),)
    }
    assert len(read_segments(tmp_path / "long.eaf", fps=30)[""]) == 3
    with pytest.raises(FormatError, match="no tier 'feet'; there are actions, hands"):
        read_segments(tmp_path / "long.eaf", fps=30, tier="feet")


@pytest.mark.parametrize("name", ["seconds.tsv", "long.TextGrid", "audio.json"])
def test_seconds_need_a_frame_rate_said_once(tmp_path, name):
    (tmp_path / name).write_text(FORMS[name])
    with pytest.raises(FormatError, match="frame rate is needed") as error:
        read_segments(tmp_path / name)
    assert str(error.value).count("frame rate") == 1


def test_utf_16_textgrid(tmp_path):
    (tmp_path / "wide.TextGrid").write_bytes(TEXTGRID_LONG.encode("utf-16"))
    assert read_segments(tmp_path / "wide.TextGrid", fps=30, tier="actions") == {"": (WAVE, CLAP)}


def test_recordings_by_file_name(tmp_path):
    table = tmp_path / "segments.csv"
    table.write_text("file,label,start,stop\nsub/a.bvh,wave,1,5\nb,clap,2,6\na.bvh,clap,7,9\n")
    a, b, c = (SkeletonSequence(walk(20), name=n, fps=30) for n in "abc")
    found = with_segments([a, b, c], table)
    assert [len(r.segments) for r in found] == [2, 1, 0]
    with pytest.raises(DataError, match="segments of b, which are not among"):
        with_segments([a, c], table)
    (tmp_path / "one.csv").write_text("label,start,stop\nwave,1,5\n")
    assert with_segments([a], tmp_path / "one.csv")[0].segments == (Segment("wave", 1, 5),)
    with pytest.raises(DataError, match="no column names the recording, but there are 2"):
        with_segments([a, b], tmp_path / "one.csv")


def test_the_recordings_own_frame_rate_counts(tmp_path):
    (tmp_path / "s.csv").write_text("label,start_s,stop_s\nwave,1,2\n")
    long = SkeletonSequence(walk(90), name="long", fps=20)
    assert with_segments([long], tmp_path / "s.csv")[0].segments == (Segment("wave", 20, 40),)


def test_files_beside_a_recording(tmp_path):
    recording = tmp_path / "long.bvh"
    assert segments_beside(recording) is None
    (tmp_path / "segments.csv").write_text("file,label,start,stop\nother.bvh,wave,1,5\n")
    assert segments_beside(recording) is None
    (tmp_path / "segments.csv").write_text("file,label,start,stop\nlong.bvh,wave,1,5\n")
    assert segments_beside(recording) == tmp_path / "segments.csv"
    write_segments(tmp_path / "long.segments.csv", [WAVE])
    assert segments_beside(recording) == tmp_path / "long.segments.csv"


def test_what_is_written_comes_back(tmp_path):
    odd = Segment('says "no", twice; ü', 3, 4)
    write_segments(tmp_path / "s.csv", [WAVE, odd])
    assert set(read_segments(tmp_path / "s.csv")[""]) == {WAVE, odd}


BOMB = '<?xml version="1.0"?><!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><annotations>&b;</annotations>'


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the file is empty"),
        ("a,b,c\n1,2,3\n", "expected a header such as label,start,stop"),
        ("label,start,stop\nwave,x,5\n", r"line 2: expected a whole frame number, got 'x'"),
        ("label,start,stop\nwave,1.5,5\n", "whole frame number, got '1.5'"),
        ("label,start,stop\nwave,9,5\nclap,-1,4\n", r"line 2: segment 'wave': .* 9 to 5; line 3: "),
        ("label,start,stop\nwave,inf,5\n", "whole frame number"),
        ("label,frame\nwave,3\nwave,3\n", "frame 3 occurs twice"),
        ("label,frame\nwave,x\n", "frame x is not a whole number"),
        (BOMB, "a document type declaration is refused"),
        ("<annotations>", "damaged XML"),
        ("<a>" * 100 + "</a>" * 100, "more than 64 deep"),
        ("<svg></svg>", "expected an ELAN or CVAT file"),
        ("<annotations><track label='a'><box frame='-3'/></track></annotations>", "got '-3'"),
        (
            'File type = "ooTextFile"\nObject class = "TextGrid"\n0\n6\n<exists>\n1\n"IntervalTier"',
            "is cut off",
        ),
        ('File type = "ooTextFile"\nObject class = "Pitch"\n', "not a TextGrid"),
        ("[" * 100_000, "damaged JSON"),
        ("{}", "expected an export of Label Studio"),
        (
            '[{"annotations": [{"result": [{"type": "labels", "value": {"start": "x"}}]}]}]',
            "number as 'start'",
        ),
        (
            json.dumps(
                [{"annotations": [{"result": [{"type": "labels", "value": {"start": 10**4000}}]}]}]
            ),
            "'start' is 1000.*, which is not a valid time",
        ),
    ],
)
def test_faults_are_named(tmp_path, text, message):
    file = tmp_path / "long.segments"
    file.write_text(text)
    with pytest.raises(FormatError, match=message):
        read_segments(file, fps=30)


def test_absent_and_oversized_files(tmp_path, monkeypatch):
    with pytest.raises(MissingDataError, match=r"none\.csv: no such file"):
        read_segments(tmp_path / "none.csv")
    with (tmp_path / "huge.csv").open("wb") as file:
        file.truncate((1 << 26) + 1)  # a hole: takes no space on the disk
    with pytest.raises(FormatError, match="larger than 64 MiB"):
        read_segments(tmp_path / "huge.csv")
    with pytest.raises(MissingDataError, match="cannot be read"):
        read_segments("a\0b.csv")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes here")
def test_pipes_and_devices_are_not_waited_for(tmp_path):
    os.mkfifo(tmp_path / "pipe.csv")
    for path in (tmp_path / "pipe.csv", "/dev/zero"):
        with pytest.raises(MissingDataError, match="a device, pipe or socket"):
            read_segments(path)


def label_studio(labels, ranges):
    value = {"timelinelabels": labels, "ranges": ranges}
    result = [{"type": "timelinelabels", "value": value}]
    return [{"data": {"video": "long.mp4"}, "annotations": [{"result": result}]}]


def test_labels_times_ranges_are_bounded_by_the_text(tmp_path):
    """A small file whose every label is repeated for every range: a million segments of 30 kB."""
    ranges = [{"start": i, "end": i + 1} for i in range(1, 900)]
    (tmp_path / "product.json").write_text(json.dumps(label_studio(["a"] * 900, ranges)))
    with pytest.raises(FormatError, match="that describe more than"):
        read_segments(tmp_path / "product.json")


def test_labels_that_are_half_a_character(tmp_path):
    task = label_studio(["half \ud800"], [{"start": 1, "end": 5}])
    (tmp_path / "half.json").write_text(json.dumps(task))
    (segment,) = read_segments(tmp_path / "half.json")["long"]
    assert segment.label == "half \\ud800"


@given(st.sampled_from(sorted(FORMS)), st.integers(0, 10_000), st.binary(min_size=1, max_size=8))
def test_damage_never_ends_in_a_traceback(tmp_path_factory, name, at, junk):
    data = bytearray(FORMS[name].encode())
    at %= len(data)
    data[at : at + len(junk)] = junk
    file = tmp_path_factory.mktemp("damage") / name
    file.write_bytes(bytes(data))
    try:
        for segments in read_segments(file, fps=30).values():
            assert all(isinstance(s, Segment) for s in segments)
    except KernetonError:
        pass
