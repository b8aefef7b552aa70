"""Lines of programs, in texts that fence none."""

import re


_CODE = re.compile(
    r"""(?:\d+:\s*)?(?:def \w|class \w+[(:]|import [\w.]+(?: as \w+)?$|from [\w.]+ import |#include"""
    r"""|return [\w.]+[(\[]|(?:if|elif|for|while|with|except)\b.*:$|\"{3}|'{3}|@\w+[.(]"""
    r"""|(?:export |const |let |var )+\w+ ?[=:(]"""
    r"""|[\w.\[\]"']+ \+?= (?:None|True|False|[\[{(\"']|[\w.]+[(\[])"""
    r"""|[\w.\[\]"']+\(.*\)$)"""
).match
# What is noted in a transcript, such as "{laughter}", or stands for a word.
_NOTE = re.compile(r"(?:^|\s)\{\w+\}$").search
_ENDS = ("{", "}", ");", "];", "';", '";')


def is_code(line: str) -> bool:
    """Whether *line*, without what stands around it, is of a program and no sentence."""
    return (line.endswith(_ENDS) and _NOTE(line) is None) or _CODE(line) is not None
