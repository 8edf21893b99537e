"""Polars tables, eager or lazy."""
