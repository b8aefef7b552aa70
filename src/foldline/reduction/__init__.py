"""What the model sees instead. Pure."""
