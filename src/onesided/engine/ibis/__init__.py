"""Tables of Ibis: of DuckDB, and of PostgreSQL."""
