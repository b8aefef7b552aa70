"""`python -m foldline`: the command, where its script is not on the path."""

import sys

from foldline.apps.cli.main import main


if __name__ == "__main__":
    sys.exit(main())
