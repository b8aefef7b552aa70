"""A thread as a plain list: what every store is compared with."""

from dataclasses import dataclass, field

from foldline.history.messages import Message
from foldline.reduction.state import HistoryReductionState
from foldline.threads.tools import ToolRun


@dataclass
class Plain:
    """A thread as a list."""

    messages: list[Message] = field(default_factory=list)
    reductions: list[HistoryReductionState] = field(default_factory=list)
    tools: dict[str, ToolRun] = field(default_factory=dict)
    metadata: dict[str, object] = field(default_factory=dict)
    name: str = ""
    archived: int = 0
    marks: dict[int, int] = field(default_factory=dict)
    pins: list[int] = field(default_factory=list)
    iteration: int | None = None
    commits: int = 1

    @property
    def visible(self) -> list[int]:
        """The places of the messages that are not system messages."""
        return [at for at, one in enumerate(self.messages) if one.role != "system"]

    @property
    def newest(self) -> HistoryReductionState | None:
        """The newest reduction."""
        return self.reductions[-1] if self.reductions else None

    def place(self, index: int) -> int:
        """Return how many messages there are before the one at *index*, and all at the end."""
        return [*self.visible, len(self.messages)][index]

    def add(self, messages: list[Message]) -> None:
        """Append, pin, and settle the calls that are answered."""
        for message in messages:
            if message.is_pinned:
                self.pins.append(len(self.visible))
            self.messages.append(message)
            for answer in message.tool_call_responses:
                self.tools.pop(answer.id, None)

    def back_to(self, at: int) -> None:
        """Forget everything from *at* on, and what stands for a part of it."""
        self.messages = self.messages[: self.place(at)]
        self.pins = [index for index in self.pins if index < at]
        self.reductions = [one for one in self.reductions if one.summarized_up_to_index <= at]
        reach = 0
        for one in self.reductions:
            reach = max(reach, one.summarized_up_to_index)
            self.marks[id(one)] = min(reach, self.marks[id(one)])
        self.unarchive()
        self.tools.clear()
        self.iteration = None

    def unarchive(self) -> None:
        """Archive what was archived when the newest reduction was made."""
        self.archived = self.marks.get(id(self.newest), 0)

    def fold(self, state: HistoryReductionState, *, is_archived: bool) -> None:
        """
        Take *state* for the newest reduction; one made of the same takes the newest one's place.
        """
        if self.reductions and _made_of(self.reductions[-1]) == _made_of(state):
            self.reductions.pop()
        self.reductions.append(state)
        self.commits += 1
        if is_archived:
            self.archived = max(self.archived, state.summarized_up_to_index)
        self.marks[id(state)] = self.archived


def _made_of(state: HistoryReductionState) -> tuple[object, ...]:
    return state.message_hash, state.config_fingerprint, state.counting_unit, state.created_at
