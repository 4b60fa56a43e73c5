"""The page on autocast in TorchScript: jit_page.py, under castscope."""

JOBS = "jit_page.py"


def test_casts_of_a_scripted_region_are_autocasts(run):
    scripted, eager = run("scripted_function"), run("the_same_in_eager")
    assert scripted.printed == eager.printed == ["torch.bfloat16"] * 2
    assert scripted.totals["casts"] == eager.totals["casts"] == 4
    region = scripted.region_at("region")
    assert (region["entered"], region["casts"]) == (2, 4)
    assert (region["region_kind"], region["region_dtype"]) == ("script", "bfloat16")
    assert {site["location"]["line"] for site in scripted.report["sites"]} == {scripted.line("product")}
    assert scripted.rules() == set()


def test_the_first_screen_counts_a_scripts_casts(run):
    screen = run("scripted_function").screen
    assert "4 casts" in screen and "never asked" not in screen and "--deep always" not in screen


def test_a_scripted_module_is_trained_as_the_eager_one(run):
    scripted, eager = run("scripted_module_is_trained"), run("eager_module_is_trained")
    assert scripted.steps == eager.steps == 4
    assert scripted.report["coverage"]["deep_operators"] > 0
    modules = {("Net", f"blocks.{number}.{name}") for number in (0, 1) for name in "ab"}
    for told in (scripted, eager):
        assert {(site["model"], site["module"]) for site in told.sites(role="weight", phase="forward")} == modules


def test_a_traced_function_has_its_casts(run):
    assert run("traced_function").printed == ["torch.bfloat16"]


def test_a_decorated_helper_is_told_at_its_decorator(run):
    told = run("decorated_helper")
    assert told.printed[0].startswith("raised: ")
    assert told.found_at("script-unsupported-autocast", "decorated helper") or "decorat" in told.text(
        "script-unsupported-autocast")


def test_a_decorated_function_is_told_at_its_decorator(run):
    told = run("decorated_function")
    assert "decorator" in told.finding("script-unsupported-autocast")["title"]


def test_a_decorated_method_is_not_dropped_silently(run):
    told = run("decorated_method")
    assert told.printed == ["torch.float32"]
    told.finding("script-drops-decorator")


def test_enabled_at_run_time_is_told_at_the_region(run):
    told = run("enabled_argument")
    assert told.found_at("script-unsupported-autocast", "chosen at run time")
    assert "constant" in told.text("script-unsupported-autocast")


def test_a_named_region_is_told_at_the_region(run):
    told = run("region_with_a_name")
    assert told.found_at("script-unsupported-autocast", "named region")
    assert "as" in told.finding("script-unsupported-autocast")["title"]


def test_titles_of_misuses_differ(run):
    titles = [run(job).finding("script-unsupported-autocast")["title"]
              for job in ("decorated_function", "enabled_argument", "region_with_a_name")]
    assert len(set(titles)) == 3


def test_conservative_promotion_is_found_in_the_run(run):
    told = run("promotion")
    assert told.printed == ["torch.bfloat16 torch.float32"]
    assert told.found_at("script-dtype-differs", "sum of products")


def test_a_missing_policy_is_found_in_the_run(run):
    told = run("missing_policy")
    eager, scripted = told.printed[0].split()
    assert (eager == scripted) or told.found_at("script-dtype-differs", "total")


def test_what_a_trace_drops_is_told_where_a_script_calls_it(run):
    told = run("script_calls_traced")
    assert told.printed == ["torch.float32 rounded"], "the result's dtype does not tell it"
    assert told.found_at("trace-drops-disable", "traced with autocast off")


def test_a_script_in_a_trace_loses_its_region(run):
    told = run("trace_calls_script")
    assert told.printed == ["torch.bfloat16 torch.float32"]
    assert told.found_at("trace-drops-region", "trace of a script")


def test_a_script_cannot_switch_off_eager_autocast(run):
    told = run("eager_region_around_a_disabled_script")
    assert told.printed == ["torch.bfloat16"] * 2
    assert told.found_at("script-ignores-disable", "switched off in the script")


def test_a_region_that_is_ignored_is_told(run):
    told = run("region_is_ignored")
    assert told.printed == ["torch.float32"]
    assert told.found_at("region-wrong-device", "of another device")
