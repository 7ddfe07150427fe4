"""What one layer of heads can see at once, and plans that read the state off a few such features."""
