"""Questions asked in SQL: a closed grammar, read into the questions that Python asks."""
