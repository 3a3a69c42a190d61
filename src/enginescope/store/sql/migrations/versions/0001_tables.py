"""All tables of the first release."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

#: PostgreSQL would compare texts by the rules of a language.
_TEXT = sa.String().with_variant(sa.String(collation="C"), "postgresql")
_ID = sa.String(64).with_variant(sa.String(collation="C"), "postgresql")


def upgrade() -> None:
    """Create the tables and the indexes that listings filter by."""
    op.create_table(
        "runs",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("created", _TEXT, nullable=False, index=True),
        sa.Column("origin", sa.String, nullable=False),
        sa.Column("model", _TEXT, nullable=False, index=True),
        sa.Column("model_sha256", sa.String),
        sa.Column("backend", _TEXT, nullable=False),
        sa.Column("precision", sa.String),
        sa.Column("outcome", _TEXT, nullable=False, index=True),
        sa.Column("batch", sa.BigInteger),
        sa.Column("metric", sa.String),
        sa.Column("samples", sa.Integer),
        sa.Column("median_ms", sa.Float),
        sa.Column("host", sa.String),
        sa.Column("cpu", sa.String),
        sa.Column("gpu", sa.String),
        sa.Column("size_bytes", sa.BigInteger),
        sa.Column("model_key", _TEXT),
        sa.Column("backend_key", _TEXT),
    )
    op.create_table(
        "tags",
        sa.Column("run_id", _ID, primary_key=True),
        sa.Column("tag", _TEXT, primary_key=True, index=True),
    )
    op.create_table(
        "files",
        sa.Column("run_id", _ID, primary_key=True),
        sa.Column("path", _TEXT, primary_key=True),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary),
    )
    op.create_table(
        "suites",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.String),
        sa.Column("token", sa.String),
        sa.Column("renewed", sa.Float),
        sa.Column("expires", sa.Float),
    )
    op.create_table(
        "suite_rows",
        sa.Column("suite", sa.String, primary_key=True),
        sa.Column("cell", sa.String, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.String, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
