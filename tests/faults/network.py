"""A network between two network namespaces, one for jobs and one for a collector. Its only link are two TUN devices,
between which a thread of this program carries the packets: late, in another order, twice or not at all, as somebody
says. (The kernel's netem could do that, but not every kernel has it.)

The namespaces have no names. They are gone when this program is."""

import ctypes
import fcntl
import functools
import heapq
import os
import random
import select
import struct
import subprocess
import threading
import time

JOBS, COLLECTOR = "10.98.0.1", "10.98.0.2"
DEVICE = "tun0"
CLONE_NEWNET = 0x40000000
TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 1, 0x1000


class Network:
    def __init__(self, chance=None):
        self.chance = chance or random.Random(0)
        self.spaces, self.devices = {}, {}
        self.heal()
        self.stopping, self.wakes = os.pipe()
        ready = threading.Event()
        self.failure = None
        self.thread = threading.Thread(target=self.run, args=(ready,), daemon=True)
        self.thread.start()
        ready.wait()
        if self.failure:
            raise self.failure

    def heal(self):
        self.late_s = (0, 0)  # at least and at most
        self.lost = self.twice = 0.0  # of all packets
        self.silent = None  # who is not heard: an address
        for address in self.spaces:
            self.set_link(address, "up")

    def enter(self, address):
        """Put before a command, for it to run in the namespace of this address."""
        return ["nsenter", f"--net=/proc/{os.getpid()}/fd/{self.spaces[address]}"]

    def set_link(self, address, state):
        subprocess.run([*self.enter(address), "ip", "link", "set", DEVICE, state], check=True)

    # A thread has a network namespace of its own, and so have the processes that it starts.
    def run(self, ready):
        try:
            for address, other in ((JOBS, COLLECTOR), (COLLECTOR, JOBS)):
                self.devices[address] = self.make_end(address, other)
        except (OSError, subprocess.CalledProcessError) as error:
            self.failure = error
        ready.set()
        if self.failure is None:
            self.carry()
        for descriptor in (*self.devices.values(), *self.spaces.values(), self.stopping, self.wakes):
            os.close(descriptor)

    def make_end(self, address, other):
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.unshare(CLONE_NEWNET) != 0:
            raise OSError(ctypes.get_errno(), "no network namespace can be made")
        self.spaces[address] = os.open(f"/proc/{threading.get_native_id()}/ns/net", os.O_RDONLY | os.O_CLOEXEC)
        device = os.open("/dev/net/tun", os.O_RDWR | os.O_CLOEXEC)
        fcntl.ioctl(device, TUNSETIFF, struct.pack("16sH22x", DEVICE.encode(), IFF_TUN | IFF_NO_PI))
        for command in (["address", "add", address, "peer", other, "dev", DEVICE], ["link", "set", DEVICE, "up"],
                        ["link", "set", "lo", "up"]):
            subprocess.run(["ip", *command], check=True)
        return device

    def carry(self):
        under_way, number = [], 0  # (when it is due, number, who gets it, packet)
        while True:
            wait = max(0, under_way[0][0] - time.monotonic()) if under_way else None
            ready, _, _ = select.select([*self.devices.values(), self.stopping], [], [], wait)
            if self.stopping in ready:
                return
            for sender, receiver in ((JOBS, COLLECTOR), (COLLECTOR, JOBS)):
                if self.devices[sender] not in ready:
                    continue
                packet = os.read(self.devices[sender], 65536)
                if sender == self.silent or self.chance.random() < self.lost:
                    continue
                for _ in range(1 + (self.chance.random() < self.twice)):
                    number += 1
                    due = time.monotonic() + self.chance.uniform(*self.late_s)
                    heapq.heappush(under_way, (due, number, receiver, packet))
            while under_way and under_way[0][0] <= time.monotonic():
                _, _, receiver, packet = heapq.heappop(under_way)
                try:
                    os.write(self.devices[receiver], packet)
                except OSError:  # its link is down
                    continue

    def close(self):
        os.write(self.wakes, b"x")
        self.thread.join()


@functools.cache
def trouble():
    """Why there is no such network here; "" where there is one."""
    try:
        Network().close()
        return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"no network namespaces: {error}"
