"""`foldline advise`: which configuration is the cheapest for one's own recordings."""

from typing import Annotated, Any

from msgspec import Struct
from msgspec.structs import asdict, replace
from rich.console import Console
from rich.text import Text

from foldline.apps.cli.files import print_json
from foldline.apps.cli.options import (
    FormatOption,
    JsonOption,
    ModelOption,
    PricesOption,
    WindowOption,
    argument,
    takes,
)
from foldline.apps.cli.prices import source_of, window_for
from foldline.apps.cli.replay import terms_of
from foldline.apps.cli.sources import recorded_in
from foldline.apps.cli.terminal import clean, output_console, plain_table, print_first, progress
from foldline.errors import UsageError
from foldline.providers.book import is_own
from foldline.providers.price_list import PRICES_OF, nearest_listed
from foldline.reduction.config import HistoryReductionConfig
from foldline.reduction.prices import Prices
from foldline.replay.advice import CANDIDATES, Advice, advice_on, bills_alone, changes_of, lines_of
from foldline.replay.columns import assumed
from foldline.replay.numbers import counted, shown_dollars
from foldline.replay.tape import Tape


_MOST_LOSING = 10
_NEVER = "never"


class _AdviseOptions(Struct, frozen=True, kw_only=True):
    files: Annotated[list[str], argument("FILE...", "Recorded conversations of one agent.")]
    format: FormatOption = None
    model: ModelOption = None
    prices: PricesOption = None
    window: WindowOption = None
    json: JsonOption = False


@takes(_AdviseOptions)
def advise(options: _AdviseOptions) -> None:
    """
    Recommend the configuration that is the cheapest for recorded conversations.

    Every session is played under twenty fixed configurations at the prices of --model or --prices; summaries are charged as
    the model would write them. The cheapest in sum that fits the window and leaves out no message without a summary is
    recommended, or one at most 3 % dearer that is nearer to the defaults, with the lines to paste and the sessions on which
    another one is cheaper. Only bills are compared.
    Of several files, those that cannot be read are noted and left out.
    With --json: an object with "recommended", "lines", "sums", "sessions", "window", "prices" and "prices_of".
    """
    tapes = [*map(Tape, recorded_in(options.files, options.format))]
    if not any(tape.calls for tape in tapes):
        raise UsageError("the files hold no model call: give recorded conversations")
    terms = terms_of(options.prices, options.model)
    if terms is None and is_own(options.model or ""):
        raise UsageError(
            "advise compares bills, and the tokens of a model of your own have no price: `foldline replay` "
            "shows what each configuration sends"
        )
    if terms is None:
        near = nearest_listed(options.model or "")
        message = f"advise needs prices: give --prices, or --model if its prices are known{near}"
        raise UsageError(message)
    with progress("replaying", len(CANDIDATES) * sum(len(tape.calls) for tape in tapes)) as step:
        window = window_for(options.window, options.model, options.prices)
        advice = advice_on(tapes, terms, window=window, on_call=step)
    given = terms.prices if "=" in (options.prices or "") else None
    config = replace(
        CANDIDATES[advice.recommended], context_window_size=options.window, prices=given
    )
    if options.json:
        print_json(_document(advice, list(lines_of(config, given)), terms.prices))
    else:
        _print(output_console(), advice, config, source_of(options.prices or options.model))


def _document(advice: Advice, lines: list[str], prices: Prices) -> dict[str, Any]:
    return {
        "recommended": advice.recommended,
        "lines": lines,
        "sums": advice.sums,
        "sessions": [
            {**asdict(one), "best": one.best, "loss": one.loss(advice.recommended)}
            for one in advice.sessions
        ],
        "window": advice.window,
        "prices": prices,
        "prices_of": PRICES_OF.isoformat(),
    }


def _print(console: Console, advice: Advice, config: HistoryReductionConfig, source: str) -> None:
    lines = lines_of(config, config.prices)
    ours = advice.sums[advice.recommended]
    console.print(
        f"{counted(len(advice.sessions), 'session')}, {counted(_calls(advice), 'model call')}, at "
        f"{source}, for a window of {advice.window:,} tokens"
        f"{assumed(one.session for one in advice.sessions)}"
    )
    change = "to the recommended"
    table = plain_table("configuration", "bill", change, numbers={"bill", change})
    for name, bill in sorted(advice.sums.items(), key=lambda item: item[1]):
        against = f"{(bill / ours - 1) * 100:+.1f} %" if ours else ""
        style = "bold" if name == advice.recommended else ""
        table.add_row(Text(name, style=style), shown_dollars(bill), against)
    console.print(table)
    console.print(_reason(advice, ours))
    console.print(bills_alone(lines))
    _print_losing(console, advice)
    console.print("\nIn a configuration file (TOML):")
    for line in lines:
        console.print(Text(f"  {line}"), soft_wrap=True)
    fields = ", ".join(f"{name}={value!r}" for name, value in changes_of(config).items())
    console.print("In Python:")
    console.print(Text(f"  HistoryReductionConfig({fields})"), soft_wrap=True)


def _calls(advice: Advice) -> int:
    return sum(one.calls for one in advice.sessions)


def _reason(advice: Advice, ours: float) -> str:
    never = advice.sums[_NEVER]
    single = sum(one.bills[one.best] for one in advice.sessions)
    text = f"Recommended: {advice.recommended}, {shown_dollars(ours)} in all"
    if advice.recommended == _NEVER:
        text += ": folding costs more than it saves here"
    elif never:
        saved = 1 - ours / never
        text += f", {abs(saved) * 100:.1f} % {'less' if saved >= 0 else 'more'} than never folding"
    if large := advice.too_large(_NEVER):
        text += (
            f" would cost if it could be sent ({large:,} of {_calls(advice):,} calls do not fit)"
        )
    if ours > advice.sums[advice.cheapest]:
        text += (
            f". {advice.cheapest} is cheaper, by at most 3 %: that counts as equal, and the one nearer to "
            "the defaults is recommended"
        )
    if advice.dropping is not None:
        dropping = advice.sums[advice.dropping]
        text += (
            f". {advice.dropping} would be {shown_dollars(dropping)}, but leaves out messages without a "
            "summary"
        )
    return f"{text}. The best of each session on its own would be {shown_dollars(single)}."


def _print_losing(console: Console, advice: Advice) -> None:
    losing, ours = advice.losing, advice.recommended
    if not losing:
        console.print("No other configuration saves 1 % on any of the sessions.")
        return
    console.print(
        f"On {counted(len(losing), 'session')} another one is at least 1 % cheaper, the worst first:"
    )
    texts = [
        f"{clean(one.session.id)}, {counted(one.calls, 'call')}: {one.best} is "
        f"{shown_dollars(one.bills[ours] - one.bills[one.best])} cheaper ({one.loss(ours) * 100:.1f} %)"
        for one in losing
    ]
    print_first(console, texts, most=_MOST_LOSING)
