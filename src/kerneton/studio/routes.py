"""The HTTP interface of the page: one function per address."""

from __future__ import annotations

import base64
import json
import os
import tempfile
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np
from starlette.background import BackgroundTask
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response
from starlette.routing import Route, WebSocketRoute

from kerneton.data.layouts import MEDIAPIPE_33
from kerneton.exceptions import MissingDataError, ParameterError
from kerneton.files.readers import FORMATS
from kerneton.stream import executions
from kerneton.studio import folders, origin, share, sockets, uploads
from kerneton.studio.clips import clip_paths, stored_segments
from kerneton.studio.demo import add_demo
from kerneton.studio.posing import commands_to_get
from kerneton.studio.recording_info import THUMB_FRAMES, motion, sides
from kerneton.studio.server import MAX_CONNECTIONS, Studio
from kerneton.studio.warnings import warnings_of

CAMERA_BODY = {
    "joints": MEDIAPIPE_33.joints,
    "bones": MEDIAPIPE_33.bones,
    "sides": sides(MEDIAPIPE_33, 33),
}
_LONG = 2.5  # times a typical training recording: longer ones are searched for segments
_PART = 4  # recordings per request for suggestions: live labels are answered in between
Job = Callable[[Studio, dict[str, Any]], Any]


def routes(studio: Studio) -> list[Any]:
    """All addresses below ``/api/``."""

    def get(path: str, job: Job) -> Route:
        async def handle(request: Request) -> Response:
            if path not in ("state", "folders"):  # which says what is wrong
                studio.library.place.check_there()
            return _answer(await run_in_threadpool(job, studio, dict(request.query_params)))

        return Route(f"/api/{path}", handle, methods=["GET"])

    def post(path: str, job: Job) -> Route:
        async def handle(request: Request) -> Response:
            if path != "folders":  # another one helps
                studio.library.place.check_there()
            text = await request.body()
            try:
                body = json.loads(text) if text else {}
            except (ValueError, RecursionError) as error:
                raise ParameterError(f"not JSON: {error}") from error
            if not isinstance(body, dict):
                raise ParameterError(f"expected an object, got {type(body).__name__}")
            return _answer(await run_in_threadpool(job, studio, body))

        return Route(f"/api/{path}", handle, methods=["POST"])

    async def file(request: Request) -> Response:
        name, wanted = request.path_params["name"], request.path_params["file"]
        if wanted not in ("model.kern", "report.html"):
            raise MissingDataError(f"{wanted[:40]!r}: no such file")
        path = studio.models.path(name, wanted)
        return FileResponse(
            path, filename=f"{name}-{wanted}", media_type="application/octet-stream"
        )

    return [
        get("state", _state),
        get("recordings", _recordings),
        get("motion", lambda s, q: motion(s.library.sequence(q.get("id", "")))),
        post("thumbs", _thumbs),
        post("assign", _assign),
        post("annotate", _annotate),
        post("rename", _rename),
        post("trim", _trim),
        post("remove", lambda s, q: {"moved": s.library.remove(_ids(q))}),
        post("undo", lambda s, _: _turned(s.library.journal.done, s.library.undo)),
        post("redo", lambda s, _: _turned(s.library.journal.undone, s.library.redo)),
        post("refresh", _refresh),
        post("recorded", lambda s, q: {"id": uploads.recorded(s.library, q)}),
        get("folders", lambda s, _: {"open": str(s.library.root), "recent": origin.recent()}),
        post("folders", _open_folder),
        post("takeover", lambda s, _: s.library.take_over()),
        post("demo", lambda s, _: {"added": add_demo(s.library)}),
        post("train", lambda s, _: s.training.start()),
        post("train/stop", lambda s, _: s.training.stop()),
        get("models", lambda s, _: {"models": s.models.listing(), "present": s.models.present}),
        post("models/present", _choose_model),
        post("models/title", _entitle),
        post("models/remove", lambda s, q: s.models.remove(str(q.get("name")))),
        get("models/page", _page),
        post("suggest", _suggest),
        post("segments", _segments),
        post("why", _why),
        post("executions", _executions),
        post("compare", _compare),
        get("film", _film),
        get("export", _export),
        get("seen", _seen),
        Route("/api/uploads/{batch}", partial(_upload, studio), methods=["PUT"]),
        post("uploads/commit", _commit),
        Route("/api/models/{name}/{file}", file, methods=["GET"]),
        Route("/api/stream", sockets.stream_receiver(studio), methods=["POST"]),
        WebSocketRoute("/api/events", sockets.events(studio)),
        WebSocketRoute("/api/live", sockets.live(studio)),
        WebSocketRoute("/api/camera", sockets.camera(studio)),
        WebSocketRoute("/api/told", sockets.outgoing(studio.events.listen, studio.events.leave)),
    ]


def _answer(result: Any) -> Response:
    if isinstance(result, Response):
        return result
    return JSONResponse({} if result is None else result)


def _state(studio: Studio, _: dict[str, Any]) -> dict[str, Any]:
    return {
        **studio.pulse(),
        "name": studio.library.root.name,
        "shell": _shell(str(studio.library.root)),
        "pose_commands": commands_to_get(),
        "films": FORMATS["film"].suffixes,
        "camera_body": CAMERA_BODY,
        "max_upload": studio.max_upload,
        "max_connections": MAX_CONNECTIONS,
        "present": studio.models.present,
    }


def _shell(folder: str) -> str | None:
    """The kind of shell for which commands with this folder are shown; None if no quotes can hold
    it safely.
    """
    if not folder.isprintable():  # text that is pasted can hold keys of the terminal
        return None
    if os.name != "nt":
        return "posix"
    return None if set(folder) & set('%"!^`$') else "windows"


def _recordings(studio: Studio, _: dict[str, Any]) -> dict[str, Any]:
    library = studio.library
    with library.lock:
        records, broken, version = (
            list(library.records.values()),
            dict(library.broken),
            library.version,
        )
        edits = {id: dict(fields) for id, fields in library.journal.edits.items()}
    found = warnings_of(records)
    cuts = {path: source for path, (source, _) in clip_paths(edits).items()}
    rows = [
        {
            "id": record.id,
            "label": record.label,
            "subject": record.subject,
            "frames": record.info.n_frames,
            "fps": record.info.fps,
            "joints": record.info.n_joints,
            "layout": record.info.layout,
            "missing": round(record.info.missing, 4),
            "warnings": found.get(record.id, []),
            "note": edits.get(record.id, {}).get("note", ""),
            "segments": edits.get(record.id, {}).get("segments") or stored_segments(record.info),
            "source": cuts.get(record.id),
            "film": library.film_of(record.id) if library.has_films else None,
        }
        for record in records
    ]
    return {"version": version, "recordings": rows, "broken": broken}


def _thumbs(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    out = {}
    for id in _ids(body)[:200]:
        record = studio.library.records.get(id)
        if record is not None:
            info = record.info
            out[id] = {
                "frames": THUMB_FRAMES,
                "joints": info.n_joints,
                "bones": info.bones,
                "sides": info.sides,
                "seconds": info.n_frames / (info.fps or 30.0),
                "points": base64.b64encode(info.thumb).decode(),
            }
    return out


def _ids(body: dict[str, Any]) -> list[str]:
    ids = body.get("ids")
    if not isinstance(ids, list) or not all(isinstance(id, str) for id in ids) or len(ids) > 20_000:
        raise ParameterError("expected ids, a list of recordings")
    return ids


def _id(body: dict[str, Any]) -> str:
    if not isinstance(body.get("id"), str):
        raise ParameterError("expected id, a recording")
    return str(body["id"])


def _assign(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    changes = {field: body[field] for field in ("label", "subject") if field in body}
    if not changes:
        raise ParameterError("expected a label or a subject")
    known = {r.label for r in studio.library.records.values()} - {None}
    people = {r.subject for r in studio.library.records.values()} - {None}
    moved = studio.library.assign(_ids(body), **changes)
    alike = []
    for name, others in ((body.get("label"), known), (body.get("subject"), people)):
        if isinstance(name, str) and name.strip() not in others:
            other = folders.look_alike(name.strip(), sorted(map(str, others)))
            alike += [[name, other]] if other else []
    return {"moved": moved, "alike": alike}


def _open_folder(studio: Studio, body: dict[str, Any]) -> None:
    folder = body.get("folder")
    if not isinstance(folder, str) or not folder.strip() or "\0" in folder:
        raise ParameterError("expected a folder, its path")
    studio.open(Path(folder.strip()))


def _rename(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    names = [body.get(key) for key in ("field", "old", "new")]
    if not all(isinstance(name, str) for name in names):
        raise ParameterError("expected field, old and new, each text")
    return {"moved": studio.library.rename(*map(str, names))}


def _trim(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    start, stop = body.get("start"), body.get("stop")
    if not (type(start) is type(stop) is int):
        raise ParameterError("expected start and stop, frames of the recording")
    return {"moved": studio.library.trim(_id(body), start, stop)}


def _turned(actions: list[Any], turn: Callable[[], dict[str, str] | None]) -> dict[str, Any]:
    """Undo or redo: what it was, and of how many recordings."""
    action = actions[-1] if actions else None
    moved = turn()
    if moved is None or action is None:
        return {"moved": None}
    ids = {(step.get("move") or step["edit"])[0] for step in action["steps"]}
    return {"moved": moved, "what": action["what"], "n": len(ids), "first": min(ids)}


def _annotate(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    note = body.get("note")
    if note is not None and not isinstance(note, str):
        raise ParameterError("a note must be text")
    return {"moved": studio.library.annotate(_id(body), note=note, segments=body.get("segments"))}


def _refresh(studio: Studio, _: dict[str, Any]) -> None:
    threading.Thread(target=studio.library.scan, daemon=True).start()


def _choose_model(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    studio.models.choose(None if body.get("name") is None else str(body["name"]))
    threading.Thread(target=studio.load_model, daemon=True).start()
    return {"present": studio.models.present}


def _entitle(studio: Studio, body: dict[str, Any]) -> None:
    if not isinstance(body.get("title"), str):
        raise ParameterError("expected a title, text")
    studio.models.entitle(str(body.get("name")), body["title"])


def _suggest(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """Labels for recordings, the least certain first."""
    model, figures = studio.models.figures()
    ids = [id for id in _ids(body) if id in studio.library.records][:500]
    longest = _LONG * float(figures.get("frames", np.inf))
    short = [id for id in ids if studio.library.record(id).info.n_frames <= longest]
    found = []
    for i in range(0, len(short), _PART):
        found += studio.worker.answers(
            model, [studio.library.sequence(id) for id in short[i : i + _PART]]
        )
    rows = [{"id": id, **answer} for id, answer in zip(short, found, strict=True)]
    return {
        "suggestions": sorted(rows, key=lambda row: (not row["unknown"], row["margin"])),
        "long": [id for id in ids if id not in set(short)],
    }


def _segments(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    model, _ = studio.models.figures()
    return {"segments": studio.worker.segments(model, studio.library.sequence(_id(body)))}


def _why(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """The prediction for a recording, and why: in words, by joint, and by joint at each frame."""
    model, _ = studio.models.figures()
    sequence = studio.library.sequence(_id(body))
    answer = studio.worker.answers(model, [sequence])[0]
    return {**answer, **studio.worker.reasons(model, sequence, answer["label"])}


def _executions(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """The repetitions of a recording, with ``chosen`` each compared with that one."""
    sequence, chosen = studio.library.sequence(_id(body)), body.get("chosen")
    found = executions.repetitions(sequence)
    if chosen is not None and not (type(chosen) is int and 0 <= chosen < len(found)):
        raise ParameterError(f"chosen: expected one of {len(found)} repetitions")
    return executions.told(found, sequence, chosen)


def _compare(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    """Two recordings, or parts of them, aligned in time: for each frame of the first, the frame of
    the second and the distance of every joint, in metres.
    """
    parts = []
    for key in ("first", "second"):
        given = body.get(key)
        if not isinstance(given, dict):
            raise ParameterError("expected first and second, each with an id")
        sequence = studio.library.sequence(_id(given))
        start, stop = given.get("start", 0), given.get("stop", sequence.n_frames)
        if not (type(start) is type(stop) is int and 0 <= start < stop <= sequence.n_frames):
            raise ParameterError(f"{key}: frames {start} to {stop} of {sequence.n_frames}")
        parts.append(sequence.cut(start, stop))
    found = executions.align(*parts)
    at, distances = found.by_frame()
    return {
        "at": at.tolist(),
        "names": list(found.joints),
        "moments": np.round(distances, 3).tolist(),
        "joints": {name: round(value, 3) for name, value in found.by_joint().items()},
        "mean": round(found.mean, 3),
        "seconds": [s.n_frames / (s.fps or 30.0) for s in parts],
    }


def _export(studio: Studio, body: dict[str, Any]) -> Response:
    ending = share.check_format(body.get("format"))
    suffix = {"csv": "zip", "parcel": "zip", "segments": "segments.csv"}.get(ending, ending)
    name = f"{studio.library.root.name}.{suffix}"
    return _download(name, lambda path: share.export(studio.library, ending, path))


def _page(studio: Studio, body: dict[str, Any]) -> Response:
    """The web page of a model, as a zip."""
    name = str(body.get("name"))
    model = studio.models.path(name)
    return _download(f"{name}-page.zip", lambda path: studio.worker.page(model, path))


def _download(filename: str, make: Callable[[Path], None]) -> Response:
    """A file that is made for this answer and removed after it."""
    handle, made = tempfile.mkstemp(suffix=Path(filename).suffix)
    os.close(handle)
    path = Path(made)
    try:
        make(path)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    return FileResponse(
        path,
        filename=filename,
        media_type="application/octet-stream",
        background=BackgroundTask(path.unlink, missing_ok=True),
    )


def _film(studio: Studio, body: dict[str, Any]) -> Response:
    """The film of a recording, of which the browser asks for the parts that it plays."""
    found = studio.library.film_of(_id(body))
    if found is None or not studio.library.place.is_file(found[0]):
        raise MissingDataError("this recording has no film")
    return FileResponse(studio.library.root / found[0])


def _seen(studio: Studio, _: dict[str, Any]) -> Response:
    """All that was seen live, as a table."""
    if not studio.events.segments:
        raise MissingDataError("nothing was seen live yet")
    return Response(studio.events.table(), media_type="text/csv")


async def _upload(studio: Studio, request: Request) -> Response:
    """One uploaded file, written while it arrives; whole or not at all."""
    batch, place = request.path_params["batch"], studio.library.place
    target = uploads.staging_path(studio.library, batch, request.query_params.get("path", ""))
    folder = uploads.batch_folder(batch)
    before = sum(path.stat().st_size for path in place.folder(folder).rglob("*") if path.is_file())
    if before > uploads.MAX_BATCH:
        return JSONResponse(
            {"error": f"at most {uploads.MAX_BATCH >> 30} GiB are accepted in one drop"}, 413
        )
    with place.writing(target) as file:
        async for chunk in request.stream():
            file.write(chunk)
    return JSONResponse({"path": PurePosixPath(target).relative_to(folder).as_posix()})


def _commit(studio: Studio, body: dict[str, Any]) -> dict[str, Any]:
    names = {key: body.get(key) for key in ("label", "subject")}
    return uploads.take_in(studio.library, str(body.get("batch")), **names)
