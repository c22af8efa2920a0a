"""Whether what `transaction_kills.py` asks for is noticed when it is missing, and whether its proxy kills when it should."""

import queue
import socket
import struct
import threading
import unittest

from ports import free
from transaction_kills_check import verify
from transaction_proxy import Proxy

WHOLE = ["0.0", "2.3"]


class Checks(unittest.TestCase):
    def fails(self, values, committed=None, aborted=()):
        with self.assertRaises(AssertionError):
            verify(values, committed or {}, list(aborted))

    def test_what_is_whole_passes(self):
        verify([WHOLE, WHOLE], {0: "0.0", 2: "2.3"}, ["1.1", "2.2"])
        # Nobody was told what became of them.
        verify([WHOLE, WHOLE], {}, [])

    def test_half_a_transaction(self):
        self.fails([WHOLE, ["0.0"]])

    def test_one_that_is_missing(self):
        self.fails([["0.0"], ["0.0"]])

    def test_one_that_is_there_twice(self):
        self.fails([["0.0", "2.1", "2.3"]] * 2)

    def test_halves_of_two_attempts(self):
        self.fails([WHOLE, ["0.0", "2.2"]])

    def test_the_wrong_order(self):
        self.fails([["2.3", "0.0"]] * 2)

    def test_what_the_application_aborts(self):
        self.fails([["0.0", "1.1", "2.3"]] * 2)

    def test_an_attempt_that_was_told_to_be_aborted(self):
        self.fails([WHOLE, WHOLE], aborted=["2.3"])

    def test_another_attempt_than_was_told_to_be_committed(self):
        self.fails([WHOLE, WHOLE], committed={2: "2.2"})


class FakeBroker:
    """Answers every request with its correlation id, but for those it is told to keep."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.requests, self.kept = queue.Queue(), set()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                while len(request := connection.recv(16)) == 16:
                    _, key, _, correlation = struct.unpack_from(">ihhi", request)
                    self.requests.put((key, correlation))
                    if correlation not in self.kept:
                        connection.sendall(struct.pack(">iii", 8, correlation, 7))


class Exchanges(unittest.TestCase):
    def setUp(self):
        self.broker = FakeBroker()
        self.events = []
        port = free()
        kill, start = lambda: self.events.append("kill"), lambda: self.events.append("start")
        self.proxy = Proxy(port, self.broker.port, kill, start)
        self.proxy.arm("me", None)
        self.client = socket.create_connection(("127.0.0.1", port), timeout=10)

    def tearDown(self):
        for one in (self.client, self.proxy, self.broker.listener):
            one.close()

    def send(self, key, correlation, client_id=b"me"):
        self.client.sendall(struct.pack(">ihhih", 12, key, 0, correlation, len(client_id)) + client_id)

    def ask(self, key, correlation):
        """Whether there is an answer."""
        self.send(key, correlation)
        answer = self.client.recv(12)
        return bool(answer) and struct.unpack(">iii", answer) == (8, correlation, 7)

    def test_what_is_passed_on_and_counted(self):
        self.assertTrue(all(self.ask(key, key) for key in [18, 10, 3, 22]))
        self.assertEqual(self.proxy.seen, ["FindCoordinator", "InitProducerId"])
        self.assertEqual((self.proxy.is_killed, self.events, self.proxy.waiting()), (False, [], []))

    def test_exchanges_of_somebody_else(self):
        self.proxy.arm("me", 0, "before")
        for client_id in [b"no", b"m\0"]:
            self.send(10, 10, client_id)
            self.assertEqual(self.client.recv(12), struct.pack(">iii", 8, 10, 7))
        self.assertEqual((self.proxy.seen, self.events), ([], []))

    def test_a_kill_before_a_request_is_passed_on(self):
        self.proxy.arm("me", 1, "before")
        self.assertEqual([self.ask(key, key) for key in [10, 3, 26]], [True, True, False])
        self.assertTrue(self.proxy.is_back.wait(10))
        self.assertEqual(self.events, ["kill", "start"])
        self.assertEqual([self.broker.requests.get(timeout=10) for _ in range(2)], [(10, 10), (3, 3)])
        self.assertTrue(self.broker.requests.empty())

    def test_a_kill_during_the_request(self):
        self.broker.kept.add(26)
        self.proxy.arm("me", 1, "during", 0.001)
        self.assertEqual([self.ask(key, key) for key in [10, 26]], [True, False])
        self.assertTrue(self.proxy.is_back.wait(10))
        self.assertEqual(self.events, ["kill", "start"])
        self.assertEqual([self.broker.requests.get(timeout=10) for _ in range(2)], [(10, 10), (26, 26)])

    def test_a_kill_after_the_answer(self):
        self.proxy.arm("me", 1, "after")
        self.assertEqual([self.ask(key, key) for key in [10, 3, 26]], [True, True, False])
        self.assertTrue(self.proxy.is_back.wait(10))
        self.assertEqual(self.events, ["kill", "start"])
        self.assertEqual([self.broker.requests.get(timeout=10) for _ in range(3)], [(10, 10), (3, 3), (26, 26)])

    def test_what_the_broker_does_not_answer(self):
        self.broker.kept.add(28)
        self.send(28, 28)
        self.assertEqual(self.broker.requests.get(timeout=10), (28, 28))
        self.assertEqual(self.proxy.waiting(), ["TxnOffsetCommit"])


if __name__ == "__main__":
    unittest.main()
