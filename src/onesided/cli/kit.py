"""What commands of other distributions share with ours: terminal, options, the made-up city."""

from onesided.cli._city import City, city, write_city
from onesided.cli._exits import EPILOG
from onesided.cli._options import AsJson
from onesided.cli._terminal import Terminal, print_json, print_line
