import sys

from enginescope.services.store_access import own_command


def test_a_password_of_a_script_s_command_line_is_not_recorded(monkeypatch) -> None:
    url = "postgresql://engineer:s3cr3t-word@db.example/engines"
    monkeypatch.setattr(sys, "orig_argv", ["python", "nightly.py", url])
    assert own_command() == "python nightly.py postgresql://engineer:***@db.example/engines"
