import pytest

from enginescope.compat.trtexec.arguments import flag_for
from enginescope.core.errors import UsageError
from enginescope.formats.trtexec.trtexec_flags import OPTIONS, PRECISIONS, all_flags
from tests.compat.trtexec.runs import version

FLAGS = all_flags()


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
        assert key in OPTIONS
        assert (flag.kind == "flag") == bool(equals)
    elif word == "precision":
        assert target in PRECISIONS
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
