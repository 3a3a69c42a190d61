"""Alembic's entry: runs the migrations on the connection that `Index` hands over."""

from alembic import context

from enginescope.store.sql.database import METADATA

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=METADATA, render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
