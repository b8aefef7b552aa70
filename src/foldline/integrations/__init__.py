"""foldline inside other frameworks: one file and one extra each, and nothing of ours imports them."""
