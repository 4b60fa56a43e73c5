"""castscope.variables(): what processes are given that others start, so that they join the run."""

from castscope.run_variables import of_environment

WATCHED = {"LD_PRELOAD": "/usr/lib/other.so:/c/libcastscope.so", "CASTSCOPE_RUN": "/dev/shm/r",
           "CASTSCOPE_AGENTS": "/c", "PYTHONPATH": "/c/src/agent/python/lending:/home/me", "HOME": "/home/me",
           "CASTSCOPE_ONE_RANK": "1"}


def test_only_what_is_castscopes_is_handed_on():
    assert of_environment(WATCHED) == {"LD_PRELOAD": "/c/libcastscope.so", "CASTSCOPE_RUN": "/dev/shm/r",
                                       "CASTSCOPE_AGENTS": "/c", "PYTHONPATH": "/c/src/agent/python/lending"}


def test_a_process_that_is_not_watched_hands_nothing_on():
    assert of_environment({"HOME": "/", "CASTSCOPE_LOG": "debug", "LD_PRELOAD": "/usr/lib/other.so"}) == {}
    assert of_environment(WATCHED | {"CASTSCOPE_OFF": "1"}) == {}


def test_graphs_that_follow_a_policy_keep_their_mark():
    tag = "TORCH_COMPILE_CACHE_KEY_TAG"
    assert of_environment(WATCHED | {tag: "mine-castscope-1f"})[tag] == "mine-castscope-1f"
    assert tag not in of_environment(WATCHED | {tag: "mine"})
