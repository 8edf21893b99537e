"""Parameters for a question, chosen from public facts alone."""
