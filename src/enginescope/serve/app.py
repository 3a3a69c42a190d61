"""The application: addresses, who may ask, what is taken."""

from collections.abc import Callable

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.responses import Response
from starlette.routing import Route

from enginescope.core.errors import EnginescopeError
from enginescope.core.record import Record
from enginescope.serve import gates, home, kept_pages, uploads
from enginescope.serve import list_views as browsing
from enginescope.serve import result_pages as looking
from enginescope.serve.access import LOGIN, Access, Guard, login, logout
from enginescope.serve.configuration import Configuration
from enginescope.serve.connections import RequestLimit, few_threads
from enginescope.serve.kept_pages import KeptPages, KeptRows, rows_of
from enginescope.serve.kept_runs import KeptFigures, KeptRuns, KeptWarnings
from enginescope.serve.list_views import failure, not_found, static_file
from enginescope.serve.overview import Overview
from enginescope.serve.uploads import pushed
from enginescope.serve.webhooks import Webhook, watching
from enginescope.store.archive import Store

#: Of one run, as a zip file.
MOST_BYTES = 256 << 20

#: For programs that push.
_API = (
    Route("/api", uploads.about),
    Route("/api/missing", pushed(uploads.missing), methods=["POST"]),
    Route("/api/runs/{run_id}", pushed(uploads.put_run), methods=["PUT"]),
    Route("/api/suites/{name}", pushed(uploads.suite_rows)),
    Route("/api/suites/{name}", pushed(uploads.put_suite), methods=["PUT"]),
)


class Taking(Record, frozen=True, kw_only=True):
    """Whether runs that are pushed are taken, and how large one may be."""

    is_on: bool = False
    most_bytes: int = MOST_BYTES


def application(
    store: Store,
    access: Access | None = None,
    taking: Taking | None = None,
    configuration: Configuration | None = None,
    *,
    say: Callable[[str], None] = lambda _: None,
) -> Guard:
    """Return the pages over a store.

    Args:
        access: By default whoever reaches a loopback address may look.
        taking: By default nothing can be changed.
        configuration: Gates and webhooks; by default there are none.
        say: Says what is wrong with a webhook, to whoever runs the server.
    """
    access, taking = access or Access(), taking or Taking()
    configuration = configuration or Configuration()
    runs, rows = KeptRuns(store), KeptRows(store)
    figures = KeptFigures(runs)
    keep, lists = KeptPages().endpoint, kept_pages.of_lists
    suite = keep(looking.suite, kept_pages.of_suite, kept_pages.suite_content)
    hooks = [Webhook(one, store, rows, figures, say) for one in configuration.webhook]
    app = Starlette(
        routes=[
            Route("/", keep(home.home, kept_pages.of_home)),
            Route("/changes", home.changes),
            Route("/runs", keep(browsing.runs, lists, rows_of(browsing.run_rows))),
            Route("/runs/{run_id}", keep(looking.run, kept_pages.of_run)),
            Route("/runs/{run_id}/files", looking.files),
            Route("/runs/{run_id}/files/{path:path}", looking.file),
            Route("/runs/{run_id}/archive", looking.archive),
            Route("/history", keep(looking.history, lists, rows_of(looking.history_rows))),
            Route("/compare", keep(looking.compare, kept_pages.of_comparison)),
            Route("/suites", keep(looking.suites, kept_pages.of_suites)),
            Route("/suites/{name}", suite),
            Route("/suites/{name}/progress", looking.progress),
            Route("/suites/{name}/{file}", looking.table),
            Route("/gate", gates.gates),
            Route("/gate/{name}.json", gates.gate_document),
            Route("/gate/{name}.svg", gates.badge),
            Route("/gate/{name}", gates.gate),
            Route("/pushes", uploads.pushes),
            Route(LOGIN, login, methods=["GET", "POST"]),
            Route("/logout", logout, methods=["POST"]),
            Route("/static/{name}", static_file),
            *_API,
        ],
        exception_handlers={
            EnginescopeError: failure,
            ClientDisconnect: lambda *_: Response(status_code=400),  # nobody is there to read it
            404: not_found,
        },
        lifespan=watching(hooks, few_threads),
    )
    app.state.kept, app.state.rows = runs, rows
    app.state.gates = gates.KeptGates(store, rows, configuration.gate)
    app.state.figures, app.state.warnings = figures, KeptWarnings(runs)
    app.state.overview = Overview(rows, runs, figures, app.state.gates)
    app.state.access, app.state.webhooks = access, hooks
    app.state.pushes = uploads.PushLog(store.path)
    app.state.accepts, app.state.most_bytes = taking.is_on, taking.most_bytes
    open_paths = (LOGIN, "/static/", *app.state.gates.public_badges)
    return Guard(RequestLimit(app), access, open_paths=open_paths)
