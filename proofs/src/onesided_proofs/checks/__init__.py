"""What enumeration cannot see: checks of their own kind, found by their entry point."""

from onesided_proofs.checks._own import own_checks

__all__ = ["own_checks"]
