"""What is kept: durable threads, their checkpoints, and the stores that hold them."""
