// A member of the makes' groups: goka, on Sarama, with its own assignor. It does not tell whether a commit was granted.
package main

import (
	"context"
	"io"
	"log"
	"time"

	"github.com/IBM/sarama"
	"github.com/lovoo/goka"
	"github.com/lovoo/goka/codec"

	"thalweg/tests/go/worker"
)

// group tells of the claims of each session of goka's.
type group struct {
	sarama.ConsumerGroup
	worker *worker.Worker
}

type handler struct {
	sarama.ConsumerGroupHandler
	worker *worker.Worker
}

func (g group) Consume(ctx context.Context, topics []string, inner sarama.ConsumerGroupHandler) error {
	return g.ConsumerGroup.Consume(ctx, topics, handler{inner, g.worker})
}

func (h handler) Setup(session sarama.ConsumerGroupSession) error {
	h.worker.Assigned(worker.Names(session.Claims()))
	return h.ConsumerGroupHandler.Setup(session)
}

func (h handler) Cleanup(session sarama.ConsumerGroupSession) error {
	err := h.ConsumerGroupHandler.Cleanup(session)
	h.worker.Gone("revoked", worker.Names(session.Claims()))
	return err
}

func main() {
	w := worker.New()
	config := goka.DefaultConfig()
	config.Version = sarama.V2_8_0_0
	config.Metadata.RefreshFrequency = w.Millis("metadata_ms")
	config.Consumer.Offsets.Initial = sarama.OffsetOldest
	config.Consumer.Offsets.AutoCommit.Interval = w.Millis("commit_ms")
	config.Consumer.MaxWaitTime = 100 * time.Millisecond
	config.Consumer.Group.Session.Timeout = w.Millis("session_ms")
	config.Consumer.Group.Heartbeat.Interval = w.Millis("heartbeat_ms")
	config.Consumer.Group.Rebalance.Timeout = w.Millis("rebalance_ms")
	process := func(ctx goka.Context, _ any) {
		name := worker.Name(string(ctx.Topic()), ctx.Partition())
		w.Work(name, []int64{ctx.Offset()})
		// goka marks the record when this returns, and Sarama commits what is marked by its own clock.
		w.TakeDirty([]string{name})
	}
	edges := []goka.Edge{}
	for _, topic := range w.List("topics") {
		edges = append(edges, goka.Input(goka.Stream(topic), new(codec.Bytes), process))
	}
	build := func(brokers []string, name, clientID string) (sarama.ConsumerGroup, error) {
		inner, err := goka.ConsumerGroupBuilderWithConfig(config)(brokers, name, clientID)
		return group{inner, w}, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		<-w.Stopping
		cancel()
	}()
	for !w.IsStopping() {
		processor, err := goka.NewProcessor(
			w.List("bootstrap"),
			goka.DefineGroup(goka.Group(w.Text("group")), edges...),
			goka.WithClientID(w.Text("name")),
			goka.WithConsumerGroupBuilder(build),
			goka.WithLogger(log.New(io.Discard, "", 0)),
		)
		if err == nil {
			err = processor.Run(ctx)
		}
		if err != nil && !w.IsStopping() {
			w.Error(err)
			time.Sleep(200 * time.Millisecond)
		}
	}
	w.Left()
}
