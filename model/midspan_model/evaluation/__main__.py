"""`python -m midspan_model.evaluation SUITE`: a table, then one JSON line."""

from __future__ import annotations

import sys

from midspan_model.evaluation.command import main

if __name__ == "__main__":
    sys.exit(main())
