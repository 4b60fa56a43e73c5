"""What others may do to a collector by putting files into its folder."""

from collectors import Collector, define_code, exited, refused, train


def begin(wire, collector, run):
    client = wire.Client(collector.address, run, run_file_name=run)
    process = wire.Process(client, pid=1)
    return client, process


def test_a_collector_writes_into_no_run_file_behind_a_link(wire, castscope, collector):
    """In a folder that everybody may write to, a link could lead to any run file of the collector's user."""
    client, process = begin(wire, collector, "victim")
    define_code(wire, process)
    process.batch(flush=True)
    collector.server.kill()
    collector.server.communicate()
    private = collector.folder.rename(castscope.folder / "private") / "victim.castscope"
    before = private.read_bytes()
    collector.folder.mkdir()
    collector.folder.chmod(0o1777)
    (collector.folder / "link.castscope").symlink_to(private)

    collector.start()
    client, process = begin(wire, collector, "victim")
    train(wire, process)
    process.batch(end=exited(wire))
    client.goodbye()
    client.close()
    said = []
    for line in collector.server.stderr:
        said.append(line)
        if "run victim" in line:
            break
    assert collector.report("victim")["totals"]["casts"] == 6
    assert private.read_bytes() == before
    assert sorted(path.name for path in collector.folder.glob("*.castscope")) == ["link.castscope", "victim.castscope"]
    assert not (collector.folder / "link.json").exists()
    assert any(f"everybody may write to {collector.folder}" in line for line in said)
    assert any("link.castscope: this is a link, and is not followed" in line for line in said)


def test_no_run_begins_in_a_folder_that_another_collector_took(wire, castscope, collector):
    client, process = begin(wire, collector, "open")
    collector.folder.rename(castscope.folder / "away")
    collector.folder.mkdir(mode=0o700)
    other = Collector(castscope, "other")
    assert "no run begins now: " in refused(wire, lambda: begin(wire, collector, "new"))[1]
    train(wire, process)
    process.batch(end=exited(wire))
    client.goodbye()
    client.close()
    client, process = begin(wire, other, "new")
    client.close()
    other.stop()
    assert not [*collector.folder.glob("new-2.castscope")]
