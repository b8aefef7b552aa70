"""`foldline chat`: a conversation with a model, kept in a store and inside a budget."""
