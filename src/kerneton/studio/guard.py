"""Checks of every request (host, origin, token, size), and the security headers of every
response.
"""

from __future__ import annotations

import hmac

from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MAX_JSON = 64 << 20  # bytes of a request that is not an upload
# Subprotocol of web sockets: browsers cannot send them other headers, so the token is sent as a
# second subprotocol.
PROTOCOL = "kerneton"


class Guard:
    """An ASGI application around another one; see ``docs/studio.md`` for what it refuses and why.

    Answers 421 for another host (DNS rebinding), 403 for another origin or a cross-site request,
    401 under ``/api/`` without the token, 413 for a body past its limit.
    """

    def __init__(self, app: ASGIApp, *, token: str, port: int, max_upload: int) -> None:
        self.app, self.token, self.max_upload = app, token, max_upload
        self.hosts = {f"127.0.0.1:{port}", f"localhost:{port}"}
        self.origins = {f"http://{host}" for host in self.hosts}
        sockets = " ".join(f"ws://{host}" for host in sorted(self.hosts))
        policy = (
            "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
            f"connect-src 'self' {sockets}; base-uri 'none'; form-action 'none'; "
            "frame-ancestors 'none'"
        )
        self.headers = {
            "content-security-policy": policy,
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "no-referrer",
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(self), microphone=(), geolocation=()",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refused = self._refuse(scope, headers)
        if scope["type"] == "websocket":
            if refused is None:
                await self.app(scope, receive, send)
            else:
                await receive()
                await send(
                    {"type": "websocket.close", "code": 4000 + refused[0], "reason": refused[1]}
                )
            return
        # Without the token a connection ends with its answer: keeping many of them open must not
        # keep the owner out.
        answer = self._with_headers(send, close=not self._knows_token(scope, headers))
        limit = self.max_upload if scope["path"].startswith("/api/uploads/") else MAX_JSON
        if refused is None and int(headers.get("content-length") or 0) > limit:
            refused = 413, f"at most {limit >> 20} MiB are accepted"
        if refused is None:
            await self.app(scope, _limited(receive, limit), answer)
        else:
            await PlainTextResponse(refused[1], refused[0])(scope, receive, answer)

    def _refuse(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        if headers.get("host") not in self.hosts:
            return 421, "this server only accepts requests to 127.0.0.1 and localhost"
        if "origin" in headers and headers["origin"] not in self.origins:
            return 403, "requests from other pages are refused"
        api = scope["path"] == "/api" or scope["path"].startswith("/api/")
        if api and headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return 403, "cross-site requests are refused"
        if (
            scope["type"] == "websocket"
            and "origin" not in headers
            and "user-agent" in headers
            and not api
        ):
            return 403, "no such socket"
        if (api or scope["type"] == "websocket") and not self._knows_token(scope, headers):
            return (
                401,
                "the token is missing or wrong: open the address that 'kerneton studio' printed",
            )
        content = headers.get("content-type", "")
        if (
            api
            and scope.get("method") in ("POST", "PUT", "PATCH", "DELETE")
            and content.startswith(
                ("application/x-www-form-urlencoded", "multipart/form-data", "text/plain")
            )
        ):
            return 415, "forms are not accepted: send application/json or application/octet-stream"
        return None

    def _knows_token(self, scope: Scope, headers: Headers) -> bool:
        given = [
            headers.get("x-kerneton-token", ""),
            headers.get("authorization", "").removeprefix("Bearer "),
        ]
        given += QueryParams(scope.get("query_string", b"")).getlist("token")
        given += [part.strip() for part in headers.get("sec-websocket-protocol", "").split(",")]
        return any(
            hmac.compare_digest(text.encode("utf-8", "replace"), self.token.encode())
            for text in given
        )

    def _with_headers(self, send: Send, *, close: bool) -> Send:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("cache-control", "no-store")
                headers.update(self.headers)
                if close:
                    headers["connection"] = "close"
            await send(message)

        return with_headers


class TooLargeError(Exception):
    """A body that exceeds its limit without a content-length."""


def _limited(receive: Receive, limit: int) -> Receive:
    seen = 0

    async def limited() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        if seen > limit:
            raise TooLargeError
        return message

    return limited
