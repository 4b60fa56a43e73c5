"""An LSTM and a GRU cell: operators with many weights, cast in lists."""

import torch
import workload

workload.start()


class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = torch.nn.LSTM(16, 24, num_layers=2, bidirectional=True, batch_first=True)
        self.cell = torch.nn.GRUCell(48, 16)
        self.head = torch.nn.Linear(16, 5)

    def forward(self, inputs):
        hidden = torch.zeros(inputs.shape[0], 16)
        for row in self.lstm(inputs)[0].unbind(1):
            hidden = self.cell(row, hidden)
        return self.head(hidden)


model = Net()
generator = torch.Generator().manual_seed(7)
batches = [(torch.randn(3, 6, 16, generator=generator), torch.randint(0, 5, (3,), generator=generator))
           for _ in range(5)]
workload.train(model, batches, workload.cross_entropy)
workload.finish(model)
