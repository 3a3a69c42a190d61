"""Tables of a store's database.

Beside a folder of runs only `RUNS` and `TAGS` are filled: a cache over the folders. Where the
database is the store, `FILES` holds what the folders would.
"""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, LargeBinary, MetaData, String, Table

METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("created", String, nullable=False, index=True),
    Column("origin", String, nullable=False),
    Column("model", String, nullable=False, index=True),
    Column("model_sha256", String),
    Column("backend", String, nullable=False),
    Column("precision", String),
    Column("outcome", String, nullable=False, index=True),
    Column("batch", BigInteger),
    Column("metric", String),
    Column("samples", Integer),
    # numpy.median of the headline's samples, for listings; the samples are the truth
    Column("median_ms", Float),
    Column("host", String),
    Column("cpu", String),
    Column("gpu", String),
    Column("size_bytes", BigInteger),
    # names as they are looked for, see `search_key`
    Column("model_key", String),
    Column("backend_key", String),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("tag", String, primary_key=True, index=True),
)

#: A run's folder, file by file; without `data` where artefacts are kept elsewhere.
FILES = Table(
    "files",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("path", String, primary_key=True),
    Column("size_bytes", BigInteger, nullable=False),
    Column("data", LargeBinary),
)

#: Of a suite, what its folder holds: ``suite.json`` and ``cells.jsonl``.
SUITES = Table(
    "suites",
    METADATA,
    Column("name", String, primary_key=True),
    Column("plan", LargeBinary, nullable=False),
    Column("rows", LargeBinary, nullable=False),
    # SHA-256 of both, so that who has them need not read them again
    Column("digest", String(64), nullable=False),
)

#: What everybody who uses the database must agree on.
SETTINGS = Table(
    "settings",
    METADATA,
    Column("name", String(64), primary_key=True),
    Column("value", String, nullable=False),
)
