"""The proxy passes on what it gets, and cuts and refuses the clients that it is told, and no others. Needs no client."""

import socket
import socketserver
import struct
import threading
import time
import unittest

from group_proxy import HEADER, ApiKeys, Proxy
from ports import free

SECONDS_MAX = 10


class Echo(socketserver.BaseRequestHandler):
    def handle(self):
        try:
            while some := self.request.recv(4096):
                self.request.sendall(some)
        except ConnectionError:
            # Cut, as it is to be.
            pass


def request(client_id):
    return HEADER.pack(10 + len(client_id), 18, 0, 1, len(client_id)) + client_id.encode()


class Client:
    def __init__(self, port, client_id):
        self.socket = socket.create_connection(("127.0.0.1", port), SECONDS_MAX)
        self.request = request(client_id)

    def is_answered(self):
        """Whether a request comes back whole."""
        try:
            self.socket.sendall(self.request)
            got = b""
            while len(got) < len(self.request):
                some = self.socket.recv(4096)
                if not some:
                    return False
                got += some
            return got == self.request
        except ConnectionError:
            return False


class ProxyTest(unittest.TestCase):
    def setUp(self):
        broker = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Echo)
        broker.daemon_threads = True
        threading.Thread(target=broker.serve_forever, daemon=True).start()
        self.addCleanup(broker.server_close)
        self.addCleanup(broker.shutdown)
        self.port = free()
        self.proxy = Proxy(self.port, broker.server_address[1])

    def client(self, client_id):
        client = Client(self.port, client_id)
        self.addCleanup(client.socket.close)
        return client

    def test_cut_ends_connections_of_one_client(self):
        one, other = self.client("a-1"), self.client("b-1")
        self.assertTrue(one.is_answered() and other.is_answered())
        self.assertEqual(1, self.proxy.cut("a"))
        self.assertFalse(one.is_answered())
        self.assertTrue(other.is_answered())
        self.assertTrue(self.client("a-1").is_answered())

    def test_refused_client_comes_back_later(self):
        self.proxy.cut("a", 0.5)
        self.assertFalse(self.client("a-1").is_answered())
        self.assertTrue(self.client("b-1").is_answered())
        deadline = time.monotonic() + SECONDS_MAX
        while not self.client("a-1").is_answered():
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.02)

    def test_restart_closes_the_port_for_some_time(self):
        for with_reset in (False, True):
            client = self.client("a-1")
            self.assertTrue(client.is_answered())
            self.assertEqual(1, self.proxy.restart(0.5, with_reset))
            self.assertFalse(client.is_answered())
            with self.assertRaises(ConnectionRefusedError):
                self.client("a-1")
            deadline = time.monotonic() + SECONDS_MAX
            while True:
                try:
                    self.assertTrue(self.client("a-1").is_answered())
                    break
                except ConnectionRefusedError:
                    self.assertLess(time.monotonic(), deadline)
                    time.sleep(0.02)
            self.assertEqual(1, self.proxy.cut("a"))

    def test_api_keys_are_read_from_pieces(self):
        frames = b"".join(struct.pack(">ih", 2 + len(rest), key) + rest for key, rest in [(1, b"abc"), (12, b""), (68, b"x" * 99)])
        for size in (1, 5, 7, 1000):
            keys = ApiKeys()
            self.assertEqual(
                [1, 12, 68], [key for at in range(0, len(frames), size) for key in keys.of(frames[at : at + size])]
            )

    def test_idle_connections_are_closed_until_told_otherwise(self):
        client = self.client("a-1")
        self.assertTrue(client.is_answered())
        self.proxy.close_idle(0.2)
        # Its end is read as no more bytes.
        self.assertEqual(b"", client.socket.recv(1))
        self.proxy.close_idle(None)
        client = self.client("a-1")
        self.assertTrue(client.is_answered())
        time.sleep(0.6)
        self.assertTrue(client.is_answered())


if __name__ == "__main__":
    unittest.main()
