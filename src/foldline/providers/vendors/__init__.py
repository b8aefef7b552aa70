"""Models of vendors: one module per wire format, one for all others, and what opens them."""
