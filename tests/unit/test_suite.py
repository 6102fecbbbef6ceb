"""What the tests themselves have to keep to."""

from collections import Counter
from pathlib import Path


def test_no_two_files_of_tests_have_one_name():
    # Test folders are no packages, so pytest cannot collect both in one session.
    names = Counter(path.name for path in Path(__file__).parents[1].rglob("test_*.py"))
    assert [name for name, n in names.items() if n > 1] == []
