"""All pages of the reference that are made from the code."""

from functools import partial

from enginescope.rules.catalogue import catalogue
from tests.docs.reference import (
    codes,
    csv_columns,
    json_documents,
    keywords,
    plan_columns,
    plugin_pages,
    python_api,
    suite_keys,
)
from tests.docs.reference.command_line import verbs_part
from tests.docs.reference.marked_page import Page

PAGES = (
    Page("cli.md", {"verbs": verbs_part}, library="click"),
    Page(
        "python.md",
        {
            **{kind: partial(python_api.table_of, kind) for kind in python_api.KINDS},
            "parameters": python_api.parameters_part,
            "fields": python_api.fields_part,
        },
    ),
    Page(
        "codes.md",
        {
            "exit codes": codes.exit_codes_part,
            "verdicts": codes.verdicts_part,
            "reasons": codes.reasons_part,
            "evidence levels": codes.evidence_part,
            "outcomes of a gate": codes.gate_part,
            "rules of a gate": codes.gate_rules_part,
            "outcomes": codes.outcomes_part,
            "notices": codes.notices_part,
            "rules": codes.rules_part,
            "metrics": codes.metrics_part,
            "conditions": codes.conditions_part,
            "exceptions": codes.exceptions_part,
        },
    ),
    Page("rules.md", {}, whole=catalogue),
    Page(
        "json.md", {"schemas": json_documents.typed_part, "documents": json_documents.observed_part}
    ),
    *(
        Page(
            f"schemas/{name}.schema.json",
            {},
            whole=partial(json_documents.schema_json, kind),
            library="msgspec",
        )
        for name, (kind, _) in json_documents.TYPED.items()
    ),
    Page("csv.md", {"files": csv_columns.files_part, "scripts": csv_columns.perf_part}),
    Page("plan-columns.md", {"columns": plan_columns.columns_part, "gpus": plan_columns.gpus_part}),
    Page(
        "report-card.md",
        {"charts": plan_columns.charts_part, "quantities": plan_columns.quantities_part},
    ),
    *plugin_pages.PAGES,
    Page("../../src/enginescope/services/keywords.pyi", {}, whole=keywords.keywords_stub),
    Page("suite-file.md", {"keys": suite_keys.keys_part, "example": suite_keys.example_part}),
)
