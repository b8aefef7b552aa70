"""What the size of a history is counted in."""

from typing import Literal, TypeAlias


CountingUnit: TypeAlias = Literal["messages", "exchanges", "tokens"]
"""
What a count counts, system messages never included.

`messages`: every message. `exchanges`: a user message and all that follows it up to the next user
message; what precedes the first user message belongs to the first exchange, and the exchange that
the newest user message opens counts too. `tokens`: as the history's token counter estimates them.
"""
