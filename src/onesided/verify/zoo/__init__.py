"""Deliberately wrong programs beside right ones. A verifier that accepts a wrong one sees nothing.

Nothing here is for use: these are the controls of ``onesided verify``.
"""
