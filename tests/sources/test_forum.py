"""The forum's thread on autocast around a whole training loop: forum.py, under castscope."""

from reports import casts_by_cause

JOBS = "forum.py"


def test_a_region_around_the_epoch_is_found(run):
    told = run("region_around_the_epoch")
    assert told.found_at("region-spans-steps", "region around the epoch")
    assert told.found_at("region-contains-backward", "backward inside")
    assert told.finding("cache-stale-weight")["severity"] == "error"


def test_a_region_around_forward_and_loss_is_right(run):
    told = run("region_around_forward_and_loss")
    assert told.rules() == set() and told.steps == 4
    assert casts_by_cause(told.report)["backward"] > 0, "backward casts gradients where forward cast"


def test_a_result_used_outside_names_its_line(run):
    told = run("result_is_used_outside")
    assert told.found_at("dtype-mismatch-error", "used outside")


def test_a_cast_that_does_nothing_is_none(run):
    told = run("result_is_cast_back")
    assert told.printed == ["torch.float32"] and told.rules() == set()
    assert told.casts(cause="user_to") == 1


def test_inference_in_one_region_keeps_the_weights(run):
    told = run("inference_in_one_region")
    assert told.rules() == set()
    assert (told.casts(role="weight"), told.hits(role="weight")) == (4, 12)
    assert {site["why_not_cached"] for site in told.sites(role="input")} == {"no_requires_grad"}
    assert told.casts(role="input") == 4 and told.hits(role="input") == 0


def test_the_full_summary_says_why_inputs_are_not_kept(run):
    screen = run("inference_in_one_region", "--summary=full").screen
    assert "not cached: inputs 4 (" in screen
    for role in ("weight", "input"):
        assert role in screen


def test_a_cache_that_grows_is_found(run):
    told = run("many_models_in_one_region")
    assert told.found_at("cache-grows", "grows")
    assert told.report["cache"]["cache_peak_bytes"] > 100 * 512 * 512 * 2


def test_dtypes_of_layers_are_those_of_the_hook(run):
    told = run("layers_and_softmax", "--deep", "always")
    assert told.printed == ["Linear [torch.float32] torch.bfloat16", "Linear [torch.bfloat16] torch.bfloat16",
                            "Softmax [torch.bfloat16] torch.bfloat16"]
    assert [(row["module_type"], row["arguments"][0]["given_dtype"], row["result_dtype"]) for row in told.layers()
            if row["module_type"]] == [
        ("Linear", "float32", "bfloat16"), ("Linear", "bfloat16", "bfloat16"), ("Softmax", "bfloat16", "bfloat16")]
    assert told.layers("softmax.int")[0]["elsewhere"]["cuda"] == "float32", "the thread's own GPU computes it so"


def test_all_casts_are_logged_with_their_role(run):
    told = run("layers_and_softmax")
    roles = {role: told.casts(role=role) for role in ("input", "weight", "activation")}
    assert roles == {"input": 1, "weight": 4, "activation": 0}
    assert told.operators() == {"linear"} and all(site["location"]["line"] for site in told.report["sites"])


def test_boxes_that_are_cast_are_told(run):
    told = run("boxes_are_cast")
    assert told.casts(operator="mm", role="input") == 4


def test_a_pooling_that_switches_autocast_off_casts_nothing(run):
    told = run("pooling_switches_autocast_off")
    assert told.casts(operator="mm") == 0 and told.rules() == set()


def test_a_pooling_that_is_forced_to_float32(run):
    told = run("pooling_is_forced_to_float32")
    assert told.casts(operator="mm") == 0 and told.rules() == set()


def test_boxes_that_are_never_cast(run):
    told = run("boxes_are_never_cast")
    kept = [row for row in told.report["protected_arguments"] if row["argument"] == "rois"]
    assert kept and {row["given_dtype"] for row in kept} == {"float32"}


def test_backward_in_the_models_own_loop_is_found(run):
    assert run("backward_inside_the_region").found_at("region-contains-backward", "backward of the model's own loop")


def test_a_trace_within_a_region_needs_the_cache_off(run):
    told = run("traced_within_a_region")
    assert told.found_at("trace-caches-weight", "traced with the cache")
    assert "cache_enabled=False" in told.finding("trace-caches-weight")["fix"]


def test_a_trace_without_the_cache_is_not_told_to_keep_it(run):
    told = run("traced_without_the_cache")
    assert told.printed == ["torch.bfloat16"] * 3 + ["True"]
    assert "weight-cast-repeatedly" not in told.rules()


def test_a_region_inside_what_is_traced(run):
    assert run("traced_with_the_region_inside").printed == ["torch.bfloat16"]


def test_inputs_are_cast_at_the_first_operator_that_autocast_knows(run):
    told = run("first_operator_keeps_float32")
    assert told.printed == ["torch.bfloat16"]
    assert told.operators() == {"linear"} and told.report["model_input"]["to_dtype"] is None


def test_the_graph_shows_the_casts(run):
    told = run("layers_and_softmax", "--deep", "always")
    dot = told.as_format("dot")
    assert "digraph" in dot and "linear" in dot and "float32" in dot
