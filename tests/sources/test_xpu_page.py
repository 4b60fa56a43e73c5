"""Intel's page on autocast for XPU: xpu_page.py, under castscope."""

JOBS = "xpu_page.py"


def test_without_autocast_nothing_is_cast(run):
    told = run("default_precision")
    assert told.printed == ["torch.float32"] and told.totals["casts"] == 0


def test_inference_in_float16(run):
    told = run("imperative")
    assert told.printed == ["torch.float16"] and told.totals["casts"] == 2 and told.rules() == set()


def test_bfloat16_is_the_default_of_ipex(run):
    assert run("region_without_a_dtype").printed == ["torch.float16"], "as PyTorch has it"
    assert run("region_without_a_dtype", "--enforce", "ipex-xpu").printed == ["torch.bfloat16"]
    assert run("region_without_a_dtype", "--enforce", "torch-xpu").printed == ["torch.float16"]


def test_the_graph_path(run):
    told = run("traced_and_frozen")
    assert told.printed == ["torch.bfloat16"] and told.rules() == set()


def test_training(run):
    told = run("trained")
    assert told.steps == 4 and told.rules() == set()
    assert told.totals["casts"] == told.casts(cause="autocast") > 0


def test_eligibility(run):
    told = run("eligibility", "--deep", "always")
    assert told.printed == ["torch.float64 torch.int64", "torch.bfloat16", "torch.float32", "torch.float32"]
    assert {site["location"]["line"] for site in told.report["sites"]} == {told.line("out of place")}
    assert {told.line("in place"), told.line("out")} == {
        finding["location"]["line"] for finding in told.report["findings"]
        if finding["rule"] == "op-inplace-or-out-skipped"}
    reasons = {(row["location"]["line"], given["why_not_cast"]) for row in told.layers() for given in row["arguments"]}
    assert (told.line("in place"), "in_place_or_out") in reasons and (told.line("out"), "in_place_or_out") in reasons
    assert (told.line("not eligible"), "float64") in reasons


def test_the_way_of_calling_does_not_matter(run):
    assert run("namespaces").printed == [" ".join(["torch.bfloat16"] * 5)]


def test_unlisted_operators_keep_their_inputs_dtype(run):
    told = run("unlisted_operators", "--deep", "always")
    assert told.printed == ["torch.float32 torch.bfloat16"]
    assert {(row["arguments"][0]["why_not_cast"], row["result_dtype"]) for row in told.layers("relu")} == {
        ("not_listed", "float32"), ("not_listed", "bfloat16")}


def test_promotion(run):
    told = run("promotion")
    assert told.printed == ["torch.bfloat16 torch.float32 torch.float32", "torch.float32", "torch.float32"]
    assert told.casts(operator="cat") == told.casts(operator="stack") == 1
    assert told.casts(cause="promotion") == 2, "inside and outside of the region alike"
