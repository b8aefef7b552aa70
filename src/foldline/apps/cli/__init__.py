"""
The command `foldline`.
"""
