"""A connection between relays and a collector that is cut, held up or damaged when somebody says so."""

import contextlib
import random
import select
import socket
import threading


class Proxy:
    """Listens on a port of 127.0.0.1 and passes everything on to another one."""

    def __init__(self, target):
        self.target = target
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.pairs, self.lock = [], threading.Lock()
        self.held = threading.Event()  # nothing is passed on while it is set
        self.refuses = False
        # A random.Random, by which one bit of the next piece of data is changed, whichever way that goes.
        self.flips = None
        self.thread = threading.Thread(target=self.accept, daemon=True)
        self.thread.start()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                return
            try:
                if self.refuses:
                    raise ConnectionRefusedError
                server = socket.create_connection(("127.0.0.1", self.target), timeout=10)
            except OSError:
                client.close()
                continue
            with self.lock:
                self.pairs.append((client, server))
            threading.Thread(target=self.pass_on, args=(client, server), daemon=True).start()

    def pass_on(self, client, server):
        other = {client: server, server: client}
        with contextlib.suppress(OSError, ValueError):
            while True:
                ready, _, _ = select.select([client, server], [], [], 0.05)
                for one in ready if not self.held.is_set() else ():
                    data = one.recv(65536)
                    if not data:
                        raise OSError
                    if self.flips is not None:
                        data, self.flips = self.flipped(data, self.flips), None
                    other[one].sendall(data)
        for one in (client, server):
            one.close()

    @staticmethod
    def flipped(data, chance: random.Random):
        at = chance.randrange(len(data))
        return data[:at] + bytes([data[at] ^ 1 << chance.randrange(8)]) + data[at + 1:]

    def cut(self):
        """Ends all connections, without a word."""
        with self.lock:
            pairs, self.pairs = self.pairs, []
        for pair in pairs:
            for one in pair:
                with contextlib.suppress(OSError):
                    one.shutdown(socket.SHUT_RDWR)

    def heal(self):
        self.held.clear()
        self.refuses, self.flips = False, None

    def close(self):
        self.cut()
        self.listener.shutdown(socket.SHUT_RDWR)  # wakes the thread: the descriptor's number will be somebody else's
        self.thread.join()
        self.listener.close()
