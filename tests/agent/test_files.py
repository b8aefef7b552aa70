"""Files that go with a turn."""

import asyncio
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from foldline import Agent, ConfigError, Conversation, MemoryStore, Message
from foldline.agent.files import MAX_FILE_BYTES, with_files
from foldline.history.formats.renderings.openai_chat import render_openai_chat
from foldline.history.messages import Native, NativeFormat
from foldline.history.parts import BlobPart, Part, TextPart
from foldline.testing.model import ScriptedModel


def written(folder: Path, name: str, data: bytes) -> Path:
    path = folder / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("name", "modality", "mime"),
    [
        ("plan.PNG", "image", "image/png"),
        ("photo.jpg", "image", "image/jpeg"),
        ("call.mp3", "audio", "audio/mpeg"),
        ("report.pdf", "document", "application/pdf"),
    ],
)
def test_a_media_file_becomes_a_blob(tmp_path: Path, name: str, modality: str, mime: str) -> None:
    """Images, audio files and PDFs follow their names, with their media type and their bytes."""
    path = written(tmp_path, name, b"\x00\xff\x01")
    (message,) = with_files([Message.user("What is it?")], [path])

    blob = BlobPart(modality, mime, b64encode(b"\x00\xff\x01").decode())
    assert message.parts == (TextPart("What is it?"), TextPart(f"[file {name}]"), blob)


def test_a_text_file_is_text_with_its_name(tmp_path: Path) -> None:
    """Whatever its suffix, text in UTF-8 follows the name of the file."""
    path = written(tmp_path, "plan.qq", "\ufeffsalt\nüber".encode())
    (message,) = with_files([], [str(path)])

    assert message == Message.user("[file plan.qq]\nsalt\nüber")


@pytest.mark.parametrize(
    "last",
    [
        Message.assistant("fine"),
        Message(role="user", native=Native(format=NativeFormat.ANTHROPIC, item="{}")),
    ],
)
def test_files_after_another_kind_of_message_are_a_message(tmp_path: Path, last: Message) -> None:
    """An answer, or a message in a vendor's own form, is left as it is."""
    path = written(tmp_path, "a.txt", b"salt")

    assert with_files([last], [path]) == [last, Message.user("[file a.txt]\nsalt")]


def test_what_cannot_be_sent_is_refused_in_one_line(tmp_path: Path) -> None:
    """The error names the place, the path and the limit; nothing is sent."""
    large, archive = tmp_path / "large.pdf", written(tmp_path, "a.zip", b"PK\xff\x00")
    empty = written(tmp_path, "empty.png", b"")
    with large.open("wb") as file:
        file.truncate(MAX_FILE_BYTES + 1)
    kinds = ".gif, .jpeg, .jpg, .png, .webp, .flac, .m4a, .mp3, .ogg, .wav, .pdf"
    # A name that no file system takes; from Python 3.14 on asking for it is no error.
    unread = (
        "must be the path of a file, got"
        if sys.version_info >= (3, 14)
        else "cannot be read: OSError:"
    )
    wrong: list[tuple[object, str]] = [
        ([tmp_path / "none.png"], f"files[0] must be the path of a file, got {tmp_path}/none.png"),
        ([tmp_path], f"files[0] must be the path of a file, got {tmp_path}"),
        ([large], f"files[0] must have at most 20,000,000 bytes, got 20,000,001: {large}"),
        ([archive], f"files[0] must be text in UTF-8 or one of {kinds}: {archive}"),
        ([empty], f"files[0] must not be empty: {empty}"),
        (["x" * 300], f"files[0] {unread} {'x' * 300}"),
        ([b"a"], "files[0] must be a str or PathLike, got bytes"),
        ("a.png", "files must be a list or tuple, got str"),
    ]

    for files, says in wrong:
        model = ScriptedModel(["no"])
        with pytest.raises(ConfigError) as caught:
            Agent(model).run_sync("Look.", files=files)  # type: ignore[arg-type]
        assert (str(caught.value), model.requests) == (says, [])


def test_files_go_with_every_kind_of_turn(tmp_path: Path) -> None:
    """The model gets them, and the thread keeps them, however the turn is started."""
    path = written(tmp_path, "a.txt", b"salt")
    wanted: tuple[Part, ...] = (TextPart("Look."), TextPart("[file a.txt]\nsalt"))

    async def streamed(starter: Agent | Conversation) -> None:
        if isinstance(starter, Agent):
            await starter.run_stream("Look.", files=[path]).final_result
            await starter.run("Look.", files=[path])
        else:
            await starter.send_stream("Look.", files=[path]).final_result
            await starter.send("Look.", files=[path])

    for wrap in (Agent, lambda model: Conversation(Agent(model))):
        starter = wrap(model := ScriptedModel(repeat="fine"))
        blocking = starter.run_sync if isinstance(starter, Agent) else starter.send_sync
        blocking("Look.", files=[path])
        asyncio.run(streamed(starter))
        assert [one.messages[-1].parts for one in model.requests] == [wanted] * 3


def test_an_mp3_goes_to_openai_under_its_own_name(tmp_path: Path) -> None:
    """The vendor calls the format `mp3`, the media type calls it `audio/mpeg`."""
    path = written(tmp_path, "call.mp3", b"\xff")
    (item,) = render_openai_chat(with_files([Message.user("Who is it?")], [path]))

    assert item["content"][2]["input_audio"]["format"] == "mp3"


def test_a_file_that_does_not_fit_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """Once in the log, with what to raise: the model is asked about a file that it is not sent."""
    model = ScriptedModel(repeat="I see no report.")
    book = written(tmp_path, "report.pdf", b"%PDF-1.7" + b"/Type /Page " * 30)

    async def asked() -> None:
        agent, thread = Agent(model), await MemoryStore().thread("t")
        await agent.run("What does it say?", files=[book], thread=thread)
        await agent.run("And now?", thread=thread)

    asyncio.run(asked())
    told = [one for one in caplog.messages if one.startswith("message 0, the last of the user, ")]

    assert "[document left out]" in str(model.requests[0].messages[-1])
    assert len(told) == 1
    assert "does not fit the ceiling of 64,000 tokens; raise `ceiling`" in told[0]
