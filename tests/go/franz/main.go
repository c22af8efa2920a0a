// A member of the group soak: franz-go.
package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"thalweg/tests/go/worker"
)

var balancers = map[string]func() kgo.GroupBalancer{
	"range":              kgo.RangeBalancer,
	"roundrobin":         kgo.RoundRobinBalancer,
	"sticky":             kgo.StickyBalancer,
	"cooperative-sticky": kgo.CooperativeStickyBalancer,
}

func commit(w *worker.Worker, client *kgo.Client, names []string) {
	offsets := w.TakeDirty(names)
	if len(offsets) == 0 {
		return
	}
	asked := map[string]map[int32]kgo.EpochOffset{}
	for name, offset := range offsets {
		topic, partition := worker.Split(name)
		if asked[topic] == nil {
			asked[topic] = map[int32]kgo.EpochOffset{}
		}
		asked[topic][partition] = kgo.EpochOffset{Epoch: -1, Offset: offset}
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
	defer cancel()
	start := worker.Now()
	_, generation := client.GroupMetadata()
	client.CommitOffsetsSync(ctx, asked, func(_ *kgo.Client, _ *kmsg.OffsetCommitRequest, answer *kmsg.OffsetCommitResponse, err error) {
		if err != nil {
			w.Committed(offsets, start, false, generation, err.Error())
			return
		}
		granted, refused, why := map[string]int64{}, map[string]int64{}, ""
		for _, topic := range answer.Topics {
			for _, partition := range topic.Partitions {
				name := worker.Name(topic.Topic, partition.Partition)
				if partition.ErrorCode == 0 {
					granted[name] = offsets[name]
				} else {
					refused[name] = offsets[name]
					why = kerr.ErrorForCode(partition.ErrorCode).Error()
				}
			}
		}
		w.Committed(granted, start, true, generation, "")
		w.Committed(refused, start, false, generation, why)
	})
}

func main() {
	w := worker.New()
	options := []kgo.Opt{
		kgo.SeedBrokers(w.List("bootstrap")...),
		kgo.ClientID(w.Text("name")),
		kgo.ConsumerGroup(w.Text("group")),
		kgo.ConsumeTopics(w.List("topics")...),
		kgo.ConsumeResetOffset(kgo.NewOffset().AtStart()),
		kgo.SessionTimeout(w.Millis("session_ms")),
		kgo.HeartbeatInterval(w.Millis("heartbeat_ms")),
		kgo.RebalanceTimeout(w.Millis("rebalance_ms")),
		kgo.MetadataMaxAge(w.Millis("metadata_ms")),
		kgo.MetadataMinAge(w.Millis("metadata_ms") / 2),
		kgo.FetchMaxWait(100 * time.Millisecond),
		kgo.DisableAutoCommit(),
		kgo.BlockRebalanceOnPoll(),
		kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) {
			w.Assigned(worker.Names(got))
		}),
		kgo.OnPartitionsRevoked(func(_ context.Context, client *kgo.Client, taken map[string][]int32) {
			names := worker.Names(taken)
			commit(w, client, names)
			if len(names) > 0 {
				w.Gone("revoked", names)
			}
		}),
		kgo.OnPartitionsLost(func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			w.Gone("lost", worker.Names(lost))
		}),
	}
	if instance := w.Text("instance"); instance != "" {
		options = append(options, kgo.InstanceID(instance))
	}
	var chosen []kgo.GroupBalancer
	for _, name := range w.List("assignors") {
		chosen = append(chosen, balancers[name]())
	}
	client, err := kgo.NewClient(append(options, kgo.Balancers(chosen...))...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for !w.IsStopping() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		fetches := client.PollRecords(ctx, 50)
		cancel()
		fetches.EachError(func(_ string, _ int32, err error) {
			if err != context.DeadlineExceeded {
				w.Error(err)
			}
		})
		fetches.EachPartition(func(partition kgo.FetchTopicPartition) {
			if len(partition.Records) == 0 {
				return
			}
			offsets := make([]int64, 0, len(partition.Records))
			for _, record := range partition.Records {
				offsets = append(offsets, record.Offset)
			}
			w.Work(worker.Name(partition.Topic, partition.Partition), offsets)
		})
		if w.IsDue() {
			commit(w, client, nil)
		}
		client.AllowRebalance()
	}
	client.CloseAllowingRebalance()
	w.Left()
}
