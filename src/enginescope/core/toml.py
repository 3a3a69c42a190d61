"""The standard library's TOML parser, and its twin for Python 3.10."""

import sys

if sys.version_info >= (3, 11):
    from tomllib import TOMLDecodeError
    from tomllib import loads as parse_toml
else:
    from tomli import TOMLDecodeError
    from tomli import loads as parse_toml

__all__ = ["TOMLDecodeError", "parse_toml"]
