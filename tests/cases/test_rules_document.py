"""docs/rules.md tells of all rules. Its figures come from rules_document.py."""

import sys

import examples
import rules_document
import runs

sys.path.append(str(runs.ROOT / "scripts"))

import name_surfaces

# Judged by what a program's file says, in server/exported/findings_test.cc.
OF_FILES = {"export-check-fails"}


def test_each_rule_has_its_row():
    text = rules_document.DOCUMENT.read_text()
    for rule in rules_document.rule_list():
        assert f"| `{rule['rule']}` | {rule['severity']} | {rule['summary']} |" in text, \
            "run tests/cases/rules_document.py"


def test_each_row_says_whether_the_fix_is_tried():
    rows = {line.split("`")[1]: line for line in rules_document.DOCUMENT.read_text().splitlines()
            if line.startswith("| `") and line.count(" | ") == 7}
    assert {rule: row.rsplit(" | ", 1)[1] for rule, row in rows.items()} == \
           {rule: f"{examples.fix_is_tried(rule)} |" for rule in examples.rules()}, "run tests/cases/rules_document.py"


def test_the_document_lists_the_evidence_of_each_rule():
    assert "\n".join(rules_document.evidence_section()) in rules_document.DOCUMENT.read_text(), \
        "run tests/cases/rules_document.py --evidence"
    assert set(rules_document.evidence_of_rules()) == {rule["rule"] for rule in rules_document.rule_list()}


def test_whatever_a_source_gives_as_evidence_was_seen_in_a_unit_test():
    listed = set().union(*rules_document.evidence_of_rules().values())
    assert listed == {name.name for name in name_surfaces.evidence()}


def test_each_rule_has_streams_of_evidence():
    for rule in rules_document.rule_list():
        if rule["rule"] in OF_FILES:
            continue
        assert rules_document.streams(rule["rule"]) >= 2, rule
