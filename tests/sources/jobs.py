"""Shared by the files of jobs here: one function a job, chosen by its name on the command line."""

import gc
import sys
import warnings

import torch


def region(**options):
    """A region that the texts write for a GPU, here for the CPU."""
    return torch.autocast("cpu", dtype=torch.bfloat16, **options)


def main(jobs):
    gc.freeze()  # else each job takes half a second at its end to look through what PyTorch has imported
    warnings.simplefilter("ignore")
    torch.manual_seed(0)
    torch.set_num_threads(1)
    jobs[sys.argv[1]]()
