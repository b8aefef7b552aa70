"""
A page to chat on: Starlette, and server-sent events.

The site posts what people say, and reads what comes of it from the store. It runs no model: a tab that
is closed, a button that is clicked twice or a site that is started again change no answer.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from answering import workers
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from foldline.errors import FoldlineError, StoreError, UsageError


PAGE = Path(__file__).with_name("page.html")


async def page(_: Request) -> Response:
    """Return the page."""
    return FileResponse(PAGE)


async def history(request: Request) -> Response:
    """Return what was said on a thread."""
    thread = await workers.store.find(request.path_params["thread"])
    messages = [] if thread is None else await thread.get_messages()
    return JSONResponse([{"role": one.role, "text": one.text} for one in messages if one.text])


async def post(request: Request) -> Response:
    """Take a message; the page has given it an id, so that it is answered once."""
    said = await request.json()
    thread = request.path_params["thread"]
    await workers.answer(thread, f"{said['text']}", turn_id=f"{said['turn']}")
    return Response(status_code=202)


async def stream(request: Request) -> Response:
    """Send the text of an answer while it is written, and say when that is all."""
    turn = workers.turn(request.path_params["thread"], request.path_params["turn"])

    async def events() -> AsyncGenerator[str, None]:
        try:
            async for text in turn.stream():
                yield f"data: {json.dumps(text)}\n\n"
            yield "event: done\ndata:\n\n"
        except StoreError:
            # The turn goes on when the server is back; the browser connects again by itself.
            return
        except FoldlineError as error:
            yield f"event: failed\ndata: {json.dumps(error.code)}\n\n"

    headers = {"Cache-Control": "no-store"}
    return StreamingResponse(events(), media_type="text/event-stream", headers=headers)


def refused(_: Request, error: Exception) -> Response:
    """Answer with the code of an error, and never with its text."""
    is_theirs = isinstance(error, UsageError)
    code = error.code if isinstance(error, FoldlineError) else "error"
    return JSONResponse({"error": code}, status_code=400 if is_theirs else 503)


@asynccontextmanager
async def opened(_: Starlette) -> AsyncGenerator[None, None]:
    """Keep the store and the queue open as long as the site runs."""
    async with workers:
        yield


app = Starlette(
    routes=[
        Route("/", page),
        Route("/threads/{thread}", history),
        Route("/threads/{thread}", post, methods=["POST"]),
        Route("/threads/{thread}/{turn}", stream),
    ],
    exception_handlers={UsageError: refused, StoreError: refused},
    lifespan=opened,
)
