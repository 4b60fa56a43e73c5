"""Dask: a scheduler, and workers each of which has a nanny."""

import pathlib
import sys

from dask.distributed import Client, LocalCluster
from train import train

if __name__ == "__main__":
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1",
                      local_directory=str(pathlib.Path.cwd() / "dask")) as cluster, Client(cluster) as client:
        futures = [client.submit(train, seed, 2 + seed, pure=False) for seed in range(4)]
        print(client.gather(futures), flush=True)
    sys.exit(5)
