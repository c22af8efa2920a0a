package main

import "testing"

// The same partitions stay as in the other peers.
func TestDraws(t *testing.T) {
	p := newPauser(10, 9)
	for number, want := range []int32{2, 2, 4, 1, 2, 0, 3, 9, 6, 7, 4, 8} {
		p.draw()
		if p.order[0] != want || p.paused[want] {
			t.Fatalf("draw %d keeps %d, not %d", number, p.order[0], want)
		}
		if len(p.pause) > 1 && number > 0 {
			t.Fatalf("draw %d pauses %v", number, p.pause)
		}
	}
}
