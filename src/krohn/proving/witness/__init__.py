"""The search for witnesses: nothing here is trusted."""
