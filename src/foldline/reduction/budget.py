"""How much one request may hold, and what of it is taken before the first message."""

from msgspec import Struct

from foldline.reduction.config import HistoryReductionConfig


DEFAULT_WINDOW = 128_000
"""The window of a model of which none is known, in tokens."""

SUMMARY_TOKENS = 1_500
"""The most tokens that a summary is asked to keep to."""

LEAST_BUDGET = 64
"""What it is asked to keep to at least, if what it replaces has more."""

# Not before 0.8; and what one more message adds, by an estimate that is some percent off, still fits.
FULL = 0.88
"""The share of its ceiling from which on a request is reduced."""

_CEILING, _CEILING_SHARE = 64_000, 0.7
_RESERVE, _RESERVE_PART = 8_000, 8
_LEAST_SUMMARY = 32

# After a batch a request is at most this full, so that the next one is some calls away.
_RELIEVED = 0.5
_FITTED = 0.95

# A request of few tokens says little about the rest, and its fixed costs much.
_TRUSTED_TOKENS = 1_000
_LOWEST_RATIO, _HIGHEST_RATIO = 0.5, 4.0


class Budget(Struct, frozen=True, kw_only=True):
    """
    What one request may hold, in tokens of the vendor, and the parts that are no messages.

    All sizes but *window* and *ceiling* are estimates, as a history counts: *ratio* is what a vendor
    counts for one estimated token. The answer is not part of a request.
    """

    window: int
    ceiling: int

    instructions: int
    """The instructions that are sent before the view."""

    tools: int
    """The schemas of the tools."""

    ratio: float

    recall: bool | None
    """Whether the model can call the tool `recall`, which notes then name; None if they name no
    index either."""

    limit: int
    """The most of a whole request."""

    full: int
    """The size of a view from which on it is reduced."""

    system: int
    """The system messages of the history, which every view has."""

    @property
    def room(self) -> int:
        """The most of a view."""
        return self.limit - self.instructions - self.tools

    @property
    def fitted(self) -> int:
        """The most of a view that a fold makes: it may be some percent larger than its estimate."""
        return int(self.limit * _FITTED) - self.instructions - self.tools

    @property
    def relieved(self) -> int:
        """The size of a view that clearing alone has made small enough."""
        return int(self.limit * _RELIEVED) - self.instructions - self.tools

    @property
    def summary(self) -> int:
        """What a summary is asked to keep to."""
        return min(SUMMARY_TOKENS, self.beside)

    @property
    def beside(self) -> int:
        """What summaries, or quotes of user messages, may have in all."""
        return max(_LEAST_SUMMARY, (self.room - self.system) // 8)

    @property
    def keep(self) -> int:
        """The size of the messages that a fold keeps."""
        return max(1, (self.room - self.system) // 4)

    @property
    def results(self) -> int:
        """The size of the newest messages whose tool results are not cleared."""
        return max(1, (self.room - self.system) // 6)

    def counted(self, view: int) -> int:
        """Return what the vendor counts for a request whose view has so many estimated tokens."""
        return int((view + self.instructions + self.tools) * self.ratio)


def budget_of(
    config: HistoryReductionConfig,
    *,
    window: int | None = None,
    learned: int | None = None,
    instructions: int = 0,
    tools: int = 0,
    system: int = 0,
    ratio: float = 1.0,
    recall: bool = False,
) -> Budget:
    """
    Return the budget of a request.

    Args:
        config: Names the ceiling, the reserve and the window, or leaves them to the defaults.
        window: What is known of the model, if the configuration names no window.
        learned: The window as far as the vendor's refusals have shown.
        instructions: The estimated tokens of instructions that are not part of the history.
        tools: The estimated tokens of the tool schemas.
        system: The estimated tokens of the history's system messages.
        ratio: What the vendor counts for one estimated token.
        recall: Whether the model can call the tool `recall`.
    """
    size = config.context_window_size or window or DEFAULT_WINDOW
    size = size if learned is None else min(size, learned)
    reserve = min(_RESERVE, size // _RESERVE_PART) if config.reserve is None else config.reserve
    ceiling = config.ceiling
    if ceiling is None:
        most = min(int(size * _CEILING_SHARE), _CEILING)
    else:
        most = int(size * ceiling) if ceiling <= 1 else int(ceiling)
    most = max(1, min(most, size - reserve))
    limit = int(most / ratio)
    return Budget(
        window=size,
        ceiling=most,
        instructions=instructions,
        tools=tools,
        system=system,
        ratio=ratio,
        recall=recall,
        limit=limit,
        full=int(limit * FULL) - instructions - tools,
    )


def budget_for(room: int, most: int, *, before: int = 0) -> int:
    """
    Return the tokens that a summary in place of *room* tokens may have.

    It may keep all of the summary *before* it and three quarters of what is new, so that a rolling
    summary does not shrink to the size of one span; never more than *most*, and always less than
    *room*.
    """
    wished = max(before + (room - before) * 3 // 4, LEAST_BUDGET)
    return max(1, min(most, wished, room - 1))


def token_ratio(*, reported: int, estimated: int, ceiling: int) -> float:
    """
    Return what a vendor counts for one estimated token, judging by one request.

    It stays between 0.5 and 4. A request far below the ceiling is damped as if 1,000 tokens more had
    been estimated exactly, since its fixed costs would count for many; one of a quarter is not.

    Args:
        reported: The tokens that the vendor counted; 0 if unknown.
        estimated: The estimate for the same request.
        ceiling: The most that the request could have.
    """
    if reported <= 0 or estimated <= 0:
        return 1.0
    trusted = max(0, min(_TRUSTED_TOKENS, ceiling // 4 - estimated))
    ratio = (reported + trusted) / (estimated + trusted)
    return min(max(ratio, _LOWEST_RATIO), _HIGHEST_RATIO)
