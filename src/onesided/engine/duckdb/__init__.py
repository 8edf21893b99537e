"""DuckDB relations."""
