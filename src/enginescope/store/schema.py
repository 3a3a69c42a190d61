"""Tables of the index. A cache over the folders: everything in it can be made again from them."""

from __future__ import annotations

from sqlalchemy import BigInteger, Column, Float, Integer, MetaData, String, Table

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
    # numpy.median of the headline's samples, for listings; the samples in the folder are the truth
    Column("median_ms", Float),
    Column("host", String),
    Column("cpu", String),
    Column("gpu", String),
    Column("size_bytes", BigInteger),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("tag", String, primary_key=True, index=True),
)
