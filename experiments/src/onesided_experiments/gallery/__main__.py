"""``python -m onesided_experiments.gallery FOLDER [SEED]``."""

from __future__ import annotations

import sys
from pathlib import Path

from onesided_experiments.gallery._page import write

if __name__ == "__main__":
    folder, seed = (*sys.argv[1:], *("docs", "1")[len(sys.argv) - 1 :])[:2]
    for path in write(Path(folder), seed=int(seed)):
        sys.stdout.write(f"{path}\n")
