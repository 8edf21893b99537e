"""Other ways to the same answer, ranked by the errors that are predicted for this workload."""
