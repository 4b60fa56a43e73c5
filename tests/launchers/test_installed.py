"""Launchers that have to be installed: scripts/launchers does so, and runs these."""

import pytest
import slurm
from launched import INSTALLED, must_be_exact
from recipes import INSTALLED_RECIPES, Recipe

pytestmark = pytest.mark.skipif(not INSTALLED, reason="scripts/launchers installs the launchers, and runs this")


@pytest.mark.parametrize("recipe", INSTALLED_RECIPES, ids=lambda recipe: recipe.name)
def test_the_job_is_observed_exactly(recipe, workshop):
    if missing := recipe.missing(workshop.path()):
        pytest.skip(missing)
    must_be_exact(recipe, workshop.count(recipe), workshop.trace(recipe))


@pytest.fixture(scope="module")
def of_slurm(tmp_path_factory):
    if why := slurm.why_not():
        pytest.skip(why)
    with slurm.cluster(tmp_path_factory.mktemp("slurm")) as variables:
        yield variables


def test_tasks_of_srun_are_observed_exactly(workshop, of_slurm):
    recipe = Recipe("task", "ranks", (0, 1), runs=2)
    must_be_exact(recipe, workshop.count(recipe), workshop.trace(recipe, of_slurm))
