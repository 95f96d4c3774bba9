"""Checks of every request (host, origin, token, size), and the security headers of every response."""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any
from urllib.parse import parse_qs

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

MAX_JSON = 64 << 20  # bytes of a request that is not an upload
# Subprotocol of web sockets: browsers cannot send them other headers, so the token is sent as a second subprotocol.
PROTOCOL = "kerneton"


class Guard:
    """An ASGI application around another one; see ``docs/studio.md`` for what it refuses and why.

    Answers 421 for another host (DNS rebinding), 403 for another origin or a cross-site request, 401 under ``/api/``
    without the token, 413 for a body past its limit.
    """

    def __init__(self, app: App, *, token: str, port: int, max_upload: int) -> None:
        self.app, self.token, self.max_upload = app, token, max_upload
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
        self.policy = (
            "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; img-src 'self' blob: data:; "
            f"media-src 'self' blob:; connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = {key.decode("latin-1"): value.decode("latin-1") for key, value in scope["headers"]}
        refused = self._refuse(scope, headers)
        if scope["type"] == "websocket":
            if refused is None:
                await self.app(scope, receive, send)
            else:
                await receive()
                await send({"type": "websocket.close", "code": 4000 + refused[0], "reason": refused[1]})
            return
        answer = self._with_headers(send)
        limit = self.max_upload if scope["path"].startswith("/api/uploads/") else MAX_JSON
        if refused is None and int(headers.get("content-length") or 0) > limit:
            refused = 413, f"at most {limit >> 20} MiB are accepted"
        if refused is None:
            await self.app(scope, _limited(receive, limit), answer)
        else:
            await _plain(answer, *refused)

    def _refuse(self, scope: Scope, headers: dict[str, str]) -> tuple[int, str] | None:
        if headers.get("host") not in self.hosts:
            return 421, "this server only accepts requests to 127.0.0.1 and localhost"
        if "origin" in headers and headers["origin"] not in self.origins:
            return 403, "requests from other pages are refused"
        api = scope["path"] == "/api" or scope["path"].startswith("/api/")
        if api and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "cross-site requests are refused"
        if scope["type"] == "websocket" and "origin" not in headers and "user-agent" in headers and not api:
            return 403, "no such socket"
        if (api or scope["type"] == "websocket") and not self._knows_token(scope, headers):
            return 401, "the token is missing or wrong: open the address that 'kerneton studio' printed"
        content = headers.get("content-type", "")
        if (
            api
            and scope.get("method") in ("POST", "PUT", "PATCH", "DELETE")
            and content.startswith(("application/x-www-form-urlencoded", "multipart/form-data", "text/plain"))
        ):
            return 415, "forms are not accepted: send application/json or application/octet-stream"
        return None

    def _knows_token(self, scope: Scope, headers: dict[str, str]) -> bool:
        given = [
            headers.get("x-kerneton-token", ""),
            headers.get("authorization", "").removeprefix("Bearer "),
        ]
        given += parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [])
        given += [part.strip() for part in headers.get("sec-websocket-protocol", "").split(",")]
        return any(
            hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode()) for text in given
        )

    def _with_headers(self, send: Send) -> Send:
        extra = [
            (b"content-security-policy", self.policy.encode()),
            (b"x-content-type-options", b"nosniff"),
            (b"x-frame-options", b"DENY"),
            (b"referrer-policy", b"no-referrer"),
            (b"cross-origin-opener-policy", b"same-origin"),
            (b"cross-origin-resource-policy", b"same-origin"),
            (b"permissions-policy", b"camera=(self), microphone=(), geolocation=()"),
        ]

        async def with_headers(message: MutableMapping[str, Any]) -> None:
            if message["type"] == "http.response.start":
                present = {key for key, _ in message["headers"]}
                message["headers"] = [*message["headers"], *extra]
                if b"cache-control" not in present:
                    message["headers"].append((b"cache-control", b"no-store"))
            await send(message)

        return with_headers


class TooLargeError(Exception):
    """A body that exceeds its limit without a content-length."""


def _limited(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def limited() -> MutableMapping[str, Any]:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLargeError
        return message

    return limited


async def _plain(send: Send, status: int, text: str) -> None:
    body = text.encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
