"""The switch of `network_switch.py`, with pairs of sockets where it has devices: it needs no rights."""

import socket
import time
import unittest

from network_switch import READ_AT_ONCE, WAITING_MAX, Switch, address

MEMBERS = 3


def packet(origin, to, number):
    """As much of one of IPv4 as the switch looks at."""
    head = bytearray(20)
    head[0] = 0x45
    head[12:16], head[16:20] = socket.inet_aton(address(origin)), socket.inet_aton(address(to))
    return bytes(head) + number.to_bytes(4, "big")


class SwitchTest(unittest.TestCase):
    def setUp(self):
        pairs = [socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET) for _ in range(MEMBERS)]
        for pair in pairs:
            for end in pair:
                end.setblocking(False)
                self.addCleanup(end.close)
        self.members = [member for member, _ in pairs]
        self.devices = [device.fileno() for _, device in pairs]
        self.switch = Switch(self.devices, seed=1)

    def send(self, origin, to, numbers):
        for number in numbers:
            self.members[origin].send(packet(origin, to, number))
            self.switch.take(self.devices[origin])

    def received(self, to):
        """The numbers that have come, by their order, with who sent them."""
        found = []
        while True:
            try:
                got = self.members[to].recv(100)
            except BlockingIOError:
                return found
            self.assertEqual(socket.inet_ntoa(got[16:20]), address(to))
            found.append((got[15] - 1, int.from_bytes(got[20:], "big")))

    def release(self):
        """Until nothing waits any more."""
        deadline = time.monotonic() + 60
        while (wait := self.switch.release()) is not None:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(wait / 1000)

    def test_without_rules_all_arrives(self):
        self.send(0, 1, [1, 2])
        self.send(2, 1, [3])
        self.assertEqual(self.received(1), [(0, 1), (0, 2), (2, 3)])
        self.assertEqual(self.received(0) + self.received(2), [])
        self.assertEqual(self.switch.rule([]), {"passed": 3, "lost": 0, "delayed": 0, "overflown": 0})

    def test_one_way(self):
        self.switch.rule([[0, 1, 1, 0, 0]])
        self.send(0, 1, [1])
        self.send(1, 0, [2])
        self.send(0, 2, [3])
        self.assertEqual(self.received(1), [])
        self.assertEqual(self.received(0), [(1, 2)])
        self.assertEqual(self.received(2), [(0, 3)])
        self.assertEqual(self.switch.rule([]), {"passed": 2, "lost": 1, "delayed": 0, "overflown": 0})
        self.send(0, 1, [4])
        self.assertEqual(self.received(1), [(0, 4)])

    def test_some_is_lost(self):
        self.switch.rule([[0, 1, 0.25, 0, 0]])
        found = []
        for number in range(400):
            self.send(0, 1, [number])
            found += [number for _, number in self.received(1)]
        self.assertEqual(found, sorted(found))
        self.assertTrue(250 < len(found) < 350, len(found))
        self.assertEqual(self.switch.counts["lost"], 400 - len(found))

    def test_what_is_late_keeps_its_order_also_when_the_rule_ends(self):
        self.switch.rule([[0, 1, 0, 20, 40]])
        self.send(0, 1, range(10))
        # Nothing leaves before it is time to look.
        self.assertEqual(self.received(1), [])
        self.switch.rule([])
        self.send(0, 1, range(10, 20))
        self.send(2, 1, [100])
        # The other link is not late.
        self.assertEqual(self.received(1), [(2, 100)])
        self.release()
        self.assertEqual(self.received(1), [(0, number) for number in range(20)])
        self.send(0, 1, [20])
        self.assertEqual(self.received(1), [(0, 20)])

    def test_what_waits_is_limited(self):
        self.switch.rule([[0, 1, 0, 60_000, 0]])
        one = packet(0, 1, 1)
        for _ in range(WAITING_MAX + 3):
            self.switch.carry((0, 1), one)
        self.assertEqual(len(self.switch.waiting), WAITING_MAX)
        self.assertEqual(self.switch.counts["overflown"], 3)

    def test_what_is_for_nobody_goes_nowhere(self):
        for bad in [b"\x60" + bytes(40), packet(0, MEMBERS, 1), b"\x45" + bytes(19)]:
            self.members[0].send(bad)
        self.switch.take(self.devices[0])
        self.assertEqual([self.received(member) for member in range(MEMBERS)], [[], [], []])

    def test_nobody_is_read_from_for_ever(self):
        for number in range(READ_AT_ONCE + 1):
            self.members[0].send(packet(0, 1, number))
        self.switch.take(self.devices[0])
        self.assertEqual(len(self.received(1)), READ_AT_ONCE)


if __name__ == "__main__":
    unittest.main()
