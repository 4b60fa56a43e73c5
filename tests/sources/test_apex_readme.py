"""apex's README: apex_readme.py, under `castscope run --apex`."""

import pytest

JOBS = "apex_readme.py"
LOOPS = ("one_optimizer", "two_optimizers", "two_losses")


@pytest.mark.parametrize("job", LOOPS)
def test_a_loop_has_its_steps_and_no_finding(run, job):
    told = run(job, "--apex")
    assert told.steps == 4 and told.rules() == set()
    assert told.totals["casts"] > 0


def test_switched_off_it_does_nothing(run):
    told = run("switched_off", "--apex")
    assert told.totals["casts"] == 0 and told.rules() == set()


def test_every_cast_is_printed(run):
    told = run("every_cast_is_printed", "--apex")
    printed = [line for line in told.printed if "->" in line]
    assert len(printed) == told.totals["casts"] == 5


def test_cells_in_a_loop_cast_their_weights_once(run):
    kept, anew = run("cells_in_a_loop", "--apex"), run("without_caching", "--apex")
    assert kept.casts(role="weight") * 4 == anew.casts(role="weight") > 0
    assert anew.finding("weight-cast-repeatedly") and kept.rules() == set()


def test_without_scale_loss(run):
    told = run("without_scale_loss", "--apex")
    assert told.found_at("region-contains-backward", "without scale_loss")
    assert "cache-stale-weight" not in told.rules(), "it is cleared by hand after each step"


@pytest.mark.parametrize(("job", "dtype"), [("half_function", "bfloat16"), ("float_function", "float32"),
                                            ("promote_function", "float32")])
def test_casts_of_annotations_have_their_function(run, job, dtype):
    told = run(job, "--apex")
    assert told.printed == [f"torch.{dtype}"]
    sites = told.sites(cause="annotation")
    assert sum(site["casts"] for site in sites) == told.totals["casts"] == (3 if dtype == "bfloat16" else 1)
    assert told.operators(cause="annotation") == {"backend"}
    assert {site["location"]["line"] for site in sites} == {told.line("annotated")}
    assert {site["argument"] for site in sites} == (
        {"hidden", "weight", "bias"} if dtype == "bfloat16" else {"given"})


@pytest.mark.parametrize(("job", "dtype"), [("registered_half", "bfloat16"), ("registered_float", "float32"),
                                            ("registered_promote", "float32")])
def test_registered_functions(run, job, dtype):
    told = run(job, "--apex")
    assert told.printed == [f"torch.{dtype}"] and told.operators(cause="annotation") == {"backend"}


def test_cells_and_layers(run):
    told = run("recurrent_layers", "--apex")
    assert [line.split()[0] for line in told.printed] == ["RNN", "LSTM", "GRU", "RNNCell", "LSTMCell", "GRUCell"]
    assert told.casts(role="weight") > 0


def test_the_three_kinds_of_functions(run):
    told = run("the_three_kinds", "--apex")
    low, full = "torch.bfloat16", "torch.float32"
    assert told.printed == [f"{low} {low}", f"{full} {full}", f"{low} {full} {full} {full}", f"{low} {full} {low}"]
