"""The rules for recurrent networks: cells, closures for every length, balls and boxes up to a length."""
