"""Whether castscope reports what the oracle counted."""

DTYPES = {5: "float16", 6: "float32", 7: "float64", 15: "bfloat16"}
TOTALS = ("casts", "cache_hits", "pass_throughs", "traced", "bytes")


def by_graphs(report, key, process=None):
    """Returns what TorchScript's casts add to the totals: they are in its graphs, and the oracle counts cached_cast."""
    return sum(use[key] for site in report["sites"] if site["cause"] == "script" and key in site
               for use in site["by_process"] if process in (None, use["process"]))


def assert_totals(report, counts):
    totals = {key: report["totals"][key] - by_graphs(report, key) for key in TOTALS}
    assert totals == {key: getattr(counts, key) for key in TOTALS}
    assert report["cache"]["cache_clears"] == counts.clears
    by_process = sorted(tuple(process[key] - by_graphs(report, key, process["process"]) for key in TOTALS)
                        for process in report["processes"])
    assert [row for row in by_process if any(row)] == sorted(tuple(getattr(each, key) for key in TOTALS)
                                                             for each in counts.each if each.calls())


def assert_sites(report, counts):
    sites = [site for site in report["sites"] if site["cause"] == "autocast"]
    for key in ("casts", "cache_hits", "bytes"):
        assert sum(site[key] for site in sites) == report["totals"][key] - by_graphs(report, key), key
    assert sum(row["pass_throughs"] for row in report["pass_through_places"]) == report["totals"]["pass_throughs"]
    pairs = {}
    for site in sites:
        pair = pairs.setdefault((site["from_dtype"], site["to_dtype"]), [0, 0, 0])
        for index, key in enumerate(("casts", "cache_hits", "bytes")):
            pair[index] += site[key]
    assert pairs == {(DTYPES[a], DTYPES[b]): values for (a, b), values in counts.pairs.items()}
    assert all(site["location"]["file"] for site in sites if site["casts"] or site["cache_hits"])


def assert_run(report, status):
    assert report["run"]["complete"] is True
    assert report["run"]["exit_status"] == status
    for process in report["processes"]:
        for lane in process["lanes"]:
            assert lane["events_received"] + lane["events_dropped"] == lane["events_made"]
