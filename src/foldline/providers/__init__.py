"""Models, summarizers and the offline digest."""
