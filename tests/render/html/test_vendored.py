import hashlib
import json
from importlib.resources import files

from enginescope.render.html.page_frame import Script, licences, scripts, style

VENDOR = files("enginescope.render") / "assets" / "vendor"


def test_libraries_are_those_that_were_published() -> None:
    versions = json.loads((VENDOR / "VERSIONS.json").read_text())
    assert {one["package"] for one in versions} == {"vega", "vega-lite", "vega-embed"}
    for one in versions:
        assert hashlib.sha256((VENDOR / one["file"]).read_bytes()).hexdigest() == one["sha256"]
        assert f"{one['package']} {one['version']}" in licences()


def test_scripts_neither_end_their_element_nor_look_for_source_maps() -> None:
    made = scripts()
    assert len(made) > len(json.loads((VENDOR / "VERSIONS.json").read_text()))
    for script in made:
        assert "</script" not in script.text.lower()
        assert "<!--" not in script.text
        assert "sourceMappingURL" not in script.text
        assert "\r" not in script.text


def test_csp_source_is_the_hash_browsers_compute() -> None:
    # sha256 of "alert(1)", base64, as in the specification's own notation.
    assert Script(text="alert(1)").csp_source == (
        "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"
    )


def test_style_loads_nothing() -> None:
    assert "url(" not in style()
    assert "@import" not in style()
