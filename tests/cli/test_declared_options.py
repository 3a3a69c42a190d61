"""Verbs whose options are declared by their requests: one text, one default, one bound of each."""

import inspect
import re
from collections import defaultdict
from importlib import import_module

import click
import pytest

import enginescope as es
from enginescope.cli.main import VERBS
from enginescope.cli.verb import long_flag
from enginescope.services.accuracy.request import DepthRequest, ValidateRequest
from enginescope.services.contend.contend import ContendRequest
from enginescope.services.declared import Declared, declared
from enginescope.services.ladder.ladder import LadderRequest
from enginescope.services.load.request import LoadRequest
from enginescope.services.lottery.lottery import LotteryRequest
from enginescope.services.measurement.bench import BenchRequest
from enginescope.services.measurement.build import BuildRequest
from enginescope.services.measurement.jobs import JobRequest, MeasureRequest
from enginescope.services.measurement.noise import NoiseRequest, SelfTestRequest
from enginescope.services.measurement.rounds import InterleavedRequest
from enginescope.services.plans.explore_request import ExploreRequest
from enginescope.services.sensitivity.search import SensitivityRequest
from enginescope.services.shapes.shapes import ShapesRequest
from enginescope.services.suites.request import SuiteRequest
from enginescope.services.tune.alternatives import TuneRequest
from enginescope.services.upgrade.request import UpgradeRequest
from enginescope.services.upgrade.search import SearchParameters

REQUESTS = {
    "bench": JobRequest,
    "build": BuildRequest,
    "depth": DepthRequest,
    "explore": ExploreRequest,
    "contend": ContendRequest,
    "ladder": LadderRequest,
    "load": LoadRequest,
    "lottery": LotteryRequest,
    "sensitivity": SensitivityRequest,
    "shapes": ShapesRequest,
    "suite": SuiteRequest,
    "tune": TuneRequest,
    "upgrade": UpgradeRequest,
    "validate": ValidateRequest,
}
#: Public function -> its request.
PYTHON = {
    **{name: request for name, request in REQUESTS.items() if name != "suite"},
    "bench": BenchRequest,
    "bench_interleaved": InterleavedRequest,
    "noise_floor": NoiseRequest,
    "search_releases": SearchParameters,
    "self_test": SelfTestRequest,
}
#: Flags that mean another thing in a verb: why.
OWN_MEANING = {
    ("contend", "on"): "a backend for each model",
    ("load", "data"): "a data set of ONNX",
    ("load", "on"): "a server is a backend too",
    ("sensitivity", "on"): "the backend runs layers in FP32",
    ("upgrade", "on"): "a backend for each stack",
    ("upgrade", "builds"): "rounds with builds of both engines",
    ("upgrade", "repeats"): "outputs, not rates",
    ("upgrade", "rounds"): "at most, of each model",
    ("upgrade", "tolerance"): "that of the outputs of both stacks",
    ("tune", "on"): "the backends are alternatives",
    ("shapes", "batch"): "sizes in ascending order",
    ("tune", "batch"): "alternatives",
    ("tune", "rounds"): "at most, of the confirmation",
    ("contend", "duration"): "the window of all contenders",
    ("load", "duration"): "of arrivals",
    ("load", "trace"): "arrivals, not sizes",
    ("load", "timeout"): "by default as long as the load test needs",
}


def options_of(verb: str) -> dict[str, click.Option]:
    command = import_module(VERBS[verb][0]).command
    options = [one for one in command.params if isinstance(one, click.Option)]
    flags = [one for one in options if any(text.startswith("--") for text in one.opts)]
    return {long_flag(one): one for one in flags}


def flags_of(verb: str) -> list[Declared]:
    return [one for one in declared(REQUESTS[verb]) if one.param.has_flag and not one.is_required]


@pytest.mark.parametrize("verb", REQUESTS)
def test_every_declared_field_is_an_option_with_its_text_and_its_default(verb: str) -> None:
    options = options_of(verb)
    for one in flags_of(verb):
        option = options[one.flag.removeprefix("--").partition("/")[0]]
        assert option.name == one.name
        assert (option.help or "").startswith(one.param.text.removesuffix("."))
        if option.show_default and not option.is_flag:
            assert option.default == one.default
        else:
            assert one.default in (None, False, True, ()) or one.default == {}
        if isinstance(option.type, click.IntRange):
            assert (option.type.min, option.type.max) == (one.param.least, one.param.most)


@pytest.mark.parametrize("verb", REQUESTS)
def test_a_module_of_a_declared_verb_has_no_second_declaration(verb: str) -> None:
    source = inspect.getsource(import_module(VERBS[verb][0]))
    flags = [one.flag for one in flags_of(verb)]
    assert [flag for flag in flags if re.search(rf'option\(\s*"{flag}"', source)] == []


def test_an_option_of_one_meaning_has_one_text_one_default_one_bound_and_one_metavar() -> None:
    told = defaultdict(set)
    for verb in (name for name, request in REQUESTS.items() if issubclass(request, MeasureRequest)):
        for flag, one in options_of(verb).items():
            if (verb, flag) not in OWN_MEANING:
                context = click.Context(click.Command(verb))
                told[flag].add((one.get_help_record(context), str(one.get_default(context))))
    assert {flag: texts for flag, texts in told.items() if len(texts) > 1} == {}


def test_what_has_its_own_meaning_exists() -> None:
    assert [key for key in OWN_MEANING if key[1] not in options_of(key[0])] == []


@pytest.mark.parametrize("name", PYTHON)
def test_python_takes_the_fields_of_the_request(name: str) -> None:
    parameters = inspect.signature(getattr(es, name)).parameters
    fields = {one.name: one for one in declared(PYTHON[name])}
    assert [*parameters] == [*fields]
    for each, parameter in parameters.items():
        if each not in ("workload", "conditions", "models", "preprocessing"):
            assert parameter.default == fields[each].default


def test_no_function_is_written_with_more_than_12_parameters() -> None:
    functions = {name: getattr(es, name) for name in es.__all__}
    codes = {
        name: inspect.unwrap(function).__code__
        for name, function in functions.items()
        if inspect.isfunction(function)
    }
    counts = {name: code.co_argcount + code.co_kwonlyargcount for name, code in codes.items()}
    assert {name: count for name, count in counts.items() if count > 12} == {}
