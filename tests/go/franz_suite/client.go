package main

import (
	"context"
	"errors"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	. "thalweg/tests/go/suite"
)

// levels of isolation, as a consumer's option and in requests.
var levels = map[string]int8{"read_uncommitted": 0, "read_committed": 1}

func isolation(level string) kgo.Opt {
	if level == "read_committed" {
		return kgo.FetchIsolationLevel(kgo.ReadCommitted())
	}
	return kgo.FetchIsolationLevel(kgo.ReadUncommitted())
}

func within(seconds int) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(seconds)*time.Second)
	_ = context.AfterFunc(ctx, cancel)
	return ctx
}

func open(c *Context, options ...kgo.Opt) *kgo.Client {
	client, err := kgo.NewClient(append([]kgo.Opt{kgo.SeedBrokers(c.Bootstrap), kgo.MetadataMinAge(100 * time.Millisecond)}, options...)...)
	Passes("a client", err)
	c.Later(client.CloseAllowingRebalance)
	return client
}

// writing are the options of every producer: a record goes to the partition that it names.
func writing(options ...kgo.Opt) []kgo.Opt {
	all := []kgo.Opt{
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.ProducerBatchCompression(kgo.NoCompression()),
		kgo.ProducerLinger(2 * time.Millisecond),
	}
	return append(all, options...)
}

func transactional(c *Context, options ...kgo.Opt) *kgo.Client {
	return open(c, writing(append([]kgo.Opt{kgo.TransactionalID(c.Name("id"))}, options...)...)...)
}

func topic(c *Context, what string, configs ...string) string {
	name := c.Name(what)
	client := open(c)
	request := kmsg.NewPtrCreateTopicsRequest()
	wanted := kmsg.NewCreateTopicsRequestTopic()
	wanted.Topic, wanted.NumPartitions, wanted.ReplicationFactor = name, Partitions, 1
	for i := 0; i < len(configs); i += 2 {
		config := kmsg.NewCreateTopicsRequestTopicConfig()
		config.Name, config.Value = configs[i], &configs[i+1]
		wanted.Configs = append(wanted.Configs, config)
	}
	request.Topics = append(request.Topics, wanted)
	response, err := request.RequestWith(within(30), client)
	Passes("a topic", err)
	Passes("a topic", kerr.ErrorForCode(response.Topics[0].ErrorCode))
	Eventually("the topic is led", 15*time.Second, func() bool {
		_, err := ends(client, name, "read_uncommitted")
		return err == nil
	})
	return name
}

func ends(client *kgo.Client, name, level string) ([Partitions]int64, error) {
	var found [Partitions]int64
	request := kmsg.NewPtrListOffsetsRequest()
	request.IsolationLevel = levels[level]
	of := kmsg.NewListOffsetsRequestTopic()
	of.Topic = name
	for partition := range int32(Partitions) {
		one := kmsg.NewListOffsetsRequestTopicPartition()
		one.Partition, one.Timestamp = partition, -1
		of.Partitions = append(of.Partitions, one)
	}
	request.Topics = append(request.Topics, of)
	response, err := request.RequestWith(within(20), client)
	if err != nil {
		return found, err
	}
	for _, one := range response.Topics[0].Partitions {
		if err := kerr.ErrorForCode(one.ErrorCode); err != nil {
			return found, err
		}
		found[one.Partition] = one.Offset
	}
	return found, nil
}

// settled waits for the end of all transactions: a producer hears of one before the markers are written.
func settled(c *Context, name string) [Partitions]int64 {
	client := open(c)
	var stable [Partitions]int64
	Eventually("the last stable offset is the end", 20*time.Second, func() bool {
		all, err := ends(client, name, "read_uncommitted")
		Passes("ends", err)
		stable, err = ends(client, name, "read_committed")
		Passes("stable ends", err)
		return all == stable
	})
	return stable
}

// send sends within the transaction, if there is one, and waits; gives what arrived.
func send(client *kgo.Client, name string, records []Record) Log {
	asked := make([]*kgo.Record, len(records))
	for i, record := range records {
		asked[i] = &kgo.Record{
			Topic: name, Partition: record.Partition, Key: record.Key, Value: record.Value, Timestamp: record.Timestamp,
		}
		for _, header := range record.Headers {
			asked[i].Headers = append(asked[i].Headers, kgo.RecordHeader{Key: header.Key, Value: header.Value})
		}
	}
	results := client.ProduceSync(within(60), asked...)
	Passes("records", results.FirstErr())
	var arrived Log
	for i, record := range records {
		shown := Shown(record.Key, record.Value, record.Headers, record.Timestamp)
		arrived[record.Partition] = append(arrived[record.Partition], Placed{Offset: asked[i].Offset, Shown: shown})
	}
	return Joined(arrived)
}

// read is all that a reader finds, and where the last stable offsets or the ends are. It is shown markers, too: they are
// the last before an end.
func read(c *Context, name, level string) (Log, [Partitions]int64) {
	offsets := map[string]map[int32]kgo.Offset{name: {}}
	for partition := range int32(Partitions) {
		offsets[name][partition] = kgo.NewOffset().AtStart()
	}
	client := open(c, isolation(level), kgo.ConsumePartitions(offsets), kgo.KeepControlRecords(), kgo.FetchMaxWait(50*time.Millisecond))
	defer client.Close()
	wanted, err := ends(client, name, level)
	Passes("ends", err)
	var found Log
	var at [Partitions]int64
	Eventually("the ends are read", 30*time.Second, func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		fetches := client.PollFetches(ctx)
		for _, failed := range fetches.Errors() {
			Check(errors.Is(failed.Err, context.DeadlineExceeded), "fetch: %v", failed.Err)
		}
		fetches.EachRecord(func(record *kgo.Record) {
			at[record.Partition] = record.Offset + 1
			if record.Attrs.IsControl() {
				return
			}
			var headers []Header
			for _, header := range record.Headers {
				headers = append(headers, Header{Key: header.Key, Value: header.Value})
			}
			shown := Shown(record.Key, record.Value, headers, record.Timestamp)
			found[record.Partition] = append(found[record.Partition], Placed{Offset: record.Offset, Shown: shown})
		})
		return at == wanted
	})
	return found, wanted
}
