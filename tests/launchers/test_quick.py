"""Launchers that need nothing but PyTorch: an unmodified job is observed exactly."""

import concurrent.futures
import socket

import pytest
from launched import must_be_exact
from recipes import QUICK


def has_localhost():
    try:
        return bool(socket.getaddrinfo("localhost", None, socket.AF_INET))
    except OSError:
        return False


@pytest.fixture(scope="module", autouse=True)
def localhost():
    if not has_localhost():
        pytest.skip("torchrun waits for ever, with castscope or without: this machine has no address for localhost")


@pytest.fixture(scope="module")
def outcomes(request, workshop):
    """The recipes that are tested, two at a time: most of each is the start of PyTorch."""
    chosen = {item.callspec.params["recipe"].name: item.callspec.params["recipe"] for item in request.session.items
              if item.path == request.path and hasattr(item, "callspec") and "recipe" in item.callspec.params}
    first = {recipe.counted_by or recipe.name: recipe for recipe in chosen.values()}
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        counted = {key: pool.submit(workshop.count, recipe) for key, recipe in first.items()}
        traced = {name: pool.submit(workshop.trace, recipe) for name, recipe in chosen.items()}
        return {name: (counted[recipe.counted_by or name].result(), traced[name].result())
                for name, recipe in chosen.items()}


@pytest.mark.parametrize("recipe", QUICK, ids=lambda recipe: recipe.name)
def test_the_job_is_observed_exactly(recipe, outcomes):
    must_be_exact(recipe, *outcomes[recipe.name])
