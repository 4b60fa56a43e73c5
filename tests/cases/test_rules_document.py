"""docs/rules.md tells of all rules. Its figures come from rules_document.py."""

import rules_document

# Judged by what a program's file says, in server/exported/findings_test.cc.
OF_FILES = {"export-check-fails"}


def test_each_rule_has_its_row():
    text = rules_document.DOCUMENT.read_text()
    for rule in rules_document.rule_list():
        assert f"| `{rule['rule']}` | {rule['severity']} | {rule['summary']} |" in text, \
            "run tests/cases/rules_document.py"


def test_each_rule_has_streams_of_evidence():
    for rule in rules_document.rule_list():
        if rule["rule"] in OF_FILES:
            continue
        assert rules_document.streams(rule["rule"]) >= 2, rule
