"""Threads and the regions of others: what users write, one function a case. See apart.py."""

import concurrent.futures
import threading

import torch
import torch.nn.functional as F
from apart import loss_of, main, region, rows, trained
from torch import nn


def c47():
    model = nn.Linear(32, 32)

    def work():
        model(rows())  # finds: thread-lost-region
        model(rows())

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47_products_of_a_list():
    with region():
        thread = threading.Thread(target=lambda: torch.einsum("bi,oi->bo", rows(), rows()))  # finds: thread-lost-region
        thread.start()
        thread.join()


def c47_pool():
    model = nn.Sequential(nn.Linear(32, 32), nn.Conv1d(2, 2, 3))

    def work(x):
        return model(x)  # finds: thread-lost-region

    with concurrent.futures.ThreadPoolExecutor(2) as pool, torch.no_grad(), region():
        list(pool.map(work, [rows() for _ in range(4)]))


def c47_in_training():
    model, optimizer = trained()
    outputs = []

    def work(x):
        outputs.append(torch.mm(x, torch.ones(32, 32)))  # finds: thread-lost-region

    for _ in range(3):
        with region():
            thread = threading.Thread(target=work, args=(rows(),))
            thread.start()
            thread.join()
            loss = loss_of(model(rows())) + outputs.pop().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c47_target_is_the_model():
    model = nn.Linear(32, 32)
    with region():  # finds: thread-lost-region
        thread = threading.Thread(target=model, args=(rows(),))
        thread.start()
        thread.join()


def c47n_own_region():
    model = nn.Linear(32, 32)

    def work():
        with region():
            model(rows())

    @region()
    def decorated():
        model(rows())

    with region():
        for target in (work, decorated):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()


def c47n_says_float32():
    model = nn.Linear(32, 32)

    def work():
        with region(enabled=False):
            model(rows())

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47n_helpers():
    def work():
        batch = torch.stack([rows() for _ in range(4)])
        F.layer_norm(batch, (32,)).clamp(-1, 1).sum()

    with region():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()


def c47n_loader():
    data = torch.utils.data.TensorDataset(torch.randn(16, 32))
    model, optimizer = trained()
    for (x,) in torch.utils.data.DataLoader(data, batch_size=4, num_workers=1):
        with region():
            loss = loss_of(model(x))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def c47n_a_thread_of_its_own():
    # It evaluates in float32, whatever the others do: inside their regions and outside.
    model, weight, go, done = nn.Linear(32, 32), torch.randn(32, 32), threading.Semaphore(0), threading.Semaphore(0)

    def evaluate():
        for _ in range(6):
            go.acquire()
            rows() @ weight
            done.release()

    def let_evaluate():
        go.release()
        done.acquire()

    thread = threading.Thread(target=evaluate)
    thread.start()
    for _ in range(3):
        with region():
            model(rows())
            let_evaluate()
        let_evaluate()
    thread.join()


def c47n_nobody_has_one_on():
    model = nn.Linear(32, 32)

    def alone():
        model(rows())

    def beside_a_disabled_one():
        model(rows())

    thread = threading.Thread(target=alone)
    thread.start()
    thread.join()
    with region():
        model(rows())
    with region(enabled=False):
        thread = threading.Thread(target=beside_a_disabled_one)
        thread.start()
        thread.join()


def c48n_backward_in_another_thread():
    weight = nn.Parameter(torch.randn(32, 32))
    with region(torch.float16):
        loss = loss_of(rows() @ weight)
    thread = threading.Thread(target=loss.backward)
    thread.start()
    thread.join()


def c48n_deep_reentrant_backward():
    model = nn.Linear(32, 32)

    def deep(x, depth):
        if depth == 0:
            return model(x)
        return torch.utils.checkpoint.checkpoint(deep, x, depth - 1, use_reentrant=True)

    with region(torch.float16):
        loss = loss_of(deep(rows().requires_grad_(), 70))
    loss.backward()


if __name__ == "__main__":
    main(globals())
