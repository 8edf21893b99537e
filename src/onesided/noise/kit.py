"""What engines and checks need of randomness: parts that can be repeated, and bits."""

from onesided.noise._bits import NotPrivateScriptedBits, NotPrivateSeededBits
from onesided.noise._derived import PartNoise, new_secret
from onesided.noise._permute_flip import successes
from onesided.noise._secure import SecureBits

__all__ = [
    "NotPrivateScriptedBits",
    "NotPrivateSeededBits",
    "PartNoise",
    "SecureBits",
    "new_secret",
    "successes",
]
