"""Runs and their tags."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Create both tables and what listings filter by."""
    op.create_table(
        "runs",
        sa.Column("id", sa.String(64), primary_key=True),
        sa.Column("created", sa.String, nullable=False),
        sa.Column("origin", sa.String, nullable=False),
        sa.Column("model", sa.String, nullable=False),
        sa.Column("model_sha256", sa.String),
        sa.Column("backend", sa.String, nullable=False),
        sa.Column("precision", sa.String),
        sa.Column("outcome", sa.String, nullable=False),
        sa.Column("batch", sa.BigInteger),
        sa.Column("metric", sa.String),
        sa.Column("samples", sa.Integer),
        sa.Column("median_ms", sa.Float),
        sa.Column("host", sa.String),
        sa.Column("cpu", sa.String),
        sa.Column("gpu", sa.String),
        sa.Column("size_bytes", sa.BigInteger),
    )
    op.create_table(
        "tags",
        sa.Column("run_id", sa.String(64), primary_key=True),
        sa.Column("tag", sa.String, primary_key=True),
    )
    for column in ("created", "model", "outcome"):
        op.create_index(f"ix_runs_{column}", "runs", [column])
    op.create_index("ix_tags_tag", "tags", ["tag"])


def downgrade() -> None:
    """Drop both tables."""
    op.drop_table("tags")
    op.drop_table("runs")
