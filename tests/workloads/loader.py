"""DataLoader workers, which cast too: a small frozen net makes the features. `loader.py fork spawn` starts them in both
ways, one after the other."""

import sys

import torch
import workload


class Features(torch.utils.data.Dataset):
    def __init__(self):
        torch.manual_seed(3)
        self.net = torch.nn.Sequential(torch.nn.Linear(32, 32), torch.nn.Tanh(), torch.nn.Linear(32, 32))
        self.rows = list(workload.small_batches(6))

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        torch.set_num_threads(1)
        inputs, labels = self.rows[index]
        with torch.no_grad(), workload.bf16():
            return self.net(inputs).float() + self.net(inputs).float(), labels


def main():
    workload.start()
    model = workload.small_net()
    warm = Features()[0]  # casts before the workers are forked
    workload.train(model, [warm], workload.cross_entropy)
    for way in sys.argv[1:]:
        batches = torch.utils.data.DataLoader(Features(), batch_size=None, num_workers=2, multiprocessing_context=way)
        workload.train(model, batches, workload.cross_entropy)
    workload.finish(model)


if __name__ == "__main__":
    main()
