"""All tables; once a release has written them, they are spelled out here as it wrote them."""

from alembic import op

from enginescope.store.sql.database import METADATA

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    METADATA.create_all(op.get_bind(), checkfirst=False)  # tables without a version are damage
