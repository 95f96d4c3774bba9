"""The studio's web server: one folder, one token, reachable from this machine only."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
import socket
import threading
import webbrowser
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

from kerneton.exceptions import KernetonError, MissingDataError, ParameterError, import_extra
from kerneton.files.output import lock
from kerneton.studio import origin, uploads
from kerneton.studio.events import Events
from kerneton.studio.folders import STUDIO
from kerneton.studio.library import Library, reason
from kerneton.studio.live import DOUBT, Frame, replayed
from kerneton.studio.models import Models
from kerneton.studio.place import Place
from kerneton.studio.posing import Poses
from kerneton.studio.training import Training
from kerneton.studio.uploads import MAX_FILE
from kerneton.studio.worker import Worker

PAGE = Path(__file__).with_name("page")
MAX_CONNECTIONS = 48
_TICK = 0.1  # seconds between two checks for changes
_LOOK = 20  # ticks between two looks for files of other programs
_SYNC = 3  # ticks between two flushes of changes to the disk


class Studio:
    """State that the handlers share: the folder, its models, the training, and the open pages."""

    def __init__(
        self,
        folder: Path,
        *,
        max_upload: int = MAX_FILE,
        eager: bool = True,
        hold: bool = False,
    ) -> None:
        self.poses = Poses()
        self.worker = Worker()
        # keeps other studios from the folder, before anything is read
        self._held = _hold(Place(folder)) if hold else None
        self._take(folder)
        # eager: processes start before they are needed
        self.max_upload, self.eager = max_upload, eager
        self.listeners: set[asyncio.Queue[dict[str, Any]]] = set()
        self.streams: set[Callable[[Frame], None]] = set()
        self.stream_seen = 0
        self.events = Events()
        self._unsaved: str | None = None

    def _take(self, folder: Path) -> None:
        self.library = Library(folder, estimate=self.poses.films)
        self.models = Models(self.library)
        self.training = Training(self.library, on_model=self._learnt)

    def open(self, folder: Path) -> None:
        """Go on with another folder: that of this user's who asks for it, with all of its pages."""
        folder = folder.expanduser()
        if not folder.is_absolute():
            folder = self.library.root.parent / folder
        if not folder.is_dir():
            raise MissingDataError(f"{folder}: no such folder")
        if folder.resolve() == self.library.root:
            return
        if self.training.state["running"]:
            raise ParameterError("a training is running: stop it, or let it finish, first")
        before = self.library, self.models, self.training
        held = None if self._held is None else _hold(Place(folder))
        try:
            self._take(folder)
        except BaseException:
            self.library, self.models, self.training = before
            if held is not None:
                os.close(held)
            raise
        before[0].journal.sync()
        before[2].close()
        if self._held is not None:
            os.close(self._held)
        self._held = held
        origin.remember(self.library.root)
        threading.Thread(target=self.begin, daemon=True).start()

    def pulse(self) -> dict[str, Any]:
        """The state that is sent to pages when it changes."""
        undo, redo = self.library.journal.can
        return {
            "folder": str(self.library.root),
            "version": self.library.version,
            "scan": list(self.library.progress),
            "poses": self.poses.progress,
            "training": self.training.state,
            "undo": undo,
            "redo": redo,
            "foreign": self.library.foreign,
            "trouble": self.trouble,
            "stream": self.stream_seen,
        }

    def begin(self) -> None:
        """Read the folder, and clear away what an earlier run left."""
        if self.library.foreign is None:
            with contextlib.suppress(KernetonError, OSError):
                uploads.clean(self.library)
        self.library.scan()

    def _learnt(self, new: bool) -> None:
        if new:
            self.models.choose(None)  # after a training the new model is used
        self.load_model()

    def load_model(self) -> None:
        """Run the chosen model on a recording that it knows, so that the first live frame does not
        wait.
        """
        with contextlib.suppress(Exception):  # the page hears of it when it uses the model
            model, figures = self.models.figures()
            known = (
                r.id for r in list(self.library.records.values()) if r.label in figures["labels"]
            )
            frames, layout = replayed(self.library.sequence(next(known, "")))
            self.worker.watch(model, "nobody", frames, layout, True, DOUBT)

    def close(self) -> None:
        """End every process that was started here."""
        self.training.close()
        self.worker.close()
        self.poses.close()
        self._sync()
        if self._held is not None:
            os.close(self._held)
            self._held = None

    async def follow(self) -> None:
        """Send the state to every page when it has changed; nothing that goes wrong ends it."""
        last: dict[str, Any] = {}
        looking: asyncio.Future[Any] | None = None
        for tick in itertools.count():
            await asyncio.sleep(_TICK)
            if tick % _SYNC == 0:
                await asyncio.to_thread(self._sync)
            if tick % _LOOK == 0 and (looking is None or looking.done()):
                looking = asyncio.ensure_future(asyncio.to_thread(self._look))
            now = self.pulse()
            if now != last:
                last = now
                for queue in list(self.listeners):
                    if queue.qsize() < 100:
                        queue.put_nowait(now)

    def _sync(self) -> None:
        try:
            self.library.journal.sync()
            self._unsaved = None
        except Exception as error:
            self._unsaved = f"changes cannot be brought to the disk: {reason(error)}"

    def _look(self) -> None:
        # of the scan itself, the library keeps what went wrong
        with contextlib.suppress(Exception):
            if self.library.progress[0] >= self.library.progress[1]:
                self.library.look()

    @property
    def trouble(self) -> str | None:
        """What keeps the studio from its work now, for every page."""
        try:
            self.library.place.check_there()
        except KernetonError as error:
            return str(error)
        return self._unsaved or self.library.fault


def build(studio: Studio, *, token: str, port: int) -> Any:
    """The ASGI application."""
    import_extra("starlette", extra="studio", purpose="the studio")
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Mount
    from starlette.staticfiles import StaticFiles

    from kerneton.studio.guard import Guard, TooLargeError
    from kerneton.studio.routes import routes

    @contextlib.asynccontextmanager
    async def lifespan(_: Any) -> AsyncIterator[None]:
        task = asyncio.create_task(studio.follow())
        threading.Thread(target=studio.begin, daemon=True).start()
        if studio.eager:
            threading.Thread(target=studio.load_model, daemon=True).start()
        yield
        task.cancel()
        studio.close()

    def failed(status: int) -> Any:
        async def answer(_: Request, error: Exception) -> JSONResponse:
            return JSONResponse(
                {"error": str(error).replace(f"{studio.library.root}/", "")}, status
            )

        return answer

    async def too_large(*_: Any) -> JSONResponse:
        return JSONResponse({"error": f"at most {studio.max_upload >> 20} MiB are accepted"}, 413)

    app = Starlette(
        routes=[
            *routes(studio),
            Mount("/", StaticFiles(directory=PAGE, html=True)),
        ],
        lifespan=lifespan,
        exception_handlers={
            MissingDataError: failed(404),
            KernetonError: failed(400),
            OSError: failed(500),
            TooLargeError: too_large,
        },
    )
    return Guard(app, token=token, port=port, max_upload=studio.max_upload)


def settings(app: Any) -> Any:
    """How uvicorn serves the application: within bounds."""
    uvicorn = import_extra("uvicorn", extra="studio", purpose="the studio")
    from kerneton.studio.connections import Connection

    return uvicorn.Config(
        app,
        http=Connection,
        log_level="warning",
        access_log=False,  # the address holds the token
        limit_concurrency=MAX_CONNECTIONS,
        timeout_keep_alive=10,
        ws_max_size=4 << 20,
        timeout_graceful_shutdown=2,
        server_header=False,
    )


def serve(
    folder: Path,
    *,
    port: int | None = None,
    browser: bool = True,
    announce: Callable[[str], None] = print,
    token: str | None = None,
) -> None:
    """Serve a folder on 127.0.0.1 until interrupted; without ``port`` on the first free one from
    8765.
    """
    uvicorn = import_extra("uvicorn", extra="studio", purpose="the studio")
    import_extra("websockets", extra="studio", purpose="the studio")
    folder.mkdir(parents=True, exist_ok=True)
    studio = Studio(folder, hold=True)
    origin.remember(studio.library.root)
    token = token or origin.token()
    listening = _listen(port)
    port = listening.getsockname()[1]
    config = settings(build(studio, token=token, port=port))
    address = f"http://127.0.0.1:{port}/?token={token}"
    announce(address)
    if browser:
        # a home that cannot be written to: the address was printed
        with contextlib.suppress(OSError):
            page = origin.opening_page(address, port)
            threading.Timer(0.5, webbrowser.open, [page.as_uri()]).start()
    try:
        uvicorn.Server(config).run(sockets=[listening])
    finally:
        studio.close()
        listening.close()


def _hold(place: Place) -> int:
    """A lock on the folder, so that two studios cannot write the same journal. It ends with the
    process.
    """
    handle = place.handle(STUDIO)
    if not lock(handle):
        os.close(handle)
        raise ParameterError(
            f"{place.root}: another studio has this folder open; end that one first"
        )
    return handle


def _listen(port: int | None) -> socket.socket:
    """A socket on this machine's own address."""
    for number in [*range(8765, 8785), 0] if port is None else [port]:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            found.bind(("127.0.0.1", number))
            found.listen(128)
            return found
        except OSError as error:
            found.close()
            if port is not None:
                raise ParameterError(f"port {port} cannot be used: {error.strerror}") from error
    raise MissingDataError("no free port")
