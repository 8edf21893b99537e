"""What is checked of ``onesided``: the lines of ``onesided verify``, and what it must reject."""
