"""Keys that nobody listed: which of them may be published at all."""
