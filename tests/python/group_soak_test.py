"""The checks of the group soak notice what they are for, and let pass what is right. Needs no client."""

import unittest

import group_soak_check as checks
from group_soak_members import Life

SESSION_US = 4_000_000
A, B = "t-0", "t-1"


def life(name, *events, **more):
    out = Life("client", name, 0, **more)
    out.events += events
    return out


def assigned(t, *p):
    return {"e": "assigned", "t": t, "p": list(p)}


def revoked(t, *p):
    return {"e": "revoked", "t": t, "p": list(p)}


def batch(t0, t, first, to, p=A):
    return {"e": "batch", "t0": t0, "t": t, "p": p, "from": first, "to": to}


def commit(t0, t, offset, ok=True, p=A):
    return {"e": "commit", "t0": t0, "t": t, "ok": ok, "o": {p: offset}}


def faults_of(*lives, count=None, committed=None):
    faults, held = [], []
    for one in lives:
        for holding in checks.holdings(one, SESSION_US, faults):
            held.append(holding)
            checks.without_gaps(holding, faults)
    held = [holding for holding in held if holding.partition == A]
    checks.in_turn(A, held, faults)
    checks.acknowledged_in_order(A, held, faults)
    if count is not None:
        checks.everything(A, held, count, committed, faults)
    return faults


def sent(t, offset, p=A):
    return {"e": "sent", "t": t, "o": {p: offset}}


FIRST = [assigned(10, A), batch(20, 30, 0, 4), sent(31, 5), commit(31, 40, 5), revoked(50, A)]


class Checks(unittest.TestCase):
    def assert_fault(self, part, *lives, **more):
        found = faults_of(*lives, **more)
        self.assertTrue(any(part in fault for fault in found), found)

    def test_one_after_the_other_is_right(self):
        second = life("b", assigned(60, A), batch(61, 70, 5, 9), commit(71, 80, 10), revoked(90, A))
        self.assertEqual([], faults_of(life("a", *FIRST), second, count=10, committed=10))

    def test_what_was_not_committed_may_come_again(self):
        first = life("a", assigned(10, A), batch(20, 30, 0, 4), killed=40)
        second = life("b", assigned(60, A), batch(61, 70, 0, 4), commit(71, 80, 5))
        self.assertEqual([], faults_of(first, second, count=5, committed=5))

    def test_nobody_need_know_the_answer_to_a_commit(self):
        first = life("a", assigned(10, A), batch(20, 30, 0, 4), sent(31, 5), killed=40)
        self.assertEqual([], faults_of(first, life("b", assigned(60, A), batch(61, 70, 5, 9))))

    def test_an_overtaken_commit(self):
        self.assert_fault("begins at 3", life("a", *FIRST), life("b", assigned(60, A), batch(61, 70, 3, 9)))

    def test_records_left_out(self):
        self.assert_fault("begins at 7", life("a", *FIRST), life("b", assigned(60, A), batch(61, 70, 7, 9)))

    def test_a_commit_after_another_got_the_partition(self):
        zombie = life("a", assigned(10, A), batch(20, 30, 0, 4), commit(100, 110, 5), revoked(120, A))
        self.assert_fault("after client b got it", zombie, life("b", assigned(60, A)))
        refused = life("a", assigned(10, A), batch(20, 30, 0, 4), commit(100, 110, 5, ok=False), revoked(120, A))
        self.assertEqual([], faults_of(refused, life("b", assigned(60, A))))

    def test_two_that_work_at_the_same_time(self):
        first = life("a", assigned(10, A), batch(20, 90, 0, 4), revoked(100, A))
        second = life("b", assigned(60, A), batch(70, 80, 0, 4))
        self.assert_fault("works on 0..4 meanwhile", first, second)

    def test_one_that_was_stopped_for_long_is_excused(self):
        end = 6_000_000
        first = life("a", assigned(10, A), batch(end + 20, end + 90, 0, 4), revoked(end + 100, A), pauses=[(15, end)])
        second = life("b", assigned(5_000_000, A), batch(end + 10, end + 80, 0, 4))
        self.assertEqual([], faults_of(first, second))
        # Not for its commits.
        first.events.insert(2, commit(end + 92, end + 95, 5))
        self.assert_fault("after client b got it", first, second)

    def test_a_gap_and_a_repetition(self):
        self.assert_fault("from 7, not from 5", life("a", assigned(10, A), batch(20, 30, 0, 4), batch(31, 40, 7, 9)))
        self.assert_fault("from 4, not from 5", life("a", assigned(10, A), batch(20, 30, 0, 4), batch(31, 40, 4, 9)))

    def test_a_commit_that_goes_back(self):
        first = life("a", assigned(10, A), batch(20, 30, 0, 4), commit(31, 40, 5), commit(41, 50, 3))
        self.assert_fault("has 3 acknowledged", first)
        faults = []
        checks.never_backwards([(1, {A: 5}), (2, {A: 4})], faults)
        self.assertEqual(1, len(faults))

    def test_what_is_missing_in_the_end(self):
        self.assert_fault("nobody processed 5", life("a", *FIRST), count=6, committed=6)
        self.assert_fault("5 is committed in the end", life("a", *FIRST), count=6, committed=5)

    def test_work_on_what_one_does_not_have(self):
        self.assert_fault("without having it", life("a", *FIRST, batch(60, 70, 5, 9)))


class Turns(unittest.TestCase):
    def kinds(self, *events, grown=(), client="client", **more):
        one = life("a", *events, **more)
        one.client = client
        return [turn.kind for turn in checks.turns(one, SESSION_US, grown)]

    def test_eager(self):
        events = [
            revoked(1), assigned(10, A), revoked(20, A), assigned(30, A), revoked(40, A), assigned(50, A, B),
            revoked(60, A, B), assigned(70, B),
        ]
        self.assertEqual(["first", "kept", "gained", "moved"], self.kinds(*events))

    def test_cooperative(self):
        events = [
            assigned(10, A, B), assigned(20), revoked(30, B), assigned(31), assigned(40), assigned(50, B),
        ]
        self.assertEqual(["first", "kept", "moved", "settled", "gained"], self.kinds(*events, incremental=True))

    def test_of_its_own_accord(self):
        events = [assigned(10, A), revoked(1_000_000, A), assigned(1_000_010, A)]
        self.assertEqual(["first", "asked"], self.kinds(*events, grown=[500_000], client="confluent"))
        self.assertEqual(["first", "kept"], self.kinds(*events, client="confluent"))

    def test_fenced(self):
        events = [assigned(10, A), {"e": "lost", "t": 20, "p": [A]}, assigned(30, A)]
        self.assertEqual(["first", "fenced"], self.kinds(*events))


if __name__ == "__main__":
    unittest.main()
