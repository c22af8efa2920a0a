// Transactions of Sarama: each record and each offset is looked at, as readers of either isolation level find them.
package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/IBM/sarama"

	. "thalweg/tests/go/suite"
)

func main() {
	codecs := map[string]sarama.CompressionCodec{
		"none": sarama.CompressionNone, "snappy": sarama.CompressionSnappy, "zstd": sarama.CompressionZSTD,
	}
	var cases []Case
	for _, name := range []string{"none", "snappy", "zstd"} {
		body := func(c *Context) { commitAndAbort(c, codecs[name]) }
		cases = append(cases, Case{Name: "transactions-commit-and-abort-" + name, Body: body})
	}
	cases = append(cases,
		Case{Name: "transactions-copied-by-a-group", Body: copiedByAGroup},
		Case{Name: "transactions-offsets", Body: offsets},
		Case{Name: "transactions-fencing", Body: fencing},
		Case{Name: "transactions-abortable-errors", Body: abortableErrors},
		Case{Name: "transactions-timeout", Body: timeout},
	)
	Main("sarama", cases)
}

func unchanged(*sarama.Config) {}

func commitAndAbort(c *Context, codec sarama.CompressionCodec) {
	name := topic(c, "t")
	producer := transactional(c, func(config *sarama.Config) { config.Producer.Compression = codec })
	records := Records(480, 7)
	var all, committed Log
	for round := range 12 {
		Passes("begin", producer.BeginTxn())
		arrived := send(producer, name, records[round*40:round*40+40])
		all = Joined(all, arrived)
		if round%3 == 2 {
			Passes("abort", producer.AbortTxn())
		} else {
			Passes("commit", producer.CommitTxn())
			committed = Joined(committed, arrived)
		}
	}
	for _, end := range []func() error{producer.CommitTxn, producer.AbortTxn} {
		// One without anything in it.
		Passes("begin", producer.BeginTxn())
		Passes("end", end())
	}
	c.Line("first offsets %v, ends %v", all.Firsts(20), settled(c, name))
	// What is open is not read, nor what others write behind it.
	Passes("begin", producer.BeginTxn())
	opened := send(producer, name, records[:10])
	behind := send(plain(c), name, records[10:20])
	stable, err := ends(c, name, "read_committed")
	Passes("stable ends", err)
	Same("last stable offsets", [Partitions]int64{opened[0][0].Offset, opened[1][0].Offset}, stable)
	Passes("abort", producer.AbortTxn())
	compare(c, name, Joined(committed, behind), Joined(all, opened, behind))
}

func committedOffsets(c *Context, group, name string) [Partitions]int64 {
	admin, err := sarama.NewClusterAdmin([]string{c.Bootstrap}, config("read_committed"))
	Passes("an admin client", err)
	defer func() { _ = admin.Close() }()
	response, err := admin.ListConsumerGroupOffsets(group, map[string][]int32{name: {0, 1}})
	Passes("offsets", err)
	var found [Partitions]int64
	for partition := range int32(Partitions) {
		block := response.GetBlock(name, partition)
		Check(block != nil && block.Err == sarama.ErrNoError, "offset of %d: %v", partition, block)
		found[partition] = block.Offset
	}
	return found
}

func offsets(c *Context) {
	name, group := topic(c, "t"), c.Name("g")
	producer := transactional(c, unchanged)
	var all, committed Log
	for _, round := range []struct {
		number      int64
		isCommitted bool
		wanted      int64
	}{{5, true, 5}, {7, false, 5}, {9, true, 9}} {
		Passes("begin", producer.BeginTxn())
		arrived := send(producer, name, Records(4, round.number))
		all = Joined(all, arrived)
		asked := map[string][]*sarama.PartitionOffsetMetadata{
			name: {{Partition: 0, Offset: round.number}, {Partition: 1, Offset: round.number + 100}},
		}
		Passes("offsets", producer.AddOffsetsToTxn(asked, group))
		if round.isCommitted {
			Passes("commit", producer.CommitTxn())
			committed = Joined(committed, arrived)
		} else {
			Passes("abort", producer.AbortTxn())
		}
		settled(c, name)
		wanted := [Partitions]int64{round.wanted, round.wanted + 100}
		Eventually(fmt.Sprintf("offsets %v", wanted), 20*time.Second, func() bool { return committedOffsets(c, group, name) == wanted })
		c.Line("after %d: %v", round.number, wanted)
	}
	// Offsets alone, as those of a record.
	Passes("begin", producer.BeginTxn())
	Passes("offsets", producer.AddMessageToTxn(&sarama.ConsumerMessage{Topic: name, Partition: 0, Offset: 10}, group, nil))
	Passes("commit", producer.CommitTxn())
	Eventually("the offset alone", 20*time.Second, func() bool {
		return committedOffsets(c, group, name) == [Partitions]int64{11, 109}
	})
	compare(c, name, committed, all)
}

// copier is a member of a group that copies in transactions.
type copier struct {
	producer sarama.AsyncProducer
	group    string
	sink     string
	// One transaction at a time: partitions are consumed beside each other.
	turn    sync.Mutex
	round   int
	aborted *atomic.Int64
	broken  *sync.Map
}

func (m *copier) Setup(sarama.ConsumerGroupSession) error { return nil }

func (m *copier) Cleanup(sarama.ConsumerGroupSession) error { return nil }

// ConsumeClaim gives a partition up after an abort, so that it is read again from what is committed.
func (m *copier) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for message := range claim.Messages() {
		batch := []*sarama.ConsumerMessage{message}
	more:
		for len(batch) < 40 {
			select {
			case message, open := <-claim.Messages():
				if !open {
					break more
				}
				batch = append(batch, message)
			default:
				break more
			}
		}
		if session.Context().Err() != nil {
			return nil
		}
		committed, err := m.copy(session, batch)
		if err != nil {
			m.broken.Store(m, err)
			return err
		}
		if !committed {
			return nil
		}
	}
	return nil
}

func (m *copier) copy(session sarama.ConsumerGroupSession, batch []*sarama.ConsumerMessage) (bool, error) {
	m.turn.Lock()
	defer m.turn.Unlock()
	if err := m.producer.BeginTxn(); err != nil {
		return false, err
	}
	records := make([]Record, len(batch))
	for i, message := range batch {
		records[i] = Record{Partition: message.Partition, Value: message.Value, Timestamp: time.Unix(1_700_000_000, 0)}
	}
	if _, err := try(m.producer, m.sink, records); err != nil {
		return false, err
	}
	member := sarama.NewConsumerGroupMetadataFromSession(session, m.group, nil)
	err := m.producer.AddMessageToTxnWithGroupMetadata(batch[len(batch)-1], member, nil)
	m.round++
	if err != nil || m.round%4 == 2 {
		// Another generation has begun, or it is time for that.
		m.aborted.Add(1)
		return false, m.producer.AbortTxn()
	}
	return true, m.producer.CommitTxn()
}

// copiedByAGroup has members that join, leave and abort. Every record is there once, in order.
func copiedByAGroup(c *Context) {
	const numbers = 400
	source, sink, group := topic(c, "from"), topic(c, "to"), c.Name("g")
	filler := plain(c)
	var aborted atomic.Int64
	var broken sync.Map
	member := func(at int) (stop func()) {
		own := config("read_committed")
		own.Consumer.Group.Heartbeat.Interval = 200 * time.Millisecond
		own.Consumer.Group.Rebalance.GroupStrategies = []sarama.BalanceStrategy{sarama.NewBalanceStrategyRange()}
		consumer, err := sarama.NewConsumerGroup([]string{c.Bootstrap}, group, own)
		Passes("a consumer", err)
		producer := transactional(c, func(config *sarama.Config) { config.Producer.Transaction.ID = c.Name(fmt.Sprintf("id-%d", at)) })
		m := &copier{producer: producer, group: group, sink: sink, aborted: &aborted, broken: &broken}
		ctx, cancel := context.WithCancel(context.Background())
		stopped := make(chan struct{})
		go func() {
			defer close(stopped)
			for ctx.Err() == nil {
				if err := consumer.Consume(ctx, []string{source}, m); err != nil && ctx.Err() == nil {
					broken.Store(at, err)
					return
				}
			}
		}()
		return func() {
			cancel()
			<-stopped
			_ = consumer.Close()
		}
	}
	fill := func(from, to int) {
		var records []Record
		for number := from; number < to; number++ {
			for partition := range int32(Partitions) {
				records = append(records, Record{Partition: partition, Value: fmt.Append(nil, number), Timestamp: time.Unix(1_700_000_000, 0)})
			}
		}
		send(filler, source, records)
	}
	isCopied := func(wanted int64) func() bool {
		return func() bool {
			broken.Range(func(_, why any) bool { Check(false, "a member: %v", why); return false })
			return committedOffsets(c, group, source) == [Partitions]int64{wanted, wanted}
		}
	}
	stop := []func(){member(0)}
	fill(0, numbers/2)
	Eventually("half is copied", 60*time.Second, isCopied(numbers/2))
	stop = append(stop, member(1))
	fill(numbers/2, 3*numbers/4)
	Eventually("three quarters are copied", 60*time.Second, isCopied(3*numbers/4))
	stop[0]()
	fill(3*numbers/4, numbers)
	Eventually("all is copied", 60*time.Second, isCopied(numbers))
	stop[1]()
	Check(aborted.Load() > 0, "no transaction was aborted")
	settled(c, sink)
	last := send(filler, sink, Records(Partitions, 99))
	found := read(c, sink, "read_committed", [Partitions]int64{last[0][0].Offset, last[1][0].Offset})
	for partition, placed := range found {
		Same("number of records", numbers+1, len(placed))
		for number, one := range placed[:numbers] {
			wanted := Shown(nil, fmt.Append(nil, number), nil, time.Unix(1_700_000_000, 0))
			Check(one.Shown == wanted, "partition %d: record %d is %s", partition, number, one.Shown)
		}
	}
	c.Line("%d records copied once", Partitions*numbers)
}

func fencing(c *Context) {
	name := topic(c, "t")
	first := transactional(c, unchanged)
	Passes("begin", first.BeginTxn())
	lost := send(first, name, Records(10, 1))
	second := transactional(c, unchanged)
	Passes("begin", second.BeginTxn())
	kept := send(second, name, Records(10, 2))
	// It can neither add to its transaction nor end it.
	_, err := try(first, name, Records(2, 3))
	Check(err != nil, "the zombie's record was taken")
	c.Line("a record of the first: %s", named(err))
	err = first.CommitTxn()
	Check(err != nil, "the zombie's transaction is committed")
	Passes("commit", second.CommitTxn())
	compare(c, name, kept, Joined(lost, kept))
}

// abortableErrors are a record that is too large, and offsets of a member that has left. The next transaction passes.
func abortableErrors(c *Context) {
	name, small, group := topic(c, "t"), topic(c, "small", "max.message.bytes", "1000"), c.Name("g")
	producer := transactional(c, unchanged)
	var all, committed Log
	recovered := func() {
		Check(producer.TxnStatus()&sarama.ProducerTxnFlagAbortableError != 0, "the status is %v", producer.TxnStatus())
		Passes("abort", producer.AbortTxn())
		Passes("begin", producer.BeginTxn())
		kept := send(producer, name, Records(10, 2))
		Passes("commit", producer.CommitTxn())
		all, committed = Joined(all, kept), Joined(committed, kept)
	}
	Passes("begin", producer.BeginTxn())
	all = Joined(all, send(producer, name, Records(10, 1)))
	_, err := try(producer, small, []Record{{Value: make([]byte, 2000), Timestamp: time.Unix(1_700_000_000, 0)}})
	Check(err != nil, "a record that is too large was taken")
	c.Line("too large: %s", named(err))
	recovered()
	Passes("begin", producer.BeginTxn())
	all = Joined(all, send(producer, name, Records(10, 3)))
	stale := &sarama.ConsumerGroupMetadata{GroupID: group, GenerationID: 3, MemberID: "somebody"}
	asked := map[string][]*sarama.PartitionOffsetMetadata{name: {{Partition: 0, Offset: 3}}}
	err = producer.AddOffsetsToTxnWithGroupMetadata(asked, stale)
	if err == nil {
		// They are sent with the end.
		err = producer.CommitTxn()
	}
	Check(err != nil, "offsets of nobody were taken")
	c.Line("offsets of nobody: %s", named(err))
	recovered()
	compare(c, name, committed, all)
}

// timeout has a transaction that the coordinator aborts, because it lasts too long. Its producer is told.
func timeout(c *Context) {
	name := topic(c, "t")
	producer := transactional(c, func(config *sarama.Config) { config.Producer.Transaction.Timeout = 2 * time.Second })
	Passes("begin", producer.BeginTxn())
	lost := send(producer, name, Records(10, 1))
	settled(c, name)
	err := producer.CommitTxn()
	Check(err != nil, "it is committed")
	c.Line("the commit: %s", named(err))
	another := transactional(c, unchanged)
	Passes("begin", another.BeginTxn())
	kept := send(another, name, Records(10, 2))
	Passes("commit", another.CommitTxn())
	compare(c, name, kept, Joined(lost, kept))
}
