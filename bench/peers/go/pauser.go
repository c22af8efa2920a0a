package main

// pauser draws the partitions that stay at the next poll: the same ones in every peer.
type pauser struct {
	random        uint64
	order         []int32
	paused        []bool
	keep          int
	pause, resume []int32
}

func newPauser(partitions, paused int) *pauser {
	p := &pauser{random: 0x7468616c77656721, paused: make([]bool, partitions), keep: partitions - paused}
	for partition := range partitions {
		p.order = append(p.order, int32(partition))
	}
	return p
}

// draw sets what is to be paused and resumed. The first steps of a Fisher-Yates shuffle choose the
// partitions that stay.
func (p *pauser) draw() {
	for at := range p.keep {
		other := at + p.below(len(p.order)-at)
		p.order[at], p.order[other] = p.order[other], p.order[at]
	}
	p.pause, p.resume = p.pause[:0], p.resume[:0]
	for place, partition := range p.order {
		pause := place >= p.keep
		if p.paused[partition] == pause {
			continue
		}
		p.paused[partition] = pause
		if pause {
			p.pause = append(p.pause, partition)
		} else {
			p.resume = append(p.resume, partition)
		}
	}
}

// below is xorshift64*.
func (p *pauser) below(bound int) int {
	p.random ^= p.random >> 12
	p.random ^= p.random << 25
	p.random ^= p.random >> 27
	return int((p.random * 0x2545f4914f6cdd1d >> 33) % uint64(bound))
}
