"""Several answers from one table as one question: one plan, one charge, one line in the ledger."""
