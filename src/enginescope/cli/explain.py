"""``enginescope explain``: what a code means, and what to do."""

import click

from enginescope.cli.completion import complete_codes
from enginescope.cli.options import json_option
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import verb


@verb(
    "explain",
    "Explain a notice",
    "enginescope explain W-BIMODAL",
    "List all codes as JSON",
    "enginescope explain --json",
)
@click.argument("code", required=False, shell_complete=complete_codes)
@json_option
def command(code: str | None, as_json: bool) -> None:
    """Explain CODE: a notice, lint rule, verdict, outcome or exit code.

    Without CODE, list all codes.
    """
    from enginescope.services.explain import explain, explanations

    explanation = explain(code) if code else None
    if as_json:
        print_data(explanation or explanations())
        return
    from enginescope.render.base.text import sentence, show, table

    if explanation is None:
        rows = [(each.code, each.meaning) for each in explanations()]
        show(table(("code", "meaning"), rows, whole=("code",)))
        return
    show(sentence(f"{explanation.code}: {explanation.meaning}"))
    show(sentence(f"Example: {explanation.example}"))
    show(sentence(f"What to do: {explanation.action}"))
