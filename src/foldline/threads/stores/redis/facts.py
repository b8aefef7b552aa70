"""What a Redis tells about itself."""

import re
from typing import Final

from foldline.threads.stores.redis.link import RedisLink


__all__ = ["read_facts"]


_FIELD: Final = re.compile(rb"^(\w+):([^\r\n]*)", re.MULTILINE)


async def read_facts(link: RedisLink, section: bytes) -> dict[str, str]:
    """
    Return the values of one *section* of `INFO` by their names; none where it tells nothing.

    Raises:
        StoreError: Redis cannot be reached.
    """
    answer = await link.ask(b"INFO", section)
    found = _FIELD.findall(answer) if isinstance(answer, bytes) else []
    return {name.decode(): value.decode("utf-8", "replace") for name, value in found}
