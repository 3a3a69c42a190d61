"""``enginescope passport``: what is known of an engine without loading it."""

from __future__ import annotations

from pathlib import Path

import click

from enginescope.cli.messages import next_steps, note, words
from enginescope.cli.options import FILE, PATH, json_option, option, store_option
from enginescope.cli.report_output import print_data
from enginescope.cli.verb import verb
from enginescope.store.location import StorePlace


@verb(
    "passport",
    "Show how an engine was built",
    "enginescope passport model.engine",
    "Write it as a file to ship with the engine",
    "enginescope passport model.engine -o model.engine.passport.json",
)
@click.argument("file", type=PATH)
@option("-o", "--output", type=FILE, help="Write the passport to this file.")
@store_option
@json_option
def command(file: Path, output: Path | None, store_folder: StorePlace | None, as_json: bool) -> int:
    """Show how FILE, an engine or its plan's JSON, was built and measured, without loading it.

    The facts come from the engine's header, the files next to it, and stored runs of that engine.
    `enginescope build` writes a passport next to each engine.
    """
    from enginescope.render.base.text import show
    from enginescope.render.plans.passport_text import passport_text
    from enginescope.services.plans.passport import PassportRequest, write_passport

    passport = write_passport(PassportRequest(file=file, output=output, store=store_folder))
    if as_json:
        print_data(passport)
        return 0
    show(passport_text(passport))
    if output is not None:
        note(f"wrote {output}")
    if passport.engine is not None and not passport.runs:
        next_steps(("measure it", words("enginescope", "bench", str(file))))
    elif passport.layers is not None:
        next_steps(("its layers", words("enginescope", "explore", str(file))))
    return 0
