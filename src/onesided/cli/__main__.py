"""``python -m onesided.cli``."""

from onesided.cli import main

main()
