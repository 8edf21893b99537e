"""Histograms: bins with public edges, the methods that answer them and what they publish."""
