import pytest

from enginescope.compat.trtexec.arguments import parse_version
from enginescope.formats.log_facts import version_text


@pytest.mark.parametrize(
    ("text", "number", "shown"),
    [
        ("8.6.1", 8601, "8.6.1"),
        ("8.6.1.6", 8601, "8.6.1"),
        ("9.3.0.post12.dev1", 9300, "9.3.0"),
        ("10.16.0.72", 101600, "10.16.0"),
        ("11.4", 110400, "11.4.0"),
    ],
)
def test_a_version_is_printed_as_the_parser_reads_it(text, number, shown) -> None:
    version = parse_version(text)
    assert version.number == number
    assert str(version) == version_text(str(number)) == shown


def test_versions_compare_as_numbers() -> None:
    version = parse_version("10.13.2.6")
    assert version.at_least(9)
    assert version.at_least(10, 13, 2)
    assert not version.at_least(10, 13, 3)
    assert version.build == 6
    assert parse_version("next") is None
