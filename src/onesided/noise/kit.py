"""What engines and checks need of randomness: parts that can be repeated, and bits."""

from onesided.noise._gaussian import masses_of, variance_of
from onesided.noise._noise import PartNoise, new_secret, permuted
from onesided.noise._order import successes
from onesided.noise._source import NotPrivateScriptedBits, NotPrivateSeededBits, SecureBits
