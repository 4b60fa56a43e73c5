#!/usr/bin/env python3
"""Writes what the program is made of, in CycloneDX's JSON, to standard output.

    shipping/sbom.py BUILD_FOLDER >castscope.cdx.json

It asks the build itself: which archives the linker took, which headers the compiler read, and to which Debian packages
these belong; which npm packages are in the viewer's page; for which versions of PyTorch agents are carried. The time in
it is SOURCE_DATE_EPOCH, so that the same build gives the same bytes.
"""

import datetime
import functools
import json
import os
import pathlib
import re
import sys
import uuid

import tomllib
from parts import ROOT, debian_packages, headers_read, lines_of, linked_archives, packages_of_the_page


@functools.cache
def debian_release():
    return re.search(r'^VERSION_ID="?([^"\n]*)', pathlib.Path("/etc/os-release").read_text(), re.MULTILINE)[1]


def of_debian(name, linked):
    form = "${Package}\t${Version}\t${Architecture}\t${source:Package}\t${source:Version}"
    (line,) = lines_of("dpkg-query", "-W", f"-f={form}", name)
    package, version, architecture, source, source_version = line.split("\t")
    version_in_url = version.replace("+", "%2B").replace(":", "%3A")
    url = f"pkg:deb/debian/{package}@{version_in_url}?arch={architecture}&distro=debian-{debian_release()}"
    return {"type": "library", "bom-ref": url, "name": package, "version": version, "purl": url,
            "properties": [{"name": "castscope:source", "value": f"{source} {source_version}"},
                           {"name": "castscope:use", "value": "linked in" if linked else "headers"}]}


def of_the_page():
    for folder, package in packages_of_the_page().items():
        name = str(folder).rpartition("node_modules/")[2]
        url = f"pkg:npm/{name.replace('@', '%40')}@{package['version']}"
        yield {"type": "library", "bom-ref": url, "name": name, "version": package["version"], "purl": url,
               "licenses": [{"license": {"id": package["license"]}}],
               "properties": [{"name": "castscope:use", "value": "in the viewer's page"}]}


def of_the_agents(archive):
    """An agent is made of castscope's sources and PyTorch's headers. The archive: server/cli/agents/prebuilt.cc."""
    if not archive.exists():
        return
    content = archive.read_bytes()
    index = json.loads(content[8:8 + int.from_bytes(content[:8], "little")])
    for agent in sorted(index["agents"], key=lambda agent: (agent["torch_version"], agent["torch_key"])):
        url = f"pkg:pypi/torch@{agent['torch_version']}"
        yield {"type": "library", "bom-ref": f"{url}#{agent['torch_key']}", "name": "torch",
               "version": agent["torch_version"], "purl": url,
               "licenses": [{"license": {"id": "BSD-3-Clause"}}],
               "properties": [{"name": "castscope:use", "value": "headers of a carried agent"},
                              {"name": "castscope:build", "value": agent["torch_key"]}]}


def bill(build):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    linked = debian_packages(linked_archives(build))
    packages = linked | debian_packages(headers_read(build))
    parts = [*(of_debian(name, name in linked) for name in sorted(packages)), *of_the_page(),
             *of_the_agents(build / "prebuilt" / "agents")]
    (commit,) = lines_of("git", "-C", ROOT, "rev-parse", "HEAD")
    time = datetime.datetime.fromtimestamp(int(os.environ["SOURCE_DATE_EPOCH"]), datetime.timezone.utc)
    itself = f"pkg:pypi/castscope@{project['version']}"
    return {
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, commit + json.dumps(parts))}",
        "metadata": {
            "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "component": {"type": "application", "bom-ref": itself, "name": "castscope", "version": project["version"],
                          "purl": itself, "licenses": [{"license": {"id": project["license"]}}],
                          "properties": [{"name": "castscope:commit", "value": commit}]},
            "properties": [{"name": "castscope:compiler", "value": lines_of("c++", "--version")[0]}],
        },
        "components": parts,
        "dependencies": [{"ref": itself, "dependsOn": [part["bom-ref"] for part in parts]}],
    }


def main():
    if len(sys.argv) != 2 or not (pathlib.Path(sys.argv[1]) / "build.ninja").exists():
        sys.exit("usage: shipping/sbom.py BUILD_FOLDER   (a folder in which Ninja has built castscope)")
    if not os.environ.get("SOURCE_DATE_EPOCH", "").isdigit():
        sys.exit("SOURCE_DATE_EPOCH must be set: the time that the list is to bear, in seconds since 1970")
    print(json.dumps(bill(pathlib.Path(sys.argv[1])), indent=1))


if __name__ == "__main__":
    main()
