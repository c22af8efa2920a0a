package suite

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"math/rand"
	"slices"
	"time"
)

// Partitions that every topic of the transactions' cases has.
const Partitions = 2

// Header of a record.
type Header struct {
	Key   string
	Value []byte
}

// Record is what is sent.
type Record struct {
	Partition int32
	Key       []byte
	Value     []byte
	Headers   []Header
	Timestamp time.Time
}

// Shown is a record as it is compared: absent and empty are different.
func Shown(key, value []byte, headers []Header, timestamp time.Time) string {
	part := func(bytes []byte) string {
		if bytes == nil {
			return "-"
		}
		sum := sha256.Sum256(bytes)
		return fmt.Sprintf("%d/%x", len(bytes), sum[:6])
	}
	text := fmt.Sprintf("%s %s %d", part(key), part(value), timestamp.UnixMilli())
	for _, header := range headers {
		text += fmt.Sprintf(" %s=%x", header.Key, header.Value)
	}
	return text
}

// Records are of every shape, for partition i % 2.
func Records(count int, seed int64) []Record {
	chance := rand.New(rand.NewSource(seed))
	noise := func(length int) []byte {
		bytes := make([]byte, length)
		_, _ = chance.Read(bytes)
		return bytes
	}
	records := make([]Record, count)
	for i := range records {
		record := Record{Partition: int32(i % Partitions), Timestamp: time.UnixMilli(1_700_000_000_000 + int64(i)*10)}
		record.Key = [][]byte{nil, {}, fmt.Appendf(nil, "k%d", i), noise(1 + chance.Intn(50))}[i%4]
		record.Value = [][]byte{
			{},
			noise(3000 + chance.Intn(3000)),
			make([]byte, 2500),
			append(fmt.Appendf(nil, "record %d ", i), bytes.Repeat([]byte("abcdefgh"), chance.Intn(40))...),
			fmt.Appendf(nil, "x%d", i),
		}[i%5]
		for h := range i % 4 {
			record.Headers = append(record.Headers, Header{fmt.Sprintf("h%d", h), noise(h*9 + 1)})
		}
		records[i] = record
	}
	return records
}

// Placed is what stands at an offset.
type Placed struct {
	Offset int64
	Shown  string
}

// Log is what stands in each partition.
type Log [Partitions][]Placed

// Joined is all of several logs.
func Joined(logs ...Log) Log {
	var all Log
	for _, log := range logs {
		for partition, placed := range log {
			all[partition] = append(all[partition], placed...)
		}
	}
	for _, placed := range all {
		slices.SortFunc(placed, func(a, b Placed) int { return int(a.Offset - b.Offset) })
	}
	return all
}

// Compare ends the case unless the same stands in both.
func Compare(what string, expected, found Log) {
	for partition := range expected {
		offsets := func(placed []Placed) []int64 {
			all := make([]int64, len(placed))
			for i, one := range placed {
				all[i] = one.Offset
			}
			return all
		}
		Same(fmt.Sprintf("%s: offsets of %d", what, partition), offsets(expected[partition]), offsets(found[partition]))
		for i, one := range expected[partition] {
			Same(fmt.Sprintf("%s: record of %d", what, partition), one, found[partition][i])
		}
	}
}

// Firsts are the offsets of the first partition at which transactions of so many records begin.
func (log Log) Firsts(count int) []int64 {
	var firsts []int64
	for i := 0; i < len(log[0]); i += count {
		firsts = append(firsts, log[0][i].Offset)
	}
	return firsts
}
