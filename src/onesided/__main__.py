"""``python -m onesided``."""

from onesided.cli import main

main()
