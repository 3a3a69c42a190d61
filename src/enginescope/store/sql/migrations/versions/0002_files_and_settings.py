"""Runs and suites kept in the database itself; names to search by; one order of texts."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

#: PostgreSQL would compare these by the rules of a language.
TEXTS = {
    "runs": ("id", "created", "model", "backend", "outcome", "model_key", "backend_key"),
    "tags": ("run_id", "tag"),
    "files": ("run_id", "path"),
}


def upgrade() -> None:
    """Add three tables and two columns."""
    op.add_column("runs", sa.Column("model_key", sa.String))
    op.add_column("runs", sa.Column("backend_key", sa.String))
    op.create_table(
        "files",
        sa.Column("run_id", sa.String(64), primary_key=True),
        sa.Column("path", sa.String, primary_key=True),
        sa.Column("size_bytes", sa.BigInteger, nullable=False),
        sa.Column("data", sa.LargeBinary),
    )
    op.create_table(
        "suites",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("rows", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    op.create_table(
        "settings",
        sa.Column("name", sa.String(64), primary_key=True),
        sa.Column("value", sa.String, nullable=False),
    )
    if op.get_bind().dialect.name == "postgresql":
        for table, columns in TEXTS.items():
            for column in columns:
                op.execute(f'ALTER TABLE {table} ALTER {column} TYPE varchar COLLATE "C"')


def downgrade() -> None:
    """Drop them; the order of texts stays."""
    op.drop_table("settings")
    op.drop_table("suites")
    op.drop_table("files")
    with op.batch_alter_table("runs") as batch:
        batch.drop_column("backend_key")
        batch.drop_column("model_key")
