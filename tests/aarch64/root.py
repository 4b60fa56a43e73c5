"""A folder with what a 64-bit ARM Debian has for Python, and with a PyTorch for it. Nothing is installed, and no
privileges are needed: packages and wheels are fetched by apt and pip, and unpacked."""

import pathlib
import subprocess
import sys
import zipfile

MIRROR = "http://deb.debian.org/debian"
RELEASE = "bookworm"
PYTHON = "python3.11"
PACKAGES = [PYTHON, "libstdc++6", "libgomp1"]
# PyTorch's wheels for this processor that are on PyPI are CPU builds up to 2.8.
NEEDED = ["numpy==2.2.6", "filelock", "typing_extensions", "sympy==1.13.3", "mpmath==1.3.0", "networkx==3.4.2",
          "jinja2", "fsspec", "markupsafe"]
PLATFORMS = ["manylinux_2_28_aarch64", "manylinux_2_17_aarch64", "manylinux2014_aarch64"]

APT = """\
Dir "{folder}";
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
"""


def apt_folder(folder):
    """apt's files of its own: it knows no installed package, so it fetches each that Python needs."""
    for name in ("etc/apt/apt.conf.d", "etc/apt/preferences.d", "etc/apt/trusted.gpg.d", "var/lib/apt/lists/partial",
                 "var/cache/apt/archives/partial", "var/lib/dpkg"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "var/lib/dpkg/status").touch()
    key = "/usr/share/keyrings/debian-archive-keyring.gpg"
    (folder / "etc/apt/sources.list").write_text(f"deb [signed-by={key}] {MIRROR} {RELEASE} main\n")
    configuration = folder / "apt.conf"
    configuration.write_text(APT.format(folder=folder))
    return configuration


def fetch_system(folder, root):
    configuration = apt_folder(folder / "apt")
    apt = ["env", f"APT_CONFIG={configuration}", "apt-get", "--quiet", "--quiet"]
    subprocess.run([*apt, "update"], check=True, stdout=sys.stderr)
    subprocess.run([*apt, "install", "--yes", "--download-only", *PACKAGES], check=True, stdout=sys.stderr)
    for package in sorted((folder / "apt/var/cache/apt/archives").glob("*.deb")):
        subprocess.run(["dpkg-deb", "--extract", str(package), str(root)], check=True)


def fetch_packages(folder, site, torch):
    platforms = [f"--platform={platform}" for platform in PLATFORMS]
    subprocess.run([sys.executable, "-m", "pip", "--disable-pip-version-check", "download", "--quiet", "--no-deps",
                    "--only-binary=:all:", *platforms, "--python-version=3.11", "--dest", str(folder / "wheels"),
                    f"torch==={torch}", *NEEDED], check=True, stdout=sys.stderr)
    for wheel in sorted((folder / "wheels").glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)


def make(folder: pathlib.Path, torch: str):
    """Returns the root, and the folder in it that has PyTorch. What is there is not fetched again."""
    root, mark = folder / "root", folder / f"root-has-torch-{torch}"
    site = root / "opt/site"
    if not mark.exists():
        site.mkdir(parents=True, exist_ok=True)
        fetch_system(folder, root)
        fetch_packages(folder, site, torch)
        mark.touch()
    return root, site
