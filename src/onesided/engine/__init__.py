"""Tables behind one protocol: one room per engine, and the keys that answers are about.

No other package asks which engine it has.
"""
