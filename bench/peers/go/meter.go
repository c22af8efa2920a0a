package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"os"
	"os/exec"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

const (
	// silenceMax is the silence after which a run that waits for records gives up.
	silenceMax = 10 * time.Second
	// clockEvery is how many polls are between two looks at the clock while records come.
	clockEvery = 64
)

// usage is what the process has used so far.
type usage struct {
	at        time.Time
	user      float64
	system    float64
	voluntary int64
}

func usageNow() usage {
	var of syscall.Rusage
	// It cannot fail with these arguments.
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &of)
	seconds := func(t syscall.Timeval) float64 { return float64(t.Sec) + float64(t.Usec)/1e6 }
	return usage{time.Now(), seconds(of.Utime), seconds(of.Stime), of.Nvcsw}
}

// counters is a hook that counts requests and bytes.
type counters struct {
	key      int16
	requests atomic.Int64
	received atomic.Int64
}

func (c *counters) OnBrokerWrite(_ kgo.BrokerMetadata, key int16, _ int, _, _ time.Duration, _ error) {
	if key == c.key {
		c.requests.Add(1)
	}
}

func (c *counters) OnBrokerRead(_ kgo.BrokerMetadata, _ int16, read int, _, _ time.Duration, _ error) {
	c.received.Add(int64(read))
}

type totals struct{ requests, received int64 }

func (c *counters) now() totals {
	return totals{c.requests.Load(), c.received.Load()}
}

// socketBytes is what the kernel counted on this process's connections; -1 without the command ss.
func socketBytes() int64 {
	output, err := exec.Command("ss", "-tinpOH").Output()
	if err != nil {
		return -1
	}
	owner := fmt.Sprintf("pid=%d,", os.Getpid())
	sum := int64(0)
	for _, line := range strings.Split(string(output), "\n") {
		if !strings.Contains(line, owner) {
			continue
		}
		for _, word := range strings.Fields(line) {
			if digits, found := strings.CutPrefix(word, "bytes_received:"); found {
				number, _ := strconv.ParseInt(digits, 10, 64)
				sum += number
			}
		}
	}
	return sum
}

// meter is the measured window of a consumer.
type meter struct {
	experiment, mode string
	warmup, length   time.Duration
	wanted           int64
	counters         *counters
	// held is how many partitions were paused for good, where that was asked for.
	held int

	warm, measured             bool
	warmUntil                  time.Time
	begun, ended               usage
	kernel, kernelAfter        int64
	before, after              totals
	records, bytes, polls      int64
	checksum                   uint64
	recordsBefore, bytesBefore int64
	pollsBefore                int64
	checksumBefore             uint64
	untilClock                 int
	lastRecord                 time.Time
	lastRecords                int64
}

// begin is for right before the first poll.
func (m *meter) begin(idle bool) {
	m.begun = usageNow()
	m.lastRecord = m.begun.at
	m.measured = m.wanted > 0
	if idle {
		m.experiment = "idle"
		m.warm, m.warmUntil = true, m.begun.at.Add(m.warmup)
	}
}

func (m *meter) record(record *kgo.Record) {
	first := uint64(0)
	if len(record.Value) > 0 {
		first = uint64(record.Value[0])
	}
	m.records++
	m.bytes += int64(len(record.Value))
	m.checksum += first*0x9e3779b97f4a7c15 ^ uint64(record.Offset) ^
		bits.RotateLeft64(uint64(record.Timestamp.UnixMilli()), 24)
}

// polled is for after each poll; it tells whether the window has ended.
func (m *meter) polled() (bool, error) {
	m.polls++
	if m.wanted > 0 && m.records >= m.wanted {
		m.end()
		return true, nil
	}
	silent := m.records == m.lastRecords
	if m.untilClock > 0 && !silent {
		m.untilClock--
		m.lastRecords = m.records
		return false, nil
	}
	m.untilClock = clockEvery
	now := time.Now()
	if !silent {
		m.lastRecord, m.lastRecords = now, m.records
	} else if m.experiment != "idle" && now.Sub(m.lastRecord) > silenceMax {
		return false, fmt.Errorf("no record for %v, after %d", silenceMax, m.records)
	}
	switch {
	case m.measured:
		if m.length > 0 && now.Sub(m.begun.at) >= m.length {
			m.end()
			return true, nil
		}
	case !m.warm && !silent:
		m.warm, m.warmUntil = true, now.Add(m.warmup)
	case m.warm && !now.Before(m.warmUntil):
		m.measured = true
		m.recordsBefore, m.bytesBefore = m.records, m.bytes
		m.pollsBefore, m.checksumBefore = m.polls, m.checksum
		m.kernel = socketBytes()
		m.before = m.counters.now()
		m.begun = usageNow()
	}
	return false, nil
}

func (m *meter) end() {
	m.ended = usageNow()
	m.after = m.counters.now()
	m.kernelAfter = socketBytes()
}

func (m *meter) report() (string, error) {
	received := m.after.received - m.before.received
	if m.kernel >= 0 && m.kernelAfter >= 0 {
		received = m.kernelAfter - m.kernel
	}
	report := cost(m.experiment, m.mode, m.begun, m.ended)
	report["records"] = m.records - m.recordsBefore
	report["bytes"] = m.bytes - m.bytesBefore
	report["polls"] = m.polls - m.pollsBefore
	report["fetches"] = m.after.requests - m.before.requests
	report["bytes_received"] = received
	report["errors"] = 0
	report["held"] = m.held
	report["checksum"] = fmt.Sprintf("%016x", m.checksum-m.checksumBefore)
	line, err := json.Marshal(report)
	return string(line), err
}

func cost(experiment, mode string, begun, ended usage) map[string]any {
	user, system := ended.user-begun.user, ended.system-begun.system
	report := map[string]any{
		"client": "franz", "version": version(), "experiment": experiment, "mode": mode,
		"seconds": ended.at.Sub(begun.at).Seconds(), "cpu_seconds": user + system,
		"cpu_user": user, "cpu_sys": system,
		"voluntary_switches": ended.voluntary - begun.voluntary,
		"rss_peak_kib":       nil,
	}
	if peak, err := rssPeak(); err == nil {
		report["rss_peak_kib"] = peak
	}
	return report
}

func version() string {
	info, found := debug.ReadBuildInfo()
	if found {
		for _, module := range info.Deps {
			if module.Path == "github.com/twmb/franz-go" {
				return module.Version
			}
		}
	}
	return "unknown"
}

func rssPeak() (int64, error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, err
	}
	for _, line := range strings.Split(string(status), "\n") {
		if rest, found := strings.CutPrefix(line, "VmHWM:"); found {
			return strconv.ParseInt(strings.TrimSpace(strings.TrimSuffix(rest, "kB")), 10, 64)
		}
	}
	return 0, errors.New("no VmHWM")
}
