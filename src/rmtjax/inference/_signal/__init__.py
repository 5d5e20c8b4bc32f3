"""How much of a data matrix is signal: ranks, spikes, and matrices without their noise."""
