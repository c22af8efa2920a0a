// A member of the group soak: Sarama. It does not tell whether a commit was granted.
package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/IBM/sarama"

	"thalweg/tests/go/worker"
)

var strategies = map[string]func() sarama.BalanceStrategy{
	"range":      sarama.NewBalanceStrategyRange,
	"roundrobin": sarama.NewBalanceStrategyRoundRobin,
	"sticky":     sarama.NewBalanceStrategySticky,
}

type member struct {
	*worker.Worker
	// One commit at a time, so that what is told is what was sent.
	committing sync.Mutex
}

func (m *member) Setup(session sarama.ConsumerGroupSession) error {
	m.Assigned(worker.Names(session.Claims()))
	return nil
}

func (m *member) Cleanup(session sarama.ConsumerGroupSession) error {
	m.commit(session)
	m.Gone("revoked", worker.Names(session.Claims()))
	return nil
}

func (m *member) commit(session sarama.ConsumerGroupSession) {
	m.committing.Lock()
	defer m.committing.Unlock()
	offsets := m.TakeDirty(nil)
	for name, offset := range offsets {
		topic, partition := worker.Split(name)
		session.MarkOffset(topic, partition, offset, "")
	}
	start := worker.Now()
	session.Commit()
	m.Committed(offsets, start, nil, session.GenerationID(), "")
}

// ConsumeClaim runs beside those of the member's other partitions.
func (m *member) ConsumeClaim(session sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	name := worker.Name(claim.Topic(), claim.Partition())
	tick := time.NewTicker(m.Millis("commit_ms"))
	defer tick.Stop()
	for {
		var offsets []int64
		select {
		case <-session.Context().Done():
			return nil
		case <-tick.C:
		case message, more := <-claim.Messages():
			if !more {
				return nil
			}
			offsets = append(offsets, message.Offset)
		}
		for more := len(offsets) > 0; more && len(offsets) < 50; {
			select {
			case message, open := <-claim.Messages():
				if more = open; open {
					offsets = append(offsets, message.Offset)
				}
			default:
				more = false
			}
		}
		if session.Context().Err() != nil {
			return nil
		}
		if len(offsets) > 0 {
			m.Work(name, offsets)
		}
		if m.IsDue() {
			m.commit(session)
		}
	}
}

func main() {
	m := &member{Worker: worker.New()}
	config := sarama.NewConfig()
	config.ClientID = m.Text("name")
	config.Version = sarama.V2_8_0_0
	config.Metadata.RefreshFrequency = m.Millis("metadata_ms")
	config.Metadata.AllowAutoTopicCreation = false
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Return.Errors = true
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = m.Millis("session_ms")
	config.Consumer.Group.Heartbeat.Interval = m.Millis("heartbeat_ms")
	config.Consumer.Group.Rebalance.Timeout = m.Millis("rebalance_ms")
	config.Consumer.Group.InstanceId = m.Text("instance")
	// Its default has an assignor already, and Kafka refuses members that name one twice.
	config.Consumer.Group.Rebalance.GroupStrategies = nil
	for _, name := range m.List("assignors") {
		config.Consumer.Group.Rebalance.GroupStrategies = append(config.Consumer.Group.Rebalance.GroupStrategies, strategies[name]())
	}
	group, err := sarama.NewConsumerGroup(m.List("bootstrap"), m.Text("group"), config)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		for err := range group.Errors() {
			m.Error(err)
		}
	}()
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-m.Stopping
		cancel()
	}()
	for !m.IsStopping() {
		if err := group.Consume(ctx, m.List("topics"), m); err != nil && !m.IsStopping() {
			m.Error(err)
			time.Sleep(100 * time.Millisecond)
		}
	}
	_ = group.Close()
	m.Left()
}
