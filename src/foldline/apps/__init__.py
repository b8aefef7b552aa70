"""Programs: they parse, call and print."""
