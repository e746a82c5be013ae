"""``python -m app`` is the operator's command line."""

import sys

from app.cli import main

sys.exit(main())
