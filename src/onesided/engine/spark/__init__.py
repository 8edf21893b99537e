"""Tables of PySpark."""
