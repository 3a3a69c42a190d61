"""The first page: how every job stands, what was asked last, and that it stays current."""

import re
from html import unescape

import pytest

from enginescope.backends.registry import read_spec
from enginescope.core.record import replace
from enginescope.judge.notice import Notice
from enginescope.records.environment import Device, Environment, Host
from enginescope.records.progress import RoundPlan, RoundPosition
from enginescope.records.run.load_and_contention import LoadRule
from enginescope.records.run.run import Outcome, OutcomeKind
from enginescope.records.suite.suite import Claim, SuiteChange
from enginescope.render.verdicts.noise_answer import noise_sentence
from enginescope.serve.configuration import Configuration, GatePart
from enginescope.serve.home import Axis
from enginescope.serve.overview import Overview
from enginescope.store.archive import Store
from enginescope.store.machine_records import FLOORS
from tests.analysis.gated_runs import job, process
from tests.analysis.historic_runs import host, over_days
from tests.serve.conftest import client_of, wait_for
from tests.store.test_machine_records import FLOOR
from tests.suites.made import cell, result

QUIET = 0.0005
#: model -> medians of its sessions, and the word that says how it stands
STANDINGS = {
    "slower.onnx": ([4.0] * 8 + [4.4] * 8, "slower"),
    "jump.onnx": ([4.0] * 12 + [6.0], "perhaps slower"),
    "better.onnx": ([4.0] * 8 + [3.0] * 8, "faster"),
    "same.onnx": ([4.0] * 16, "unchanged"),
    "new.onnx": ([4.0], "too few: 1 session"),
}


@pytest.fixture
def sessions(tmp_path) -> Store:
    store = Store(tmp_path / "store")
    for number, (model, (medians, _)) in enumerate(STANDINGS.items()):
        for run in over_days(medians, of=job(model), noise=QUIET, seed=number):
            store.save(run)
    return store


def page_of(client, address: str = "/") -> str:
    """The page once everything is known."""
    wait_for(lambda: "; reading " not in client.get(address).text)
    return client.get(address).text


def jobs(text: str) -> list[tuple[str, str]]:
    """Model and state of each job, in the order of the page."""
    head = r'<tr[^>]*><th scope="row" class="name" title="[^"]*"><a id="job-[^>]*>([^<]*)</a>'
    listed = text.partition("<h2>Asked last</h2>")[0]
    rows = re.findall(head + r".*?<td [^>]*>([^<]*)</td>", listed, re.DOTALL)
    return [(unescape(model), unescape(state)) for model, state in rows]


def chosen(text: str) -> str:
    """What is beside the list on the chosen job."""
    panel = text.partition('<section class="panel" id="chosen"')[2].partition("</section>")[0]
    return unescape(panel)


def test_what_needs_a_look_comes_first(sessions) -> None:
    with client_of(sessions) as client:
        text = page_of(client)
        rest = page_of(client, "/?state=unknown")
    assert [word for _, word in jobs(text)] == ["perhaps slower", "slower", "faster", "unchanged"]
    assert '<a href="/?state=unknown">1 more job</a>' in text  # nothing can be said of it
    assert dict(jobs(text) + jobs(rest)) == {model: word for model, (_, word) in STANDINGS.items()}
    assert re.findall(r'<a class="(\w*)" href="/\?state=\w+">([^<]*)</a>', text) == [
        ("bad", "2 jobs need a look"),
        ("", "1 faster"),
        ("", "1 without a verdict"),
        ("", "1 unchanged"),
    ]
    assert text.count("unknown") == 3  # two addresses, and the choice of states
    assert "Too few: 1 session</strong>: a change of level shows in 4 sessions or more" in rest
    assert re.search(r"\+(10|9\.9)\S* %", text)  # in the words of the change
    assert (
        text.count("over 8 and 8 sessions; commit 0000007abc → 0000008abc") > 4
    )  # state, change, axis and sessions


def test_jobs_are_named_by_the_options_that_differ(tmp_path) -> None:
    """Rows of one model all read "ort-cpu?intra_op_num_threa…"."""
    store = Store(tmp_path / "store")
    for at in range(3):
        backend = read_spec(f"trt?device_id=1&tf32={at}")
        store.save(process(4.0, at, of=replace(job("net.onnx"), backend=backend)))
    with client_of(store) as client:
        text = page_of(client)
    names = re.findall(r'<span class="under" title="[^"]*">(trt[^<]*)</span>', text)
    assert sorted(name.partition(" · ")[0] for name in names) == [
        f"trt?tf32={at}" for at in range(3)
    ]
    assert '<p class="quiet">options of all: device_id=1</p>' in text
    assert re.search(r"trt\?device_id=1&tf32=\d · batch 1", chosen(text))


def test_noisy_jobs_are_unknown_and_warnings_are_marked(tmp_path) -> None:
    store = Store(tmp_path / "store")
    for run in over_days([4.0] * 12, noise=0.1):
        store.save(run)
    with client_of(store) as client:
        text = page_of(client)
    assert [state for _, state in jobs(text)] == ["too noisy"]
    assert "sessions vary too much to tell a change of 2 %" in text
    store = Store(tmp_path / "few")
    store.save(process(4.0, n=12))
    with client_of(store) as client:
        text = page_of(client)
    assert "W-FEW-SAMPLES" in text
    assert re.search(r"<td title=\"[^\"]*W-FEW-SAMPLES[^\"]*\" class=\"some\">\s*few samples", text)
    assert "W-FEW-SAMPLES" in chosen(text)


def test_runs_that_are_not_usable_are_counted_and_nothing_is_called_fine(tmp_path) -> None:
    """The headline of such jobs was "Nothing known needs a look"."""
    store = Store(tmp_path / "store")
    load = Notice(code="W-LOAD", message="busy machine", evidence={"unstable": True})
    for at, model in enumerate(("busy.onnx", "also.onnx", "calm.onnx")):
        notices = () if model == "calm.onnx" else (load,)
        store.save(process(4.0, at, of=job(model), notices=notices))
    with client_of(store) as client:
        text = page_of(client)
        assert re.findall(r'<a class="(\w*)" href="(/\?[^"]*)">([^<]*)</a>', text) == [
            ("", "/?state=unknown", "3 jobs without a verdict"),
            ("bad", "/?state=unusable", "2 newest runs not usable"),
        ]
        assert text.count(">newest run not usable</span>") == 2
        names = {model for model, _ in jobs(page_of(client, "/?state=unusable"))}
        assert names == {"busy.onnx", "also.onnx"}
        for run in store.rows():
            assert ("not usable" in client.get(f"/runs/{run.id}").text) is (run.model in names)


def test_filters_are_part_of_the_address_and_no_address_of_the_machine_is_shown(sessions) -> None:
    gpu = Environment(host=Host(name="gpu-7"), devices=(Device(name="NVIDIA H200"),))
    other = process(9.0, of=job("other.onnx"), environment=gpu, created="2026-03-01T00:00:00Z")
    sessions.save(other, tags=["branch"])
    with client_of(sessions) as client:
        for query, expected in (
            ("machine=gpu-7", {"other.onnx"}),
            ("device=NVIDIA+H200", {"other.onnx"}),
            ("tag=branch", {"other.onnx"}),
            ("model=SAME", {"same.onnx"}),
            ("state=better", {"better.onnx"}),
            ("state=look&machine=bench-1", {"slower.onnx", "jump.onnx"}),
            ("machine=none", set()),
        ):
            assert {model for model, _ in jobs(page_of(client, f"/?{query}"))} == expected, query
        text = page_of(client, "/?machine=gpu-7")
    assert 'href="/?machine=gpu-7&amp;state=unknown">1 job without a verdict' in text
    assert "<option selected>gpu-7</option>" in text
    with client_of(sessions) as client:
        assert str(sessions.path) not in page_of(client)


def test_the_newest_failure_needs_a_look(sessions) -> None:
    crash = Outcome(kind=OutcomeKind.CRASHED, message="it crashed")
    for model, at in (("same.onnx", "2026-05-01"), ("never.onnx", "2026-05-02")):
        failed = process(4.0, of=job(model), created=f"{at}T00:00:00Z", outcome=crash, samples=())
        sessions.save(failed)
    with client_of(sessions) as client:
        text = page_of(client)
        assert dict(jobs(text))["same.onnx"] == "crashed"
        assert dict(jobs(text))["never.onnx"] == "crashed"
        assert "4 jobs need a look" in text


def test_a_job_leads_to_its_history(sessions) -> None:
    run = process(
        4.0,
        of=job("new.onnx"),
        number=5,
        created="2026-01-02T10:00:00Z",
        command="enginescope bench /m/same.onnx /m/new.onnx --tag same.onnx",
        n=12,
    )
    sessions.save(run)
    with client_of(sessions) as client:
        home = page_of(client, "/?model=new")
        path, _, anchor = re.search(r'<a href="([^"]*)">History</a>', home)[1].partition("#")
        text = client.get(path).text
    assert f'id="{anchor}"' in text
    assert f'href="/runs/{run.id}"' in text
    assert "enginescope bench /m/same.onnx /m/new.onnx --tag" in text
    alone = "measure again: <code>enginescope bench new.onnx --tag same.onnx</code>"
    assert alone in chosen(home)  # the other model is none of this job's


def test_a_chosen_job_is_shown_beside_the_list(sessions) -> None:
    with client_of(sessions) as client:
        text = page_of(client)
        assert '"stands">jump.onnx<' in chosen(text)  # the first needs a look most
        address = unescape(re.search(r'href="([^"]*)" hx-get="[^"]*"[^>]*>better.onnx', text)[1])
        text = page_of(client, address)
        panel = chosen(text)
        assert text.count('aria-current="true"') == 1
        refreshed = unescape(re.search(r'<div id="found" hx-get="([^"]*)"', text)[1])
        assert chosen(page_of(client, refreshed)) == panel
        assert '"stands">better.onnx<' in panel
        assert "Faster</strong>: −25" in panel
        compared = re.search(r'href="([^"]*)">Compare with the level before<', panel)[1]
        assert "B is faster: 0.75" in unescape(client.get(compared).text)
        assert client.get(re.search(r'href="([^"]*)">Newest run<', panel)[1]).status_code == 200


def test_machines_say_what_they_can_decide_and_axes_where_they_end(sessions) -> None:
    load = Host(name="bench-9", cpu_model="Ryzen 9", cores_usable=8, load_1min=3.25)
    run = process(4.0, of=job("busy.onnx"), environment=Environment(host=load))
    sessions.save(run)
    with client_of(sessions) as client:
        text = page_of(client)
        machine = text.partition('href="/?machine=bench-9">')[2].partition("</section>")[0]
        assert "<dt>Load average, 1 min</dt><dd>3.25</dd>" in machine
        assert "Smallest detectable difference: not measured" in machine
        FLOORS.record(sessions.path, replace(FLOOR, environment=run.environment.comparable_key()))
        text = page_of(client)
    assert noise_sentence(FLOOR) in unescape(text)
    axis = Axis(limit_pct=10.0)
    assert axis.px(0.0) == 55.0
    assert axis.px(-10.0) == axis.px(-80.0) < axis.px(-9.0)
    assert axis.px(10.0) == axis.px(300.0) > axis.px(9.0)


def test_runs_are_grouped_by_what_asked_for_them(tmp_path) -> None:
    store = Store(tmp_path / "store")
    command = "enginescope bench /home/somebody/net.onnx --on ort-cpu,trt --compare"
    for number in range(16):
        side, turn = "AB"[number % 2], number // 2
        run = process(
            [4.0, 5.0][number % 2],
            number,
            of=job(spec=["ort-cpu", "trt"][number % 2]),
            command=command,
            turn=RoundPosition(comparison="abcd1234", side=side, round=turn, place=0),
        )
        store.save(run, tags=["cmp-abcd1234"])
    for number in range(3):
        store.save(process(4.0, 100 + number, command="enginescope bench net.onnx --processes 3"))
    store.save(process(4.0, 300, command="enginescope bench net.onnx --processes 3"))
    with client_of(store) as client:
        text = page_of(client)
        rows = re.findall(
            r'<th scope="row" class="name"[^>]*><a href="([^"]*)">(bench [^<]*)</a>', text
        )
        assert [name for _, name in rows] == [
            "bench net.onnx --processes 3",  # whenever it was asked
            "bench net.onnx --on ort-cpu,trt --compare",
        ]
        assert "/home/somebody" not in text
        assert rows[-1][0] == "/compare?tag=cmp-abcd1234"
        assert "B is slower: 1.25" in unescape(text)
        assert "B is slower" in unescape(client.get(rows[-1][0]).text)
        assert client.get("/compare?tag=cmp-none").status_code == 404


def test_processes_of_a_ladder_or_a_load_test_are_a_question_and_no_job(tmp_path) -> None:
    """Each rung was a row of the list, and each was unknown."""
    store = Store(tmp_path / "store")
    plan = RoundPlan(rounds=16, threshold_pct=1.0)
    for number, own in enumerate((None, plan)):
        spec = ("ort-cpu:fp16", "ort-cpu")[number]
        turn = RoundPosition(comparison=f"{number}bcd1234", side="A", round=0, place=0, plan=own)
        command = f"enginescope {('ladder', 'bench')[number]} net.onnx"
        run = process(4.0, number, of=job(spec=spec), turn=turn, command=command)
        store.save(run, tags=[f"cmp-{number}bcd1234"])
        if own is None:
            run = process(4.0, number, of=job("rungs.onnx"), turn=turn, command=command)
            store.save(run, tags=[f"cmp-{number}bcd1234"])
    loaded = replace(job(), load=LoadRule(rate_per_s=100.0))
    store.save(process(4.0, 2, of=loaded, command="enginescope load net.onnx"))
    with client_of(store) as client:
        text = page_of(client)
    assert len(jobs(text)) == 1
    assert 'rungs.onnx">rungs.onnx</a> in comparisons and suites alone' in text
    assert "ort-cpu:fp16" not in text.partition("<h2>Asked last</h2>")[0]
    assert all(f">{verb} net.onnx</a>" in text for verb in ("ladder", "load", "bench"))
    for run in over_days([4.0] * 12, of=loaded, noise=QUIET):
        store.save(run)
    with client_of(store) as client:
        assert [state for _, state in jobs(page_of(client))] == ["unchanged"]  # it has a history


def test_an_open_page_learns_of_changes_and_of_a_suite_that_runs(sessions) -> None:
    with client_of(sessions) as client:
        text = page_of(client)
        address = re.search(r'hx-get="(/changes\?seen=\d+)"', text)[1]
        answer = client.get(address)
        assert (answer.status_code, "hx-trigger" in answer.headers) == (204, False)
        sessions.save(process(4.0, of=job("added.onnx")))
        wait_for(lambda: "hx-trigger" in client.get(address).headers)
        assert "added.onnx" in page_of(client, "/?state=unknown")
    plan = result([], cells=(cell("net", "ort-cpu"), cell("net", "trt:fp16"))).plan
    claim = Claim(owner="gpu7 (process 12)", token="t", seconds=900)
    with client_of(sessions) as client:
        seen = re.search(r'hx-get="(/changes\?seen=[^"]*)"', page_of(client))[1]
        sessions.suites.put_suite("nightly", SuiteChange(plan=plan, claim=claim))
        assert "hx-trigger" in client.get(unescape(seen)).headers
        text = page_of(client)
        assert "is running on gpu7 (process 12): 0 of 2 cells" in text
        seen = re.search(r'hx-get="(/changes\?seen=[^"]*)"', text)[1]
        assert "hx-trigger" not in client.get(unescape(seen)).headers


def test_only_models_with_other_runs_are_computed_again(sessions, monkeypatch) -> None:
    read = []
    real = Overview._jobs_of

    def counting(self, rows):
        read.append(rows[0].model)
        return real(self, rows)

    monkeypatch.setattr(Overview, "_jobs_of", counting)
    with client_of(sessions) as client:
        page_of(client)
        assert sorted(read) == sorted(STANDINGS)
        sessions.save(process(4.0, of=job("same.onnx"), created="2026-06-01T00:00:00Z"))
        page_of(client)
        assert sorted(read) == sorted([*STANDINGS, "same.onnx"])
        for run in sessions.rows():
            if run.model == "new.onnx":
                sessions.delete(run.id)
        assert "new.onnx" not in dict(jobs(page_of(client)))


def test_a_gate_marks_its_jobs(sessions) -> None:
    for row in sessions.rows():
        if row.model == "same.onnx":
            sessions.tag(row.id, "base")
    worse = [
        process(
            5.0,
            number,
            of=job("same.onnx"),
            created=f"2026-06-01T0{number}:00:00Z",
            environment=host(),
        )
        for number in range(5)
    ]
    for run in worse:
        sessions.save(run, tags=["now"])
    gate = GatePart(name="nightly", baseline=("base",), current=("now",))
    with client_of(sessions, None, None, Configuration(gate=(gate,))) as client:
        text = page_of(client)
    assert re.search(r'<a class="quiet-link bad" href="/gate/nightly">regression</a>', text)
    assert '<a href="/gate/nightly">gate nightly: failing</a>' in text


def test_replaced_runs_change_the_page(sessions) -> None:
    run = sessions.load(sessions.rows()[0].id)
    with client_of(sessions) as client:
        before = page_of(client)
        sessions.save(replace(run, id="fff000", created="2026-07-01T00:00:00Z"))
        assert page_of(client) != before
