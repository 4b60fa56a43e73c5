"""docs/rules.md tells of all rules. Its figures come from rules_document.py."""

import rules_document


def test_each_rule_has_its_row():
    text = rules_document.DOCUMENT.read_text()
    for rule in rules_document.rule_list():
        assert f"| `{rule['rule']}` | {rule['severity']} | {rule['summary']} |" in text, \
            "run tests/cases/rules_document.py"


def test_each_rule_has_streams_of_evidence():
    for rule in rules_document.rule_list():
        assert rules_document.streams(rule["rule"]) >= 2, rule
