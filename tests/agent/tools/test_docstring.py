"""Docstrings: what is taken for the description and what for the parameters, in three styles."""

import pytest

from foldline.agent.tools.signature import read_docstring


GOOGLE = """
    Look something up.

    It may take a while: be patient.

    Args:
        query: What to look
            for.

            Be exact.
        limit (int, optional): How many: at most 9.
        where (Callable[[int], str]): A place.
        *rest: More.
        plain:
            On a line of its own.

    Returns:
        query: no parameter
    """

NUMPY = """
    Look something up.

    It may take a while: be patient.

    Parameters
    ----------
    query : str
        What to look
        for.

        Be exact.
    limit, where : int, optional
        How many: at most 9.
    plain
        On a line of its own.

    Returns
    -------
    result : int
        no parameter
    """

SPHINX = """
    Look something up.

    It may take a while: be patient.

    :param query: What to look
        for.

        Be exact.
    :param int limit: How many: at most 9.
    :type limit: int
    :keyword where: A place.
    :param plain:
        On a line of its own.
    :raises ValueError: no parameter
    :returns: nothing
    """


@pytest.mark.parametrize(
    ("text", "others"),
    [
        (GOOGLE, {"limit": "How many: at most 9.", "where": "A place.", "rest": "More."}),
        (NUMPY, {"limit": "How many: at most 9.", "where": "How many: at most 9."}),
        (SPHINX, {"limit": "How many: at most 9.", "where": "A place."}),
    ],
)
def test_sections_are_read_in_each_style(text: str, others: dict[str, str]) -> None:
    """All before the first section is the description, and each parameter has one line."""
    read = read_docstring(text)

    assert read.description == "Look something up.\n\nIt may take a while: be patient."
    assert read.parameters == {
        "query": "What to look for. Be exact.",
        "plain": "On a line of its own.",
        **others,
    }


@pytest.mark.parametrize(
    ("text", "description", "parameters"),
    [
        ("", "", {}),
        ("One line.", "One line.", {}),
        ("Args:", "", {}),
        ("Args:\n\n", "", {}),
        ("Args:\nnot moved in", "", {}),
        ("A.\n\nArguments:\n  a: b\nNo more.\n  c: d", "A.", {"a": "b"}),
        ("A.\n\nReturns:\n    a: b", "A.", {}),
        ("A.\n\nReturns:\n    x\n\nArgs:\n    a: b", "A.", {"a": "b"}),
        ("A.\n\nArgs:\n    a: b\n\nRaises:\n    E: c\n", "A.", {"a": "b"}),
        ("A: one.\nB: two.\n    C: three.", "A: one.\nB: two.\n    C: three.", {}),
        ("A note: this is one.\n\nSo it is.", "A note: this is one.\n\nSo it is.", {}),
        ("A.\n\n:param a: b\n:param c: d", "A.", {"a": "b", "c": "d"}),
        (":return: x", "", {}),
        ("A.\n\nNotes\n-----\nx\n\nParameters\n----------\na\n    b", "A.", {"a": "b"}),
        ("A.\n\nParameters\n----------", "A.", {}),
        ("A table\n\n---\nx", "A table\n\n---\nx", {}),
        ("A.\n\nArgs:\n    größe: wie groß", "A.", {"größe": "wie groß"}),
    ],
)
def test_odd_docstrings_are_read(text: str, description: str, parameters: dict[str, str]) -> None:
    """Sections that are empty, out of order or of another kind do no harm."""
    read = read_docstring(text)

    assert (read.description, read.parameters) == (description, parameters)
