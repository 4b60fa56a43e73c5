"""What goes over the wire between a relay and its collector, byte by byte."""

import contextlib
import selectors
import socket
import threading


class Wiretap:
    """Stands before a collector's socket, passes everything on, and keeps it."""

    def __init__(self, path, collector):
        self.address, self.collector = f"unix:{path}", collector.removeprefix("unix:")
        self.heard, self.lock = bytearray(), threading.Lock()
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(str(path))
        self.listener.listen()
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        with contextlib.suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                threading.Thread(target=self.pass_on, args=(near,), daemon=True).start()

    def pass_on(self, near):
        with contextlib.suppress(OSError), near, socket.socket(socket.AF_UNIX) as far, \
                selectors.DefaultSelector() as both:
            far.connect(self.collector)
            both.register(near, selectors.EVENT_READ, far)
            both.register(far, selectors.EVENT_READ, near)
            while True:
                for ready, _ in both.select():
                    read = ready.fileobj.recv(1 << 16)
                    if not read:
                        return
                    with self.lock:
                        self.heard += read
                    ready.data.sendall(read)

    def close(self):
        self.listener.close()
