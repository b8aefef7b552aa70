"""
Threads in Redis.
"""
