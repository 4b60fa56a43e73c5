"""Runs cells in a kernel of their own, as a notebook does."""

import sys

from jupyter_client import KernelManager

CELLS = [
    "import torch\nmodel = torch.nn.Linear(8, 8)",
    """\
def forward(x):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        h = model(x) + torch.nn.Parameter(torch.ones(8))
        return model(h)
""",
    "for _ in range(2):\n    y = forward(torch.randn(4, 8))",
    """\
with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16):
    model(y.float())
""",
]


def main():
    kernel = KernelManager(kernel_cmd=[sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"])
    kernel.start_kernel()
    client = kernel.client()
    client.start_channels()
    client.wait_for_ready(timeout=120)
    for cell in CELLS:
        reply = client.execute_interactive(cell, timeout=120)["content"]
        assert reply["status"] == "ok", reply
    client.stop_channels()
    kernel.shutdown_kernel(now=False)


if __name__ == "__main__":
    main()
