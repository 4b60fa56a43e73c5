"""Jobs in which autocast casts the same weights again and again, in turns with others.

gains.py JOB STEPS WARM_UP [uncast]; gains.py list names the jobs. A JSON line after the warm-up, and one for each line
of standard input then: the CPU time of the thread in ns of each of STEPS more steps. With `uncast` the weights of
linear layers that nobody trains are stored in lower precision from the start: what the step costs when nothing is left
to be cast, and so the least that any cache of copies can come to.
"""

import json
import sys
import time

import torch
from torch.utils.checkpoint import checkpoint


class Adapted(torch.nn.Module):
    """A frozen layer and a trained adapter of rank 8."""

    def __init__(self, width):
        super().__init__()
        self.base = torch.nn.Linear(width, width).requires_grad_(False)
        self.down, self.up = torch.nn.Linear(width, 8, bias=False), torch.nn.Linear(8, width, bias=False)

    def forward(self, x):
        return torch.relu(self.base(x) + self.up(self.down(x)))


def adapters():
    return torch.nn.Sequential(*[Adapted(1024) for _ in range(6)])


def bert():
    from transformers import BertConfig, BertModel
    return BertModel(BertConfig(vocab_size=1000, hidden_size=512, num_hidden_layers=4, num_attention_heads=8,
                                intermediate_size=2048, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0))


def gpt2(**more):
    from transformers import GPT2Config, GPT2LMHeadModel
    return GPT2LMHeadModel(GPT2Config(vocab_size=1000, n_embd=512, n_layer=4, n_head=8, resid_pdrop=0.0,
                                      embd_pdrop=0.0, attn_pdrop=0.0, use_cache=False, **more))


class Layers(torch.nn.Module):
    """Blocks whose activations are computed again in backward."""

    def __init__(self, width=512, n=4):
        super().__init__()
        self.blocks = torch.nn.ModuleList(
            torch.nn.Sequential(torch.nn.LayerNorm(width), torch.nn.Linear(width, 4 * width), torch.nn.GELU(),
                                torch.nn.Linear(4 * width, width)) for _ in range(n))

    def forward(self, x):
        for block in self.blocks:
            x = x + checkpoint(block, x, use_reentrant=False)
        return x


UNCAST = False


def stored_low(model, trained):
    for module in model.modules():
        if isinstance(module, torch.nn.Linear) or type(module).__name__ == "Conv1D":
            for parameter in module.parameters(recurse=False):
                if not (trained and parameter.requires_grad):
                    parameter.data = parameter.data.bfloat16()


def training(model, data, loss, micro_steps=1):
    if UNCAST:
        stored_low(model, trained=True)
    optimizer = torch.optim.SGD([p for p in model.parameters() if p.requires_grad], lr=1e-4)

    def step():
        for _ in range(micro_steps):
            with torch.autocast("cpu", dtype=torch.bfloat16):
                result = loss(model, data)
            result.backward()
        optimizer.step()
        optimizer.zero_grad()

    return step


def inference(model, data, mode):
    model.eval()
    if UNCAST:
        stored_low(model, trained=False)

    def step():
        with mode(), torch.autocast("cpu", dtype=torch.bfloat16):
            model(data)

    return step


def squares(model, x):
    return model(x).float().pow(2).mean()


def language(model, words):
    return model(words, labels=words).loss


def words(batch, length):
    return torch.randint(0, 1000, (batch, length))


JOBS = {
    "adapters, batch 1": lambda: training(adapters(), torch.randn(1, 1024), squares),
    "adapters, batch 8": lambda: training(adapters(), torch.randn(8, 1024), squares),
    "adapters, batch 1, inference_mode": lambda: inference(adapters(), torch.randn(1, 1024), torch.inference_mode),
    "BERT 1x16, no_grad": lambda: inference(bert(), words(1, 16), torch.no_grad),
    "BERT 1x16, inference_mode": lambda: inference(bert(), words(1, 16), torch.inference_mode),
    "GPT-2 1x16, inference_mode": lambda: inference(gpt2(), words(1, 16), torch.inference_mode),
    "GPT-2 4x64, inference_mode": lambda: inference(gpt2(), words(4, 64), torch.inference_mode),
    "GPT-2 1x32, one backward a step": lambda: training(gpt2(), words(1, 32), language),
    "GPT-2 1x32, four backwards a step": lambda: training(gpt2(), words(1, 32), language, 4),
    "checkpointed layers, one backward a step": lambda: training(Layers(), torch.randn(16, 512), squares),
    "checkpointed layers, four backwards a step": lambda: training(Layers(), torch.randn(16, 512), squares, 4),
}


def main(job, steps, warm_up):
    torch.manual_seed(0)
    torch.set_num_threads(1)
    step = JOBS[job]()
    for _ in range(warm_up):
        step()
    print("[]", flush=True)
    for _ in sys.stdin:
        took = []
        for _ in range(steps):
            begin = time.thread_time_ns()
            step()
            took.append(time.thread_time_ns() - begin)
        print(json.dumps(took), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "list":
        print("\n".join(JOBS))
    else:
        UNCAST = sys.argv[4:] == ["uncast"]
        main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
