"""Suites row by row, and who runs them."""

import json
import time

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

_FORMER = sa.table(
    "suites",
    sa.column("name", sa.String),
    sa.column("plan", sa.LargeBinary),
    sa.column("rows", sa.LargeBinary),
)


def upgrade() -> None:
    """Give each row of a suite a row of its own."""
    connection = op.get_bind()
    former = connection.execute(sa.select(_FORMER)).all()
    op.drop_table("suites")
    suites = op.create_table(
        "suites",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("owner", sa.String),
        sa.Column("token", sa.String),
        sa.Column("renewed", sa.Float),
        sa.Column("expires", sa.Float),
    )
    rows = op.create_table(
        "suite_rows",
        sa.Column("suite", sa.String, primary_key=True),
        sa.Column("cell", sa.String, primary_key=True),
        sa.Column("number", sa.BigInteger, nullable=False),
        sa.Column("ended", sa.String, nullable=False),
        sa.Column("data", sa.LargeBinary, nullable=False),
    )
    number = int(time.time() * 1000)
    for name, plan, former_rows in former:
        connection.execute(suites.insert().values(name=name, plan=plan, number=number))
        lines = {}
        for data in former_rows.splitlines():
            row = json.loads(data)
            lines[row["cell"]["key"]] = {"ended": row["ended"], "data": data}
        for cell, line in lines.items():
            values = {"suite": name, "cell": cell, "number": number}
            connection.execute(rows.insert().values(**values, **line))


def downgrade() -> None:
    """Put the rows of each suite together again."""
    connection = op.get_bind()
    suites = connection.execute(sa.text("SELECT name, plan FROM suites")).all()
    query = "SELECT data FROM suite_rows WHERE suite = :name ORDER BY ended, cell"
    rows = {
        name: b"".join(
            data + b"\n" for data in connection.execute(sa.text(query), {"name": name}).scalars()
        )
        for name, _ in suites
    }
    op.drop_table("suite_rows")
    op.drop_table("suites")
    former = op.create_table(
        "suites",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("plan", sa.LargeBinary, nullable=False),
        sa.Column("rows", sa.LargeBinary, nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
    )
    for name, plan in suites:
        # an empty digest is that of no folder: it is read again
        values = {"name": name, "plan": plan, "rows": rows[name], "digest": ""}
        connection.execute(former.insert().values(**values))
