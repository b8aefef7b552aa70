"""Shared branches, as stores kept them before, become rows that each thread owns."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from foldline.threads.stores.flatten import Branch, Span, flatten


Rows = dict[int, int]


class Shared:
    """A naive store of shared branches: each has its own rows, and those of its parent before."""

    def __init__(self) -> None:
        self.parents: list[tuple[int | None, int]] = []
        self.rows: list[Rows] = []
        self.owned: list[list[int]] = []
        self.written = 0

    def opened(self, parent: int | None, at: int) -> int:
        """Open a branch of *parent* at row *at*."""
        self.parents.append((parent, at))
        self.rows.append({})
        return len(self.rows) - 1

    def read(self, branch: int) -> list[int]:
        """Return the rows that can be read on *branch*: the first of its parent, then its own."""
        parent, at = self.parents[branch]
        before = [] if parent is None else self.read(parent)[:at]
        return [*before, *self.rows[branch].values()]

    def append(self, thread: int, count: int) -> None:
        """Append *count* rows to the current branch of *thread*."""
        branch = self.owned[thread][-1]
        for _ in range(count):
            self.rows[branch][len(self.read(branch))] = self.written
            self.written += 1

    def act(self, kind: str, thread: int, number: int) -> None:
        """Do what one commit did."""
        if kind == "new" or not self.owned:
            self.owned.append([self.opened(None, 0)])
            return
        own = self.owned[thread % len(self.owned)]
        current = own[-1]
        at = number % (len(self.read(current)) + 1)
        if kind == "append":
            self.append(self.owned.index(own), number % 5)
        elif kind == "rewind":
            own.append(self.opened(current, at))
        elif kind == "edit":
            rest = len(self.read(current)) - at
            own.append(self.opened(current, at))
            self.append(self.owned.index(own), rest)
        elif kind == "fork":
            self.owned.append([self.opened(current, at)])
        elif kind == "prune":
            del own[: number % len(own)]

    def branches(self) -> dict[int | str, Branch]:
        """Return the branches as a store holds them."""
        return {
            name: Branch(name, parent, at, max(self.rows[name], default=at - 1) + 1)
            for name, (parent, at) in enumerate(self.parents)
        }


def _rows_of(shared: Shared, spans: Sequence[Span]) -> Rows:
    found = Rows()
    for span in spans:
        for number in range(span.start, span.stop):
            found[number] = shared.rows[int(span.branch)][number]
    return found


def _read_at(own: Sequence[int], replaced: Sequence[Rows], live: Rows, epoch: int) -> Rows:
    """Return what flat rows show at an epoch, by the rule that every storage follows."""
    shown = dict(live)
    for rows in reversed(replaced[own.index(epoch) :]):
        shown.update(rows)
    return shown


_ACTS = st.lists(
    st.tuples(
        st.sampled_from(["new", "append", "append", "rewind", "edit", "fork", "prune"]),
        st.integers(0, 3),
        st.integers(0, 30),
    ),
    max_size=25,
)


@given(_ACTS)
@settings(max_examples=4 * settings().max_examples)
def test_every_epoch_shows_what_its_branch_did(acts: list[tuple[str, int, int]]) -> None:
    """Whatever was appended, rewound, edited, forked and pruned, each thread shows the same."""
    shared = Shared()
    for act in acts:
        shared.act(*act)
    branches = shared.branches()

    for own in shared.owned:
        *parts, last = flatten([branches[one] for one in own], branches)
        replaced = [_rows_of(shared, spans) for _, spans in parts]
        live = _rows_of(shared, last[1])

        assert [epoch for epoch, _ in (*parts, last)] == [*own[1:], own[0]]
        assert list(live.values()) == shared.read(own[-1])
        for epoch in own:
            shown = _read_at(own, replaced, live, epoch)
            wanted = shared.read(epoch)
            assert [shown[number] for number in range(len(wanted))] == wanted


def test_a_circle_of_branches_ends() -> None:
    """Branches of a damaged store that are parents of one another are followed once each."""
    branches: dict[int | str, Branch] = {1: Branch(1, 2, 4, 6), 2: Branch(2, 1, 3, 5)}

    ((_, live),) = flatten([branches[1]], branches)

    assert [span.branch for span in live] == [2, 1]
