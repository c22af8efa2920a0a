"""Stands between a transactional client and a broker, counts what they exchange about transactions, and has the broker
killed at one of these exchanges: before the request is passed on, while the broker is at it, or when it has answered and
nobody has heard it.

Frames are passed on whole and unchanged. Nothing else is known of the protocol than where a frame ends, and what is at its
beginning: api key, correlation id and client id.
"""

import socket
import struct
import threading
import time

# What concerns transactions, by api key.
EXCHANGES = {
    0: "Produce", 10: "FindCoordinator", 22: "InitProducerId", 24: "AddPartitionsToTxn", 25: "AddOffsetsToTxn",
    26: "EndTxn", 28: "TxnOffsetCommit",
}  # fmt: skip
WAYS = ["before", "during", "after"]
FRAME_BYTES_MAX = 16 << 20
CONNECT_SECONDS = 5


class Link:
    """A connection of the client, and the one to the broker that belongs to it."""

    def __init__(self, client, broker):
        self.client, self.broker = client, broker
        # Exchanges that the broker has not answered yet, by correlation id.
        self.waiting = {}
        # Correlation id of the request whose answer nobody is to hear.
        self.doomed = None

    def end(self):
        for one in (self.client, self.broker):
            try:
                one.shutdown(socket.SHUT_RDWR)
            except OSError:
                # The other side has ended it.
                pass


class Proxy:
    """`kill` ends the broker, `start` starts it again; both are called by the thread that has met the exchange."""

    def __init__(self, port, broker_port, kill, start):
        self.broker_port, self.kill, self.start = broker_port, kill, start
        self.lock = threading.Lock()
        self.links = set()
        self.arm(None, None)
        self.listener = socket.create_server(("127.0.0.1", port))
        threading.Thread(target=self.accept, daemon=True).start()

    def arm(self, client_id, at, way=None, delay_seconds=0):
        """The broker is to be killed at exchange `at` of this client, counted from now; never if that is None. During it: so
        long after the request was passed on. Clients that were left behind are passed on, and do not count."""
        with self.lock:
            self.client_id = client_id
            self.at, self.way, self.delay_seconds = at, way, delay_seconds
            # Names of the exchanges, in the order in which they began.
            self.seen = []
            # Whether the broker was told to end, whether it is there again, and what kept it from that.
            self.is_killed, self.is_back, self.failure = False, threading.Event(), None

    def waiting(self):
        """Names of the exchanges that the broker has not answered yet."""
        with self.lock:
            return [name for link in self.links for name in link.waiting.values()]

    def close(self):
        self.listener.close()

    def accept(self):
        while True:
            try:
                client, _ = self.listener.accept()
            except OSError:
                # It is closed: the run is over.
                return
            threading.Thread(target=self.serve, args=(client,), daemon=True).start()

    def serve(self, client):
        try:
            broker = socket.create_connection(("127.0.0.1", self.broker_port), timeout=CONNECT_SECONDS)
        except OSError:
            # It is dead just now, and so is who connects to it.
            client.close()
            return
        broker.settimeout(None)
        for one in (client, broker):
            one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        link = Link(client, broker)
        with self.lock:
            self.links.add(link)
        down = threading.Thread(target=self.pass_on, args=(link, broker, client, self.meet_answer), daemon=True)
        down.start()
        self.pass_on(link, client, broker, self.meet_request)
        down.join()
        with self.lock:
            self.links.discard(link)
        client.close()
        broker.close()

    def pass_on(self, link, source, sink, meet):
        """Frame by frame, until one side ends or the broker is killed. `meet` says how it is to be, with this frame."""
        try:
            while (frame := read_frame(source)) is not None:
                way = meet(link, frame)
                if way in (None, "during"):
                    sink.sendall(frame)
                if way is not None:
                    self.strike()
                    break
        except OSError:
            # One of them is gone: the other one is told by the end of its connection.
            pass
        finally:
            link.end()

    def meet_request(self, link, frame):
        key, _, correlation = struct.unpack_from(">hhi", frame, 4)
        if key not in EXCHANGES:
            return None
        with self.lock:
            if client_id_of(frame) != self.client_id:
                return None
            number = len(self.seen)
            self.seen.append(EXCHANGES[key])
            link.waiting[correlation] = EXCHANGES[key]
            if number != self.at:
                return None
            if self.way == "after":
                link.doomed = correlation
                return None
            self.is_killed = True
            return self.way

    def meet_answer(self, link, frame):
        (correlation,) = struct.unpack_from(">i", frame, 4)
        with self.lock:
            link.waiting.pop(correlation, None)
            if correlation != link.doomed:
                return None
            self.is_killed = True
            return self.way

    def strike(self):
        try:
            if self.way == "during":
                # No condition to wait for: what the broker has done until then is to differ.
                time.sleep(self.delay_seconds)
            self.kill()
            self.start()
        except Exception as error:
            self.failure = error
        finally:
            self.is_back.set()


def client_id_of(frame):
    """None where it has none, or one that is cut off."""
    if len(frame) < 14:
        return None
    (size,) = struct.unpack_from(">h", frame, 12)
    return frame[14 : 14 + size].decode() if 0 <= size <= len(frame) - 14 else None


def read_frame(source):
    """A frame with its size, None at the end of the connection."""
    head = exactly(source, 4)
    if head is None:
        return None
    (size,) = struct.unpack(">i", head)
    if not 8 <= size <= FRAME_BYTES_MAX:
        raise OSError(f"a frame of {size} bytes")
    body = exactly(source, size)
    return None if body is None else head + body


def exactly(source, count):
    out = bytearray()
    while len(out) < count:
        part = source.recv(min(count - len(out), 1 << 16))
        if not part:
            return None
        out += part
    return bytes(out)
