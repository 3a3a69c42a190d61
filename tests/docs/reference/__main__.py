"""Write every page of the reference: ``python -m tests.docs.reference``."""

from tests.docs.reference.pages import PAGES

for page in PAGES:
    page.path.parent.mkdir(parents=True, exist_ok=True)
    page.path.write_text(page.rendered(), encoding="utf-8")
