"""The wire formats of vendors and the logs of tools, read and written."""
