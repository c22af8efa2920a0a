// Transactions of franz-go: each record and each offset is looked at, as readers of either isolation level find them.
//
// Offsets alone, without a session of a group that was assigned their partitions, are left out: franz-go has no call for
// them.
package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	. "thalweg/tests/go/suite"
)

func main() {
	codecs := map[string]kgo.CompressionCodec{"none": kgo.NoCompression(), "lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression()}
	var cases []Case
	for _, name := range []string{"none", "lz4", "zstd"} {
		body := func(c *Context) { commitAndAbort(c, codecs[name]) }
		cases = append(cases, Case{Name: "transactions-commit-and-abort-" + name, Body: body})
	}
	balancers := map[string]kgo.GroupBalancer{"range": kgo.RangeBalancer(), "cooperative-sticky": kgo.CooperativeStickyBalancer()}
	for _, name := range []string{"range", "cooperative-sticky"} {
		body := func(c *Context) { copiedBySessions(c, balancers[name]) }
		cases = append(cases, Case{Name: "transactions-copied-by-sessions-" + name, Body: body})
	}
	cases = append(cases,
		Case{Name: "transactions-fencing", Body: fencing},
		Case{Name: "transactions-abortable-error", Body: abortableError},
		Case{Name: "transactions-timeout", Body: timeout},
	)
	Main("franz", cases)
}

func end(client *kgo.Client, how kgo.TransactionEndTry) {
	Passes("the end", client.EndTransaction(within(30), how))
}

func commitAndAbort(c *Context, codec kgo.CompressionCodec) {
	name := topic(c, "t")
	producer := transactional(c, kgo.ProducerBatchCompression(codec))
	records := Records(480, 7)
	var all, committed Log
	for round := range 12 {
		Passes("begin", producer.BeginTransaction())
		arrived := send(producer, name, records[round*40:round*40+40])
		all = Joined(all, arrived)
		if round%3 == 2 {
			end(producer, kgo.TryAbort)
		} else {
			end(producer, kgo.TryCommit)
			committed = Joined(committed, arrived)
		}
	}
	for _, how := range []kgo.TransactionEndTry{kgo.TryCommit, kgo.TryAbort} {
		// One without anything in it.
		Passes("begin", producer.BeginTransaction())
		end(producer, how)
	}
	c.Line("first offsets %v, ends %v", all.Firsts(20), settled(c, name))
	found, _ := read(c, name, "read_committed")
	Compare("committed", committed, found)
	found, _ = read(c, name, "read_uncommitted")
	Compare("all", all, found)
	// What is open is not read, nor what others write behind it.
	Passes("begin", producer.BeginTransaction())
	opened := send(producer, name, records[:10])
	behind := send(open(c, writing()...), name, records[10:20])
	found, stable := read(c, name, "read_committed")
	Compare("beside an open one", committed, found)
	Same("last stable offsets", [Partitions]int64{opened[0][0].Offset, opened[1][0].Offset}, stable)
	end(producer, kgo.TryAbort)
	settled(c, name)
	found, _ = read(c, name, "read_committed")
	Compare("in the end", Joined(committed, behind), found)
}

// copiedBySessions has members that join, leave and abort. Every record is there once, in order.
func copiedBySessions(c *Context, balancer kgo.GroupBalancer) {
	const numbers = 600
	source, sink, group := topic(c, "from"), topic(c, "to"), c.Name("g")
	plain := open(c, writing()...)
	fill := func(from, to int) {
		var asked []*kgo.Record
		for number := from; number < to; number++ {
			for partition := range int32(Partitions) {
				asked = append(asked, &kgo.Record{Topic: source, Partition: partition, Value: fmt.Append(nil, number)})
			}
		}
		Passes("records", plain.ProduceSync(within(30), asked...).FirstErr())
	}
	var aborted atomic.Int64
	var broken sync.Map
	member := func(at int) (stop func()) {
		stopping, stopped := make(chan struct{}), make(chan struct{})
		session, err := kgo.NewGroupTransactSession(writing(
			kgo.SeedBrokers(c.Bootstrap), kgo.TransactionalID(c.Name(fmt.Sprintf("id-%d", at))),
			kgo.ConsumerGroup(group), kgo.ConsumeTopics(source), kgo.Balancers(balancer),
			kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()), kgo.FetchIsolationLevel(kgo.ReadCommitted()),
			kgo.RequireStableFetchOffsets(), kgo.HeartbeatInterval(200*time.Millisecond), kgo.FetchMaxWait(50*time.Millisecond),
		)...)
		Passes("a session", err)
		go func() {
			defer close(stopped)
			defer session.Close()
			for round := 0; ; round++ {
				select {
				case <-stopping:
					return
				default:
				}
				if err := copySome(session, sink, round%4 == 2, &aborted); err != nil {
					broken.Store(at, err)
					return
				}
			}
		}()
		return func() { close(stopping); <-stopped }
	}
	isCopied := func(wanted int64) func() bool {
		return func() bool {
			broken.Range(func(at, why any) bool { Check(false, "member %v: %v", at, why); return false })
			return committedOffsets(plain, group, source) == [Partitions]int64{wanted, wanted}
		}
	}
	stop := []func(){member(0)}
	fill(0, numbers/3)
	Eventually("a third is copied", 60*time.Second, isCopied(numbers/3))
	stop = append(stop, member(1))
	fill(numbers/3, 2*numbers/3)
	Eventually("two thirds are copied", 60*time.Second, isCopied(2*numbers/3))
	stop[0]()
	fill(2*numbers/3, numbers)
	Eventually("all is copied", 60*time.Second, isCopied(numbers))
	stop[1]()
	Check(aborted.Load() > 0, "no transaction was aborted")
	settled(c, sink)
	found, _ := read(c, sink, "read_committed")
	for partition := range found {
		Same("number of records", numbers, len(found[partition]))
		for number, placed := range found[partition] {
			value := fmt.Append(nil, number)
			// The time is that of the copy.
			Check(bytesOf(placed.Shown) == bytesOf(Shown(nil, value, nil, time.Time{})), "partition %d: record %d is %s", partition, number, placed.Shown)
		}
	}
	c.Line("%d records copied once", Partitions*numbers)
}

// bytesOf is what is shown of key and value.
func bytesOf(shown string) string {
	var key, value string
	_, _ = fmt.Sscan(shown, &key, &value)
	return key + " " + value
}

// copySome is one transaction of a session.
func copySome(session *kgo.GroupTransactSession, sink string, isAborted bool, aborted *atomic.Int64) error {
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	fetches := session.PollRecords(ctx, 40)
	cancel()
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return failed.Err
		}
	}
	if fetches.NumRecords() == 0 {
		return nil
	}
	if err := session.Begin(); err != nil {
		return err
	}
	var failure kgo.FirstErrPromise
	fetches.EachRecord(func(record *kgo.Record) {
		session.Produce(within(30), &kgo.Record{Topic: sink, Partition: record.Partition, Value: record.Value}, failure.Promise())
	})
	if isAborted {
		if err := session.Client().Flush(within(30)); err != nil {
			return err
		}
	}
	committed, err := session.End(within(30), kgo.TransactionEndTry(!isAborted && failure.Err() == nil))
	if !committed {
		aborted.Add(1)
	}
	return err
}

func committedOffsets(client *kgo.Client, group, source string) [Partitions]int64 {
	request := kmsg.NewPtrOffsetFetchRequest()
	request.RequireStable = true
	of := kmsg.NewOffsetFetchRequestGroup()
	of.Group = group
	wanted := kmsg.NewOffsetFetchRequestGroupTopic()
	wanted.Topic = source
	for partition := range int32(Partitions) {
		wanted.Partitions = append(wanted.Partitions, partition)
	}
	of.Topics = append(of.Topics, wanted)
	request.Groups = append(request.Groups, of)
	// Its older form, for brokers that have only that.
	request.Group = group
	request.Topics = []kmsg.OffsetFetchRequestTopic{{Topic: source, Partitions: wanted.Partitions}}
	found := [Partitions]int64{-1, -1}
	response, err := request.RequestWith(within(20), client)
	Passes("offsets", err)
	for _, group := range response.Groups {
		for _, topic := range group.Topics {
			for _, one := range topic.Partitions {
				if one.ErrorCode == 0 {
					found[one.Partition] = one.Offset
				}
			}
		}
	}
	return found
}

// named is the protocol's name of an error.
func named(err error) string {
	var known *kerr.Error
	if errors.As(err, &known) {
		return known.Message
	}
	return fmt.Sprintf("%v", err)
}

func fencing(c *Context) {
	name := topic(c, "t")
	first := transactional(c)
	Passes("begin", first.BeginTransaction())
	lost := send(first, name, Records(10, 1))
	second := transactional(c)
	Passes("begin", second.BeginTransaction())
	kept := send(second, name, Records(10, 2))
	// It can neither add to its transaction nor end it.
	err := first.ProduceSync(within(30), &kgo.Record{Topic: name, Value: []byte("of a zombie")}).FirstErr()
	Check(err != nil, "the zombie's record was taken")
	c.Line("a record of the first: %s", named(err))
	err = first.EndTransaction(within(30), kgo.TryCommit)
	Check(err != nil, "the zombie's transaction is committed")
	end(second, kgo.TryCommit)
	c.Line("ends %v", settled(c, name))
	found, _ := read(c, name, "read_committed")
	Compare("committed", kept, found)
	found, _ = read(c, name, "read_uncommitted")
	Compare("all", Joined(lost, kept), found)
}

// abortableError has a record that is too large; the next transaction passes.
func abortableError(c *Context) {
	name, small := topic(c, "t"), topic(c, "small", "max.message.bytes", "1000")
	producer := transactional(c)
	Passes("begin", producer.BeginTransaction())
	lost := send(producer, name, Records(10, 1))
	err := producer.ProduceSync(within(30), &kgo.Record{Topic: small, Value: make([]byte, 2000)}).FirstErr()
	Check(err != nil, "a record that is too large was taken")
	c.Line("too large: %s", named(err))
	end(producer, kgo.TryAbort)
	Passes("begin", producer.BeginTransaction())
	kept := send(producer, name, Records(10, 2))
	end(producer, kgo.TryCommit)
	c.Line("ends %v", settled(c, name))
	found, _ := read(c, name, "read_committed")
	Compare("committed", kept, found)
	found, _ = read(c, name, "read_uncommitted")
	Compare("all", Joined(lost, kept), found)
}

// timeout has a transaction that the coordinator aborts, because it lasts too long. Its producer is told.
func timeout(c *Context) {
	name := topic(c, "t")
	producer := transactional(c, kgo.TransactionTimeout(2*time.Second))
	Passes("begin", producer.BeginTransaction())
	lost := send(producer, name, Records(10, 1))
	settled(c, name)
	err := producer.EndTransaction(within(30), kgo.TryCommit)
	Check(err != nil, "it is committed")
	c.Line("the commit: %s", named(err))
	found, _ := read(c, name, "read_committed")
	Compare("committed", Log{}, found)
	another := transactional(c)
	Passes("begin", another.BeginTransaction())
	kept := send(another, name, Records(10, 2))
	end(another, kgo.TryCommit)
	c.Line("ends %v", settled(c, name))
	found, _ = read(c, name, "read_committed")
	Compare("in the end", kept, found)
	found, _ = read(c, name, "read_uncommitted")
	Compare("all", Joined(lost, kept), found)
}
