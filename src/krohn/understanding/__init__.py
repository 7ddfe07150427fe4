"""What a network learned: interventions along subspaces, probes, heads, and a verdict in words."""
