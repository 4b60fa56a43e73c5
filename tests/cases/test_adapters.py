"""Fine-tuning of a language model with low-rank adapters, as it should be: the gate of CI lets it pass."""

import subprocess

import runs

JOB = """\
import torch
import transformers
from torch import nn


class Adapted(nn.Module):
    def __init__(self, base, rank=4):
        super().__init__()
        self.base = base
        self.down = nn.Linear(base.in_features, rank, bias=False)
        self.up = nn.Linear(rank, base.out_features, bias=False)
        self.dropout = nn.Dropout(0.05)

    def forward(self, x):
        result = self.base(x)
        dtype = result.dtype
        result = result + self.up(self.down(self.dropout(x.to(self.down.weight.dtype)))) * 2.0
        return result.to(dtype)


model = transformers.LlamaForCausalLM(transformers.LlamaConfig(
    vocab_size=64, hidden_size=32, intermediate_size=64, num_hidden_layers=2, num_attention_heads=4,
    num_key_value_heads=2)).requires_grad_(False)
for layer in model.model.layers:
    for name in ("q_proj", "k_proj", "v_proj"):
        setattr(layer.self_attn, name, Adapted(getattr(layer.self_attn, name)))
optimizer = torch.optim.AdamW([p for p in model.parameters() if p.requires_grad], lr=1e-3)
for _ in range(4):
    ids = torch.randint(0, 64, (2, 16))
    with torch.autocast("cpu", dtype=torch.bfloat16):
        loss = model(input_ids=ids, labels=ids).loss
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
model.eval()
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    model(input_ids=ids)
"""


def test_no_warning_in_a_language_model_with_adapters(run, tmp_path):
    report = run(JOB)
    assert not [finding for finding in report["findings"] if finding["severity"] in ("error", "warning")]
    checked = subprocess.run([runs.CASTSCOPE, "check", tmp_path / "run.castscope"], check=False, capture_output=True,
                             timeout=300)
    assert checked.returncode == 0, checked.stdout.decode()
