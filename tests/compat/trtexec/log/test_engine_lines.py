from enginescope.compat.trtexec.log.outputs import binding_lines, engine_lines, parsing_lines
from enginescope.records.run.job import InputFile
from enginescope.records.run.run import Phase
from enginescope.records.tensor import DataType, Tensor
from tests.compat.trtexec.runs import measured, settings


def texts(lines) -> list[str]:
    return [one.text for one in lines]


def test_8_counts_the_parsing_with_the_build_and_later_ones_do_not() -> None:
    earlier, later = settings(trt="8.6.1"), settings(trt="10.16.1")
    assert "Engine built in 12.25 sec." in texts(engine_lines(measured(earlier), earlier))
    found = texts(engine_lines(measured(later), later))
    assert "Engine built in 12 sec." in found
    assert "Created engine with size: 2 MiB" in found


def test_what_was_not_done_has_no_line() -> None:
    asked = settings()
    run = measured(asked, phases=(), build=None, device_memory=None)
    assert engine_lines(run, asked) == parsing_lines(run) == ()
    run = measured(asked, phases=(Phase(name="parse", duration_ms=1.0),), build=None)
    assert texts(parsing_lines(run)) == ["Start parsing network model."]
    assert texts(engine_lines(run, asked))[0] == (
        "Finished parsing network model. Parse time: 0.001"
    )


def test_bindings_with_their_source_type_and_shape() -> None:
    asked = settings("--loadInputs=x:a.raw")
    assert asked.files == (InputFile(name="x", path="a.raw"),)
    outputs = (
        Tensor(name="y", shape=(None, 4), dtype=DataType.FP32),
        Tensor(name="n", shape=(), dtype=DataType.INT64),
    )
    assert texts(binding_lines(measured(asked, outputs=outputs), asked)) == [
        "Using values loaded from a.raw for input x",
        "Input binding for x with dimensions 1x3x8x8 and type fp32 is created.",
        (
            "Output binding for y is dynamic and will be created during execution using "
            "OutputAllocator."
        ),
        "Output binding for n with dimensions  and type int64 is created.",
    ]


def test_8_does_not_say_the_type() -> None:
    asked = settings(trt="8.6.1")
    found = texts(binding_lines(measured(asked), asked))
    assert found[:2] == [
        "Using random values for input x",
        "Input binding for x with dimensions 1x3x8x8 is created.",
    ]
