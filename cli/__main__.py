"""``python -m proas.cli``: the same program, where the script is not on the path."""

import sys

from proas.cli.app import main

sys.exit(main())
