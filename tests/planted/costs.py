"""Bugs of what decides whether a fold pays, and of what it costs."""

from tests.planted.bug import bugs_in


__all__ = ["BUGS"]

BUGS = bugs_in("""
reduction/balance.py: properties/test_balance.py
a fold comes a call too late
-     yield len(history), has_gone_cold(last, now, lifetime)
+     yield len(history) - 2, False

reduction/balance.py: reduction/test_balance.py
a cold call holds at the price of reading
- self._rates.append(write if is_cold else read)
+ self._rates.append(read)
a batch begins the holding again
-     while (
-         active.previous is not None
-         and active.previous.summarized_up_to_index == active.summarized_up_to_index
-     ):
-         active = active.previous
+
the answer of a ride costs nothing
-             return price + self.summary * prices.output / MILLION
+             return price

reduction/ledger.py: reduction/test_ledger.py
the first call reads a cache that nobody wrote
- is_cold or not number
+ is_cold
the calls of a fold are one for the tier
- prices.at(usage.input_tokens // max(1, calls))
+ prices.at(usage.input_tokens)
cached tokens are paid twice
- max(0, usage.input_tokens - read - written)
+ usage.input_tokens
the estimated answer of a call is free
-     return _sent(history, call, call.active, prices) + said
+     return _sent(history, call, call.active, prices)
a second message of the user begins a turn
-     is_start = [role == "user" != before for before, role in pairwise(["", *roles])]
+     is_start = [role == "user" for before, role in pairwise(["", *roles])]
a new view is taken to be cached
-     elif call.is_first and active is call.active and active is not None:
+     elif False:
a fold saves without its price
- savings = _saved(history, calls, prices) - paid
+ savings = _saved(history, calls, prices)
what would not fit is looked for with folds
- too_large=sum(_size(history, None, one.at) > window for one in calls),
+ too_large=sum(_size(history, one.active, one.at) > window for one in calls),
a batch costs a summarizer
- if end <= start or not reduction.summary_content or reduction.summarizer == _FREE:
+ if not reduction.summary_content or reduction.summarizer == _FREE:

reduction/prices.py: reduction/test_prices.py
tiers may be in any order
- if sizes != sorted(set(sizes)):
+ if False:
writing may cost less than reading
- prices.cache_write < prices.input:
+ prices.cache_write < 0:
a prefix of any size is cached
- served = min(cached, tokens) if cached >= prices.minimum_prefix else 0
+ served = cached

providers/price_list.py: providers/test_price_list.py
a variant has the price of its family
- return re.compile(names_in(_by_name()) + _VERSION)
+ return re.compile(names_in(_by_name()))
a dearer request has no tier
-     return _prices(model, bases, tuple(tiers))
+     return _prices(model, bases, ())
a charge for storage is the price of writing
- written if (written or 0.0) >= (read or 0.0) else None
+ written
a small variant keeps a prefix as long as its family
- (?:-[1-4](?!\\d)|(?!-[1-4](?!\\d)))
+ (?:-[1-4](?!\\d))?

reduction/budget.py: reduction/test_budget.py
the usage of a small request is trusted whole
- trusted = max(0, min(_TRUSTED_TOKENS, ceiling // 4 - estimated))
+ trusted = 0
a reserve is not kept free
- most = max(1, min(most, size - reserve))
+ most = max(1, min(most, size))

reduction/verdict.py: reduction/test_near_ceiling.py
what the count clears is said to be near the ceiling
- Row("fold", Reason.CLEARED, {"clearable", "full"}),
+ Row("fold", Reason.CLEARED, {"clearable"}),
""")
