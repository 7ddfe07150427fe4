"""Features that one layer of heads can see, and plans that read the state off a few of them."""
