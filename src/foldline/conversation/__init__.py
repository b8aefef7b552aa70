"""Many runs on one thread: conversations, who answers in them, and the blocking face."""
