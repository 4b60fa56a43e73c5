"""That scripts/same-reports finds what it is for: a byte that differs, in any part of an answer."""

import itertools
import json
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent)]
import same_answers  # noqa: E402
from same_answers import Answer, ask, compare, compare_recordings, compare_streams  # noqa: E402
from same_result import Result, read_expected  # noqa: E402

TEXT = b"".join(b"line %d\n" % number for number in range(1000))


@pytest.fixture
def program(tmp_path):
    """Makes a program that answers by this shell script."""
    numbers = itertools.count()

    def make(script):
        path = tmp_path / f"program-{next(numbers)}"
        path.write_text("#!/bin/sh\n" + script)
        path.chmod(0o755)
        return path

    return make


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "folder").mkdir()
    return tmp_path / "folder"


def parts_that_differ(was, now, *again):
    differences, by_nature = compare(was, now, lambda: list(again) or [was])
    return [difference.part for difference in differences], by_nature


def test_equal_answers_are_equal_and_nobody_is_asked_again():
    assert compare(Answer(0, TEXT), Answer(0, TEXT), lambda: pytest.fail("asked again")) == ([], [])


@pytest.mark.parametrize("part, now", [
    ("exit status", Answer(1, TEXT, b"said", {"a": b"1"})),
    ("stdout", Answer(0, TEXT.replace(b"line 500\n", b"line 500 \n"), b"said", {"a": b"1"})),
    ("stdout", Answer(0, TEXT[:-1], b"said", {"a": b"1"})),
    ("stderr", Answer(0, TEXT, b"said\r\n", {"a": b"1"})),
    ("file a", Answer(0, TEXT, b"said", {"a": b"2"})),
    ("file a", Answer(0, TEXT, b"said")),
    ("file b", Answer(0, TEXT, b"said", {"a": b"1", "b": b""})),
])
def test_a_planted_difference_is_found(part, now):
    assert parts_that_differ(Answer(0, TEXT, b"said", {"a": b"1"}), now) == ([part], [])


def test_the_excerpt_shows_the_line_and_where_it_is():
    was, now = Answer(0, TEXT), Answer(0, TEXT.replace(b"line 500\n", b"other\n"))
    (difference,), _ = compare(was, now, lambda: [was])
    assert "-line 500" in difference.excerpt and "+other" in difference.excerpt and " line 499" in difference.excerpt
    assert len(difference.excerpt) < 1000


def test_the_excerpt_of_one_long_line_is_short():
    was, now = b"x" * 5_000_000 + b"1" + b"x" * 100, b"x" * 5_000_000 + b"2" + b"x" * 100
    (difference,), _ = compare(Answer(0, was), Answer(0, now), lambda: [Answer(0, was)])
    assert len(difference.excerpt) < 1000 and "-" + "x" * 80 + "1" in difference.excerpt


def test_what_differs_by_nature_is_told_and_what_is_steady_in_it_is_compared():
    was, again = Answer(0, b"at 10:01\ncasts 5\n"), Answer(0, b"at 10:02\ncasts 5\n")
    assert parts_that_differ(was, Answer(0, b"at 10:03\ncasts 5\n"), again) == ([], ["stdout"])
    assert parts_that_differ(was, Answer(0, b"at 10:03\ncasts 6\n"), again) == (["stdout"], [])
    assert parts_that_differ(was, Answer(1, b"at 10:03\ncasts 5\n"), again) == (["exit status"], ["stdout"])


def of_recordings(was, *recordings):
    differences, by_nature = compare_recordings(was, iter(recordings), lambda: [was])
    return [difference.part for difference in differences], by_nature


def test_of_recordings_a_difference_counts_that_each_has():
    was, other, third = Answer(0, b"1\n"), Answer(0, b"2\n"), Answer(0, b"3\n")
    assert of_recordings(was, was) == ([], [])
    assert of_recordings(was, other, third, other) == (["stdout"], [])
    assert of_recordings(was, other, was) == ([], ["stdout, not in each recording by this tree"])


def test_programs_are_asked_in_the_same_place_and_leave_nothing_there(program, folder):
    writes = program('echo "$1"; pwd; echo told >&2; echo "$1" >written; exit 3\n')
    (folder / "run.castscope").write_bytes(b"")
    answer = ask(writes, ["report"], folder)
    assert answer == Answer(3, b"report\n%s\n" % bytes(folder), b"told\n", {"written": b"report\n"})
    assert [path.name for path in folder.iterdir()] == ["run.castscope"]


@pytest.mark.parametrize("script, parts", [("", []), ("echo more\n", ["stdout"]), ("echo more >&2\n", ["stderr"]),
                                           ("exit 1\n", ["exit status"])])
def test_streams_are_compared_to_their_end(program, folder, script, parts):
    numbers = "seq 1 200000\n"
    differences, by_nature, size = compare_streams(program(numbers), program(numbers + script), [], folder)
    assert [difference.part for difference in differences] == parts and by_nature == [] and size > 1_200_000


def test_a_byte_in_a_stream_is_found(program, folder):
    was, now = program("seq 1 200000\n"), program("seq 1 150000; echo 150001x; seq 150002 200000\n")
    differences, _, _ = compare_streams(was, now, [], folder)
    assert [difference.part for difference in differences] == ["stdout"]
    assert "-150001" in differences[0].excerpt and "+150001x" in differences[0].excerpt


def expected(tmp_path, **more):
    path = tmp_path / "expected.json"
    path.write_text(json.dumps([{"file": "*", "command": "report -f html *", "why": "A heading was reworded.",
                                 "lines": "<h2>"} | more]))
    return Result(read_expected(path))


def result_of(result, now, command="report -f html run.castscope"):
    was = Answer(0, b"<h2>Casts</h2>\n<p>5</p>\n")
    result.add("training", command, *compare(was, Answer(0, now), lambda: [was]))
    return result.status()


def test_an_expected_difference_is_none(tmp_path, capsys):
    result = expected(tmp_path)
    assert result_of(result, b"<h2>All casts</h2>\n<p>5</p>\n") == 0
    assert capsys.readouterr().out == "" and "met 1 times" in next(result.summary())


def test_an_expected_difference_hides_no_other(tmp_path, capsys):
    assert result_of(expected(tmp_path), b"<h2>All casts</h2>\n<p>6</p>\n") == 1
    assert result_of(expected(tmp_path), b"<h2>All casts</h2>\n<p>5</p>\n", "report -f md run.castscope") == 1
    assert capsys.readouterr().out.count("training: report -f ") == 2


def test_two_expectations_may_explain_one_difference(tmp_path):
    path = tmp_path / "expected.json"
    common = {"file": "*", "command": "report *", "why": "It was reworded."}
    path.write_text(json.dumps([{**common, "lines": lines} for lines in ("<h2>", "(?s)<p>[^<]*</p>", "<h3>")]))
    result = Result(read_expected(path))
    assert result_of(result, b"<h2>All casts</h2>\n<p>6\n</p>\n") == 0
    assert ["met 1 times" in line for line in result.summary()][:3] == [True, True, False]


def test_of_what_differs_by_nature_another_time_is_nothing_new(tmp_path):
    answers = iter([b"casts 5\nat 10:02\n", b"casts 5\nat 10:03\n"])
    differences, by_nature = compare(Answer(0, b"casts 5\nat 10:01\n"), Answer(0, b"all casts 5\nat 10:04\n"),
                                     lambda: [Answer(0, answer) for answer in answers])
    assert [difference.excerpt for difference in differences] == ["-casts 5\n+all casts 5"] and by_nature == []


@pytest.mark.parametrize("in_memory", [same_answers.IN_MEMORY, 1000])
def test_a_stream_with_an_expected_difference_is_looked_at_to_its_end(program, folder, monkeypatch, in_memory):
    monkeypatch.setattr(same_answers, "IN_MEMORY", in_memory)
    was, now = program("seq 1 200000\n"), program("seq 1 150000; echo 150001x; seq 150002 200000\n")
    (difference,), _, _ = compare_streams(was, now, [], folder)
    assert difference.lies_in([re.compile(b"^150001")]) and not difference.lies_in([re.compile(b"^150001$")])
    (difference,), _, _ = compare_streams(was, program("seq 1 150000; echo 150001x; seq 150002 160000\n"), [], folder)
    assert not difference.lies_in([re.compile(b"^150001")])


def test_a_stretch_of_several_lines_is_found_in_a_stream(program, folder):
    was, now = program("seq 1 20; seq 99 101"), program("seq 1 20; echo 99; seq 100 101")
    assert compare_streams(was, now, [], folder)[0] == []
    (difference,), _, _ = compare_streams(was, program("seq 1 20; echo 101"), [], folder)
    assert difference.lies_in([re.compile(b"(?s)99\n100\n")])


def test_an_expectation_without_a_reason_is_refused(tmp_path):
    path = tmp_path / "expected.json"
    path.write_text(json.dumps([{"file": "*", "command": "*"}]))
    with pytest.raises(KeyError):
        read_expected(path)
