"""Makes the castscope wheel (PEP 517): the Python package, and the program, built by CMake unless it is there.

The backend is our own, since it only has to put a dozen files into a zip: `pip install .` then needs nothing from a
package index. The program is fully static, hence the plain linux tag and no Python version in the name.
"""

import base64
import hashlib
import pathlib
import re
import subprocess
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
PACKAGE = ROOT / "agent" / "python" / "castscope"
TAG = "py3-none-linux_x86_64"
ENTRY_POINTS = "[pytest11]\ncastscope = castscope.pytest_plugin\n"


def _version():
    return re.search(r'^version = "([^"]+)"', (ROOT / "pyproject.toml").read_text(), re.MULTILINE).group(1)


def _metadata():
    return (f"Metadata-Version: 2.1\nName: castscope\nVersion: {_version()}\n"
            "Summary: Shows every precision cast that autocast makes in a PyTorch job\n"
            "License: Apache-2.0\nRequires-Python: >=3.9\nDescription-Content-Type: text/markdown\n\n"
            + (ROOT / "README.md").read_text())


def _program():
    subprocess.run(["cmake", "--preset", "default"], cwd=ROOT, check=True)
    subprocess.run(["cmake", "--build", "--preset", "default", "--target", "castscope"], cwd=ROOT, check=True)
    return ROOT / "build" / "castscope"


def package_files():
    return sorted([*PACKAGE.rglob("*.py"), PACKAGE / "py.typed"])


class _Wheel:
    def __init__(self, path):
        self.zip = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED)
        self.record = []

    def add(self, name, content, mode=0o644):
        entry = zipfile.ZipInfo(name)  # the zip epoch's time: the same content gives the same wheel
        entry.compress_type = zipfile.ZIP_DEFLATED
        entry.external_attr = (0o100000 | mode) << 16
        self.zip.writestr(entry, content)
        digest = base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()
        self.record.append(f"{name},sha256={digest},{len(content)}")

    def close(self, record_name):
        self.zip.writestr(zipfile.ZipInfo(record_name), "\n".join([*self.record, f"{record_name},,"]) + "\n")
        self.zip.close()


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    program = _program()
    name = f"castscope-{_version()}"
    file_name = f"{name}-{TAG}.whl"
    wheel = _Wheel(pathlib.Path(wheel_directory) / file_name)
    for path in package_files():
        wheel.add(path.relative_to(PACKAGE.parent).as_posix(), path.read_bytes())
    wheel.add(f"{name}.data/scripts/castscope", program.read_bytes(), 0o755)
    wheel.add(f"{name}.dist-info/METADATA", _metadata().encode())
    wheel.add(f"{name}.dist-info/WHEEL",
              f"Wheel-Version: 1.0\nGenerator: castscope\nRoot-Is-Purelib: false\nTag: {TAG}\n".encode())
    wheel.add(f"{name}.dist-info/entry_points.txt", ENTRY_POINTS.encode())
    wheel.add(f"{name}.dist-info/licenses/LICENSE", (ROOT / "LICENSE").read_bytes())
    wheel.close(f"{name}.dist-info/RECORD")
    return file_name


def build_sdist(sdist_directory, config_settings=None):
    name = f"castscope-{_version()}"
    path = pathlib.Path(sdist_directory) / f"{name}.tar.gz"
    subprocess.run(["git", "archive", "--format=tar.gz", f"--prefix={name}/", "-o", str(path), "HEAD"], cwd=ROOT,
                   check=True)
    return path.name
