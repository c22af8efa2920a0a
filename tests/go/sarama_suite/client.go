package main

import (
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"

	. "thalweg/tests/go/suite"
)

var levels = map[string]sarama.IsolationLevel{"read_uncommitted": sarama.ReadUncommitted, "read_committed": sarama.ReadCommitted}

func config(level string) *sarama.Config {
	config := sarama.NewConfig()
	config.Version = sarama.V3_6_0_0
	config.Metadata.AllowAutoTopicCreation = false
	config.Consumer.IsolationLevel = levels[level]
	config.Consumer.MaxWaitTime = 50 * time.Millisecond
	config.Consumer.Return.Errors = true
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Producer.Return.Successes = true
	config.Producer.Partitioner = sarama.NewManualPartitioner
	config.Producer.RequiredAcks = sarama.WaitForAll
	return config
}

func client(c *Context, level string) sarama.Client {
	client, err := sarama.NewClient([]string{c.Bootstrap}, config(level))
	Passes("a client", err)
	c.Later(func() { _ = client.Close() })
	return client
}

func topic(c *Context, what string, configs ...string) string {
	name := c.Name(what)
	// Its client is the case's, which closes it.
	admin, err := sarama.NewClusterAdminFromClient(client(c, "read_uncommitted"))
	Passes("an admin client", err)
	detail := &sarama.TopicDetail{NumPartitions: Partitions, ReplicationFactor: 1, ConfigEntries: map[string]*string{}}
	for i := 0; i < len(configs); i += 2 {
		detail.ConfigEntries[configs[i]] = &configs[i+1]
	}
	Passes("a topic", admin.CreateTopic(name, detail, false))
	Eventually("the topic is led", 15*time.Second, func() bool {
		_, err := ends(c, name, "read_uncommitted")
		return err == nil
	})
	return name
}

func ends(c *Context, name, level string) ([Partitions]int64, error) {
	var found [Partitions]int64
	client, err := sarama.NewClient([]string{c.Bootstrap}, config(level))
	if err != nil {
		return found, err
	}
	defer func() { _ = client.Close() }()
	for partition := range int32(Partitions) {
		leader, err := client.Leader(name, partition)
		if err != nil {
			return found, err
		}
		// GetOffset would ask for the end that readers of uncommitted records have.
		request := &sarama.OffsetRequest{Version: 4, IsolationLevel: levels[level]}
		request.AddBlock(name, partition, sarama.OffsetNewest, 1)
		response, err := leader.GetAvailableOffsets(request)
		if err != nil {
			return found, err
		}
		block := response.GetBlock(name, partition)
		if block.Err != sarama.ErrNoError {
			return found, block.Err
		}
		found[partition] = block.Offset
	}
	return found, nil
}

// settled waits for the end of all transactions: a producer hears of one before the markers are written.
func settled(c *Context, name string) [Partitions]int64 {
	var stable [Partitions]int64
	Eventually("the last stable offset is the end", 20*time.Second, func() bool {
		all, err := ends(c, name, "read_uncommitted")
		Passes("ends", err)
		stable, err = ends(c, name, "read_committed")
		Passes("stable ends", err)
		return all == stable
	})
	return stable
}

func plain(c *Context) sarama.AsyncProducer {
	return producer(c, func(*sarama.Config) {})
}

func transactional(c *Context, change func(*sarama.Config)) sarama.AsyncProducer {
	return producer(c, func(config *sarama.Config) {
		config.Producer.Idempotent = true
		config.Producer.Transaction.ID = c.Name("id")
		config.Net.MaxOpenRequests = 1
		change(config)
	})
}

func producer(c *Context, change func(*sarama.Config)) sarama.AsyncProducer {
	config := config("read_committed")
	change(config)
	producer, err := sarama.NewAsyncProducer([]string{c.Bootstrap}, config)
	Passes("a producer", err)
	c.Later(func() { producer.AsyncClose() })
	return producer
}

// send sends within the transaction, if there is one, and waits; gives what arrived.
func send(producer sarama.AsyncProducer, name string, records []Record) Log {
	arrived, err := try(producer, name, records)
	Passes("records", err)
	return arrived
}

// try is the same, for what may be refused.
func try(producer sarama.AsyncProducer, name string, records []Record) (Log, error) {
	for i, record := range records {
		asked := &sarama.ProducerMessage{Topic: name, Partition: record.Partition, Timestamp: record.Timestamp, Metadata: i}
		if record.Key != nil {
			asked.Key = sarama.ByteEncoder(record.Key)
		}
		asked.Value = sarama.ByteEncoder(record.Value)
		for _, header := range record.Headers {
			asked.Headers = append(asked.Headers, sarama.RecordHeader{Key: []byte(header.Key), Value: header.Value})
		}
		producer.Input() <- asked
	}
	var arrived Log
	var failed error
	late := time.After(60 * time.Second)
	for range records {
		select {
		case sent := <-producer.Successes():
			record := records[sent.Metadata.(int)]
			shown := Shown(record.Key, record.Value, record.Headers, record.Timestamp)
			arrived[sent.Partition] = append(arrived[sent.Partition], Placed{Offset: sent.Offset, Shown: shown})
		case refused := <-producer.Errors():
			failed = refused.Err
		case <-late:
			return arrived, errors.New("no answer for 60 s")
		}
	}
	return Joined(arrived), failed
}

// read is all that a reader finds. Sarama tells of nothing but records, so it is read up to the last one, and a plain record
// behind it shows that there is no other.
func read(c *Context, name, level string, last [Partitions]int64) Log {
	consumer, err := sarama.NewConsumerFromClient(client(c, level))
	Passes("a consumer", err)
	defer func() { _ = consumer.Close() }()
	var found Log
	for partition := range int32(Partitions) {
		reader, err := consumer.ConsumePartition(name, partition, sarama.OffsetOldest)
		Passes("a reader", err)
		late := time.After(30 * time.Second)
		for at := int64(-1); at < last[partition]; {
			select {
			case message := <-reader.Messages():
				var headers []Header
				for _, header := range message.Headers {
					headers = append(headers, Header{Key: string(header.Key), Value: header.Value})
				}
				at = message.Offset
				shown := Shown(message.Key, message.Value, headers, message.Timestamp)
				found[partition] = append(found[partition], Placed{Offset: at, Shown: shown})
			case err := <-reader.Errors():
				Passes("a fetch", err)
			case <-late:
				Check(false, "partition %d is read up to %d of %d", partition, at, last[partition])
			}
		}
		Passes("close", reader.Close())
	}
	return found
}

// compare writes a last record to each partition, without a transaction, and compares all that readers of either level find
// up to it. Those of committed records get to it only when every transaction has ended.
func compare(c *Context, name string, committed, all Log) {
	last := send(plain(c), name, Records(Partitions, 99))
	at := [Partitions]int64{last[0][0].Offset, last[1][0].Offset}
	Compare("committed", Joined(committed, last), read(c, name, "read_committed", at))
	Compare("all", Joined(all, last), read(c, name, "read_uncommitted", at))
}

// named is the protocol's or Sarama's name of an error.
func named(err error) string {
	var known sarama.KError
	if errors.As(err, &known) {
		return fmt.Sprintf("%d", int16(known))
	}
	return fmt.Sprintf("%v", err)
}
