"""Runs the `test_*.py` files of the given folders and prints the counts in the format of Node's test runner, so that
`cargo xtask test` can add them up."""

import sys
import unittest
from pathlib import Path

here = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(here))

suite = unittest.TestSuite(
    unittest.TestLoader().discover(str(here / folder), top_level_dir=str(here / folder)) for folder in sys.argv[1:]
)
result = unittest.TextTestRunner(stream=sys.stdout, verbosity=2).run(suite)
failed = len(result.failures) + len(result.errors) + len(result.unexpectedSuccesses)
# An expected failure is a test that is not fixed, like `todo` of Node's runner.
skipped = result.skipped + result.expectedFailures
for test, reason in skipped:
    print(f"﹣ {test.id()} # SKIP {reason.splitlines()[-1]}")
print(f"# pass {result.testsRun - failed - len(skipped)}")
print(f"# fail {failed}")
print(f"# skipped {len(skipped)}")
sys.exit(failed > 0 or result.testsRun == 0)
