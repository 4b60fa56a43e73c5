"""A program of PyInstaller, which carries Python and PyTorch."""

import pytest
from launched import INSTALLED, must_be_exact
from recipes import Recipe

pytestmark = pytest.mark.skipif(not INSTALLED, reason="scripts/launchers installs the launchers, and runs this")
FROZEN = Recipe("frozen", "single", needs="pyinstaller")


@pytest.fixture(scope="module")
def program(workshop, tmp_path_factory):
    """The folder dist/train of train.py."""
    if missing := FROZEN.missing(workshop.path()):
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("frozen")
    made = workshop.shell(f"pyinstaller --noconfirm --log-level ERROR --distpath {folder} --workpath {folder}/work "
                          "--specpath . --exclude-module torch.utils.tensorboard train.py", workshop.fresh("to-freeze"),
                          "stand-in", {}, limit_s=1500)
    assert made.status == 0, made.stderr[-3000:]
    return folder / "train"


def test_the_program_is_observed_exactly(workshop, program):
    folder = workshop.fresh("traced-frozen")
    (folder / "dist").mkdir()
    (folder / "dist/train").symlink_to(program)
    must_be_exact(FROZEN, workshop.count(FROZEN), workshop.trace_in(FROZEN, folder))
