"""What catalogues and the command line need beside the public names: walks, tables, arguments."""

from onesided.verify._aligned import Alignment
from onesided.verify._catalogue import Section, sections
from onesided.verify._enumerate import Settings, Walk
from onesided.verify._universe import Homes
