"""The file of tokens of a collector, and the file with the token that relays send."""

import hashlib
import json
import pathlib


class Tokens:
    def __init__(self, folder):
        self.file, self.sent = pathlib.Path(folder, "tokens.json"), pathlib.Path(folder, "campaign.token")
        self.secret, self.quotas = "of the campaign", {}
        self.heal()

    def entry(self, may="send", secret=None):
        digest = hashlib.sha256((secret or self.secret).encode()).hexdigest()
        return {"name": "campaign", "sha256": digest, "may": [may]} | ({"quotas": self.quotas} if self.quotas else {})

    def text(self, *entries):
        others = {"name": "others", "sha256": "0" * 64, "may": ["send"]}
        return json.dumps({"tokens": [others, *entries]})

    @staticmethod
    def put(file, text):
        """As a secret store does it: under another name, then renamed."""
        new = file.with_suffix(".new")
        new.touch(0o600)
        new.write_text(text)
        new.replace(file)

    def know(self, *entries):
        self.put(self.file, self.text(*entries))

    def heal(self):
        self.know(self.entry())
        self.put(self.sent, self.secret + "\n")
