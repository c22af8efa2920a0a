// A member of the makes' groups: kafka-go.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"thalweg/tests/go/worker"
)

var balancers = map[string]kafka.GroupBalancer{
	"range":      kafka.RangeGroupBalancer{},
	"roundrobin": kafka.RoundRobinGroupBalancer{},
}

type member struct {
	*worker.Worker
	// One commit at a time, so that the lines follow the requests.
	committing sync.Mutex
}

func (m *member) commit(generation *kafka.Generation) {
	m.committing.Lock()
	defer m.committing.Unlock()
	offsets := m.TakeDirty(nil)
	if len(offsets) == 0 {
		return
	}
	asked := map[string]map[int]int64{}
	for name, offset := range offsets {
		topic, partition := worker.Split(name)
		if asked[topic] == nil {
			asked[topic] = map[int]int64{}
		}
		asked[topic][int(partition)] = offset
	}
	start := worker.Now()
	if err := generation.CommitOffsets(asked); err != nil {
		m.Committed(offsets, start, false, generation.ID, err.Error())
		return
	}
	m.Committed(offsets, start, true, generation.ID, "")
}

// read works on one partition until the generation ends.
func (m *member) read(ctx context.Context, topic string, assigned kafka.PartitionAssignment) {
	reader := kafka.NewReader(kafka.ReaderConfig{
		Brokers:   m.List("bootstrap"),
		Topic:     topic,
		Partition: assigned.ID,
		MinBytes:  1,
		MaxBytes:  1 << 20,
		MaxWait:   100 * time.Millisecond,
	})
	defer reader.Close()
	if err := reader.SetOffset(assigned.Offset); err != nil {
		m.Error(err)
		return
	}
	name := worker.Name(topic, int32(assigned.ID))
	for {
		message, err := reader.FetchMessage(ctx)
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			m.Error(err)
			return
		}
		m.Work(name, []int64{message.Offset})
	}
}

// run is one generation: readers, and a committer that ends after them.
func (m *member) run(generation *kafka.Generation) {
	names := []string{}
	var readers sync.WaitGroup
	for topic, partitions := range generation.Assignments {
		for _, assigned := range partitions {
			names = append(names, worker.Name(topic, int32(assigned.ID)))
		}
	}
	m.Assigned(names)
	for topic, partitions := range generation.Assignments {
		for _, assigned := range partitions {
			readers.Add(1)
			generation.Start(func(ctx context.Context) {
				defer readers.Done()
				m.read(ctx, topic, assigned)
			})
		}
	}
	generation.Start(func(ctx context.Context) {
		tick := time.NewTicker(20 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				readers.Wait()
				m.commit(generation)
				m.Gone("revoked", names)
				return
			case <-tick.C:
				if m.IsDue() {
					m.commit(generation)
				}
			}
		}
	})
}

func main() {
	m := &member{Worker: worker.New()}
	offered := []kafka.GroupBalancer{}
	for _, name := range m.List("assignors") {
		offered = append(offered, balancers[name])
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                     m.Text("group"),
		Brokers:                m.List("bootstrap"),
		Dialer:                 &kafka.Dialer{ClientID: m.Text("name"), Timeout: 10 * time.Second, DualStack: true},
		Topics:                 m.List("topics"),
		GroupBalancers:         offered,
		HeartbeatInterval:      m.Millis("heartbeat_ms"),
		SessionTimeout:         m.Millis("session_ms"),
		RebalanceTimeout:       m.Millis("rebalance_ms"),
		JoinGroupBackoff:       500 * time.Millisecond,
		StartOffset:            kafka.FirstOffset,
		WatchPartitionChanges:  true,
		PartitionWatchInterval: m.Millis("metadata_ms"),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-m.Stopping
		cancel()
	}()
	for !m.IsStopping() {
		generation, err := group.Next(ctx)
		if m.IsStopping() {
			break
		}
		if err != nil {
			m.Error(err)
			continue
		}
		m.run(generation)
	}
	_ = group.Close()
	m.Left()
}
