import pytest

from enginescope.backends.trtexec.options import WITHOUT_FLAG
from enginescope.compat.trtexec.arguments import flag_for, read_arguments
from enginescope.compat.trtexec.build_settings import options_of
from enginescope.core.errors import UsageError
from enginescope.formats.trtexec import trtexec_flags
from tests.backends.trtexec.test_specification import VALUES, flags_of
from tests.compat.trtexec.runs import version

FLAGS = trtexec_flags.all_flags()


def test_the_table_has_every_flag_of_trtexec() -> None:
    assert len(FLAGS) == 165
    assert next(iter(FLAGS)) == "--onnx"


@pytest.mark.parametrize("flag", FLAGS.values(), ids=lambda one: one.name)
def test_each_row_says_what_becomes_of_it(flag) -> None:
    word, _, target = flag.to.partition(" ")
    assert flag.kind in ("flag", "int", "float", "text", "file", "shapes")
    assert flag.meaning or word == "alias"
    if word == "option":
        key, equals, _ = target.partition("=")
        assert key in trtexec_flags.OPTIONS
        assert (flag.kind == "flag") == bool(equals)
    elif word == "precision":
        assert target in trtexec_flags.PRECISIONS
    elif word == "alias":
        assert FLAGS[target].alias_of is None
        assert FLAGS[target].kind == flag.kind or target == "--infStreams"
    else:
        assert word in ("setting", "nothing", "refused")


@pytest.mark.parametrize("flag", FLAGS.values(), ids=lambda one: one.name)
def test_each_flag_is_taken_or_refused_by_name_in_every_version(flag) -> None:
    for text in ("8.6.1", "10.16.1", "11.1.0", "11.4.1", "11.5.0"):
        trt = version(text)
        if flag.is_in(trt.release) and not flag.is_refused:
            assert flag_for(flag.name, trt) is flag
            continue
        with pytest.raises(UsageError, match=f"^{flag.name} ") as caught:
            flag_for(flag.name, trt)
        assert caught.value.why
        if flag.last is not None and flag.last < trt.release:
            assert caught.value.hint


NEWEST_FLAGS = (
    *("--independentWeightLayouts", "--saveEngineSo", "--loadEngineSo", "--safe"),
    *("--tuneBuildRoutes", "--tuningSearch", "--tuningCacheFile", "--continue"),
    *("--loadRefOutputs", "--accuracyAlgorithm"),
)


@pytest.mark.parametrize("name", NEWEST_FLAGS)
def test_what_python_cannot_do_of_the_newest_release_is_refused_with_the_reason(name) -> None:
    with pytest.raises(UsageError, match=f"^{name} is not supported") as caught:
        flag_for(name, version("11.5.0"))
    assert len(caught.value.why or "") > 30


def test_a_flag_that_is_gone_or_came_later() -> None:
    with pytest.raises(UsageError, match=r"--fp16 is gone in TensorRT 11\.1\.0") as caught:
        flag_for("--fp16", version("11.1.0"))
    assert "modelopt.onnx.autocast" in str(caught.value.hint)
    with pytest.raises(UsageError, match=r"was added in TensorRT 11\.0") as caught:
        flag_for("--noCudaGraph", version("10.16.1"))
    assert caught.value.why == "installed is 10.16.1"


def test_an_unknown_flag_names_the_nearest() -> None:
    with pytest.raises(UsageError, match="no flag --exportTime") as caught:
        flag_for("--exportTime", version("10.16.1"))
    assert caught.value.hint == "did you mean --exportTimes?"
    with pytest.raises(UsageError) as caught:
        flag_for("--qqqqqqqq", version("10.16.1"))
    assert caught.value.hint == "enginescope trtexec --help lists the flags"


ROWS = [flag for flag in trtexec_flags.table() if flag.key]
#: trtexec has other flags for the same option; the shapes of all profiles are written together.
OTHERS = ("--workspace", "--stripAllWeights", "--dynamicPlugins")
ALONE = [flag for flag in ROWS if flag.name not in ("", *OTHERS) and flag.value != "shapes"]


@pytest.mark.parametrize("flag", ALONE, ids=lambda flag: flag.name)
def test_a_row_gives_the_same_flag_in_both_directions(flag) -> None:
    release = flag.last or max(flag.first, (10, 16))
    trt = (*release, 0)
    value = flag.fixed or VALUES.get(flag.key, "1")
    before = {flag.key: value.partition(",")[0] if flag.repeatable else value}
    written = next(text for text in flags_of(trt, **before) if text.startswith(flag.name))
    arguments = read_arguments([written, "--stronglyTyped"], version("{}.{}.0".format(*release)))
    options = {flag.key: options_of(arguments)[flag.key]}
    assert trtexec_flags.read_options(options) == trtexec_flags.read_options(before)
    assert written in flags_of(trt, **options)


@pytest.mark.parametrize("flag", ROWS, ids=lambda flag: flag.name or flag.key)
def test_a_row_says_how_an_option_is_read_and_what_it_sets(flag) -> None:
    assert flag.value
    assert flag.sets == trtexec_flags.OPTIONS[flag.key].sets
    assert bool(flag.fixed) == (flag.kind == "flag" and bool(flag.name))
    assert flag.sets != "attribute" or flag.kind == "int"


def test_an_option_without_a_flag_says_why_it_is_refused_elsewhere() -> None:
    assert {flag.key for flag in ROWS if not flag.name} == set(WITHOUT_FLAG)
    assert all(WITHOUT_FLAG.values())
