// Peer is franz-go as a peer of the client benchmarks: poll, pause and write, with one line of JSON
// at the end.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	keyProduce = 0
	keyFetch   = 1
	// warmupStep is how many records of a warm-up are between two looks at the clock.
	warmupStep = int64(1000)
)

func main() {
	line, err := run(os.Args[1:])
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	fmt.Println(line)
}

func run(arguments []string) (string, error) {
	if len(arguments) == 0 {
		return "", errors.New("poll, pause or write is missing")
	}
	options, err := parse(arguments[1:])
	if err != nil {
		return "", err
	}
	switch arguments[0] {
	case "poll":
		return poll(options)
	case "pause":
		return pause(options)
	case "write":
		return write(options)
	}
	return "", fmt.Errorf("%s: poll, pause or write", arguments[0])
}

// ends are the partitions of a topic and where they end.
func ends(bootstrap, topic string) (map[int32]int64, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(bootstrap))
	if err != nil {
		return nil, err
	}
	defer client.Close()
	listed, err := kadm.NewClient(client).ListEndOffsets(context.Background(), topic)
	if err != nil {
		return nil, err
	}
	if err := listed.Error(); err != nil {
		return nil, err
	}
	of := map[int32]int64{}
	listed.Each(func(end kadm.ListedOffset) { of[end.Partition] = end.Offset })
	return of, nil
}

func poll(o *options) (string, error) {
	mode := o.text("mode", "assign")
	recordsMax := int(o.number("max-records", "500"))
	timeout := o.duration("poll-timeout-ms", time.Millisecond, "1000")
	bootstrap, topic := o.text("bootstrap"), o.text("topic")
	count := &counters{key: keyFetch}
	m := &meter{experiment: "poll", mode: mode, counters: count}
	m.warmup = o.duration("warmup-seconds", time.Second, "0")
	if o.has("seconds") {
		m.length = o.duration("seconds", time.Second)
	}
	if o.has("records") {
		m.wanted = o.number("records")
	}
	if (m.length > 0) == (m.wanted > 0) {
		o.fail(errors.New("either --seconds or --records"))
	}
	idle := o.text("idle", "false") == "true"
	pausedAll := o.text("paused-all", "false") == "true"
	from := kgo.NewOffset().AtStart()
	if o.text("from", "earliest") == "latest" {
		from = kgo.NewOffset().AtEnd()
	}
	isolation := kgo.ReadUncommitted()
	if o.text("isolation", "read_uncommitted") == "read_committed" {
		isolation = kgo.ReadCommitted()
	}
	opts := []kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumeResetOffset(from),
		kgo.FetchIsolationLevel(isolation),
		kgo.FetchMinBytes(int32(o.number("fetch-min-bytes", "1"))),
		kgo.FetchMaxWait(o.duration("fetch-max-wait-ms", time.Millisecond, "500")),
		kgo.FetchMaxPartitionBytes(int32(o.number("max-partition-fetch-bytes", "1m"))),
		kgo.WithHooks(count),
	}
	opts, err := withSets(opts, o)
	if err != nil {
		return "", err
	}
	group := fmt.Sprintf("peer-%d-%d", os.Getpid(), time.Now().UnixNano())
	switch mode {
	case "assign":
		of, err := ends(bootstrap, topic)
		if err != nil {
			return "", err
		}
		all := map[int32]kgo.Offset{}
		for partition := range of {
			all[partition] = from
		}
		opts = append(opts, kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: all}))
	case "classic":
		opts = append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic))
	case "consumer":
		opts = append(opts, kgo.ConsumerGroup(group), kgo.ConsumeTopics(topic),
			kgo.ServerSideBalancer(), kgo.Balancers(kgo.RangeBalancer()))
	default:
		return "", fmt.Errorf("--mode %s: assign, classic or consumer", mode)
	}
	if err := o.finish(); err != nil {
		return "", err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return "", err
	}
	defer client.Close()
	if pausedAll {
		// What is paused may be assigned later.
		partitions, err := ends(bootstrap, topic)
		if err != nil {
			return "", err
		}
		m.held = len(partitions)
		client.PauseFetchPartitions(map[string][]int32{topic: slices.Collect(maps.Keys(partitions))})
	}
	m.begin(idle)
	for {
		if err := pollOnce(client, recordsMax, timeout, m.record); err != nil {
			return "", err
		}
		done, err := m.polled()
		if err != nil {
			return "", err
		}
		if done {
			return m.report()
		}
	}
}

// pollOnce takes what is there, and waits only if there is nothing: a deadline costs a timer.
func pollOnce(client *kgo.Client, recordsMax int, timeout time.Duration, each func(*kgo.Record)) error {
	fetches := client.PollRecords(nil, recordsMax) //nolint:staticcheck // nil is its word for "now"
	if fetches.Empty() {
		ctx, cancel := context.WithTimeout(context.Background(), timeout)
		fetches = client.PollRecords(ctx, recordsMax)
		cancel()
	}
	for _, failed := range fetches.Errors() {
		if !errors.Is(failed.Err, context.DeadlineExceeded) {
			return fmt.Errorf("%s-%d: %w", failed.Topic, failed.Partition, failed.Err)
		}
	}
	fetches.EachRecord(each)
	return nil
}

// withSets adds settings that matter for throughput, under Kafka's names.
func withSets(opts []kgo.Opt, o *options) ([]kgo.Opt, error) {
	for name, value := range o.sets {
		number, err := strconv.Atoi(value)
		if err != nil {
			return nil, fmt.Errorf("--set %s=%s: not a number", name, value)
		}
		switch name {
		case "fetch.min.bytes":
			opts = append(opts, kgo.FetchMinBytes(int32(number)))
		case "fetch.max.bytes":
			opts = append(opts, kgo.FetchMaxBytes(int32(number)))
		case "max.partition.fetch.bytes":
			opts = append(opts, kgo.FetchMaxPartitionBytes(int32(number)))
		case "batch.size":
			opts = append(opts, kgo.ProducerBatchMaxBytes(int32(number)))
		case "linger.ms":
			opts = append(opts, kgo.ProducerLinger(time.Duration(number)*time.Millisecond))
		case "buffer.memory":
			opts = append(opts, kgo.MaxBufferedBytes(number))
		default:
			return nil, fmt.Errorf("--set %s: unknown here", name)
		}
	}
	return opts, nil
}

func pause(o *options) (string, error) {
	bootstrap, topic := o.text("bootstrap"), o.text("topic")
	partitions, paused := int(o.number("partitions", "10")), int(o.number("paused", "9"))
	recordsMax := int(o.number("max-records", "1"))
	timeout := o.duration("poll-timeout-ms", time.Millisecond, "100")
	count := &counters{key: keyFetch}
	m := &meter{experiment: "pause", mode: "assign", counters: count}
	m.warmup = o.duration("warmup-seconds", time.Second, "0")
	m.length = o.duration("seconds", time.Second)
	if err := o.finish(); err != nil {
		return "", err
	}
	if paused >= partitions {
		return "", errors.New("--paused is below --partitions")
	}
	endOf, err := ends(bootstrap, topic)
	if err != nil {
		return "", err
	}
	all := map[int32]kgo.Offset{}
	for partition := range partitions {
		all[int32(partition)] = kgo.NewOffset().AtStart()
	}
	opts, err := withSets([]kgo.Opt{
		kgo.SeedBrokers(bootstrap),
		kgo.ConsumePartitions(map[string]map[int32]kgo.Offset{topic: all}),
		kgo.FetchMinBytes(1),
		kgo.FetchMaxWait(500 * time.Millisecond),
		kgo.FetchMaxPartitionBytes(1 << 20),
		kgo.WithHooks(count),
	}, o)
	if err != nil {
		return "", err
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return "", err
	}
	defer client.Close()
	draws := newPauser(partitions, paused)
	var atEnd []int32
	m.begin(false)
	for {
		draws.draw()
		if len(draws.pause) > 0 {
			client.PauseFetchPartitions(map[string][]int32{topic: draws.pause})
		}
		if len(draws.resume) > 0 {
			client.ResumeFetchPartitions(map[string][]int32{topic: draws.resume})
		}
		err := pollOnce(client, recordsMax, timeout, func(record *kgo.Record) {
			m.record(record)
			if record.Offset+1 >= endOf[record.Partition] {
				atEnd = append(atEnd, record.Partition)
			}
		})
		if err != nil {
			return "", err
		}
		for _, partition := range atEnd {
			start := map[int32]kgo.EpochOffset{partition: {Epoch: -1, Offset: 0}}
			client.SetOffsets(map[string]map[int32]kgo.EpochOffset{topic: start})
		}
		atEnd = atEnd[:0]
		done, err := m.polled()
		if err != nil {
			return "", err
		}
		if done {
			return m.report()
		}
	}
}

func write(o *options) (string, error) {
	topic, size := o.text("topic"), int(o.number("record-size", "1024"))
	records := o.number("records")
	warmupLength := o.duration("warmup-seconds", time.Second, "0")
	warmupMost := o.number("warmup-records", "1000000000")
	compression := o.text("compression", "none")
	codecs := map[string]kgo.CompressionCodec{
		"none": kgo.NoCompression(), "gzip": kgo.GzipCompression(), "snappy": kgo.SnappyCompression(),
		"lz4": kgo.Lz4Compression(), "zstd": kgo.ZstdCompression(),
	}
	codec, found := codecs[compression]
	if !found {
		return "", fmt.Errorf("--compression %s", compression)
	}
	acks, found := map[string]kgo.Acks{
		"all": kgo.AllISRAcks(), "-1": kgo.AllISRAcks(), "1": kgo.LeaderAck(), "0": kgo.NoAck(),
	}[o.text("acks", "all")]
	if !found {
		return "", errors.New("--acks: all, 1 or 0")
	}
	count := &counters{key: keyProduce}
	opts := []kgo.Opt{
		kgo.SeedBrokers(o.text("bootstrap")),
		kgo.DefaultProduceTopic(topic),
		kgo.ProducerBatchCompression(codec),
		kgo.RequiredAcks(acks),
		kgo.ProducerLinger(o.duration("linger-ms", time.Millisecond, "5")),
		kgo.ProducerBatchMaxBytes(int32(o.number("batch-size", "16384"))),
		// Only the bytes limit, as in the other clients.
		kgo.MaxBufferedRecords(1 << 30),
		kgo.MaxBufferedBytes(int(o.number("buffer-memory", "33554432"))),
		kgo.WithHooks(count),
	}
	if o.text("idempotence", "true") == "false" {
		opts = append(opts, kgo.DisableIdempotentWrite())
	}
	opts, err := withSets(opts, o)
	if err != nil {
		return "", err
	}
	payload, err := os.ReadFile(o.text("payload"))
	if err != nil {
		return "", err
	}
	if err := o.finish(); err != nil {
		return "", err
	}
	if size < 1 || len(payload) < size {
		return "", fmt.Errorf("the payload holds no value of %d bytes", size)
	}
	client, err := kgo.NewClient(opts...)
	if err != nil {
		return "", err
	}
	defer client.Close()
	var done, failed atomic.Int64
	promise := func(_ *kgo.Record, err error) {
		done.Add(1)
		if err != nil {
			failed.Add(1)
		}
	}
	at := 0
	send := func(records int64) {
		for range records {
			client.Produce(context.Background(), &kgo.Record{Value: payload[at : at+size : at+size]}, promise)
			at += size
			if at+size > len(payload) {
				at = 0
			}
		}
	}
	warmup := int64(0)
	for warm := time.Now(); warmup < warmupMost && time.Since(warm) < warmupLength; {
		step := min(warmupStep, warmupMost-warmup)
		send(step)
		warmup += step
	}
	if err := client.Flush(context.Background()); err != nil {
		return "", err
	}
	before, begun := count.now(), usageNow()
	send(records)
	if err := client.Flush(context.Background()); err != nil {
		return "", err
	}
	ended, after := usageNow(), count.now()
	if done.Load() != warmup+records {
		return "", fmt.Errorf("%d records were completed", done.Load())
	}
	report := cost("write", compression, begun, ended)
	report["records"], report["bytes"], report["polls"] = records, records*int64(size), nil
	report["warmup_records"] = warmup
	report["fetches"] = after.requests - before.requests
	report["bytes_received"] = after.received - before.received
	report["errors"], report["checksum"] = failed.Load(), nil
	line, err := json.Marshal(report)
	return string(line), err
}
