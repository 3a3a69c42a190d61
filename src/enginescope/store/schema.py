"""Tables of the index. A cache over the folders: everything in it can be made again from them."""

from __future__ import annotations

from sqlalchemy import Column, Float, Integer, MetaData, String, Table

METADATA = MetaData()

RUNS = Table(
    "runs",
    METADATA,
    Column("id", String(64), primary_key=True),
    Column("created", String(40), nullable=False, index=True),
    Column("origin", String(16), nullable=False),
    Column("model", String(512), nullable=False, index=True),
    Column("model_sha256", String(64)),
    Column("backend", String(512), nullable=False),
    Column("outcome", String(24), nullable=False, index=True),
    Column("batch", Integer),
    Column("metric", String(32)),
    Column("samples", Integer),
    # for listings; the samples in the run's folder are the truth
    Column("median_ms", Float),
    Column("host", String(256)),
    Column("cpu", String(256)),
    Column("gpu", String(256)),
)

TAGS = Table(
    "tags",
    METADATA,
    Column("run_id", String(64), primary_key=True),
    Column("tag", String(128), primary_key=True, index=True),
)
