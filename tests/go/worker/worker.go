// Package worker is what the members of the group soak in Go share. tests/python/group_worker.py says what
// their arguments are and what their lines mean.
package worker

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
	"unsafe"
)

const clockMonotonic = 1

// Worker is what a member owns, where it is in that, and what of it is to be committed.
type Worker struct {
	given map[string]string
	// Stopping is closed when the member is to leave.
	Stopping chan struct{}

	mu        sync.Mutex
	owned     map[string]bool
	at        map[string]int64
	dirty     map[string]int64
	committed time.Time
}

// New reads the arguments.
func New() *Worker {
	w := &Worker{
		given:     map[string]string{},
		Stopping:  make(chan struct{}),
		owned:     map[string]bool{},
		at:        map[string]int64{},
		dirty:     map[string]int64{},
		committed: time.Now(),
	}
	for _, word := range os.Args[1:] {
		name, value, _ := strings.Cut(word, "=")
		w.given[name] = value
	}
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		close(w.Stopping)
	}()
	w.tell("ready", nil)
	return w
}

// Text is an argument.
func (w *Worker) Text(name string) string { return w.given[name] }

// List is an argument with commas.
func (w *Worker) List(name string) []string { return strings.Split(w.given[name], ",") }

// Millis is an argument that is a time.
func (w *Worker) Millis(name string) time.Duration {
	number, _ := strconv.Atoi(w.given[name])
	return time.Duration(number) * time.Millisecond
}

// IsStopping tells whether the member is to leave.
func (w *Worker) IsStopping() bool {
	select {
	case <-w.Stopping:
		return true
	default:
		return false
	}
}

// Name is a partition as lines have it.
func Name(topic string, partition int32) string { return fmt.Sprintf("%s-%d", topic, partition) }

// Split takes a name apart.
func Split(name string) (string, int32) {
	cut := strings.LastIndexByte(name, '-')
	number, _ := strconv.Atoi(name[cut+1:])
	return name[:cut], int32(number)
}

// Names are partitions as lines have them.
func Names(partitions map[string][]int32) []string {
	out := []string{}
	for topic, numbers := range partitions {
		for _, number := range numbers {
			out = append(out, Name(topic, number))
		}
	}
	slices.Sort(out)
	return out
}

// Now is the monotonic clock, in microseconds. Go's own has no beginning that others know.
func Now() int64 {
	var at syscall.Timespec
	_, _, _ = syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&at)), 0)
	return at.Nano() / 1000
}

func (w *Worker) tell(what string, more map[string]any) {
	line := map[string]any{"e": what, "t": Now()}
	maps.Copy(line, more)
	bytes, _ := json.Marshal(line)
	_, _ = os.Stdout.Write(append(bytes, '\n'))
}

// Assigned notes what the member got.
func (w *Worker) Assigned(names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		w.owned[name] = true
	}
	w.tell("assigned", map[string]any{"p": names})
}

// Gone notes what the member has no more: `revoked` or `lost`.
func (w *Worker) Gone(what string, names []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, name := range names {
		delete(w.owned, name)
		delete(w.at, name)
		delete(w.dirty, name)
	}
	w.tell(what, map[string]any{"p": names})
}

// Error notes what the application is told.
func (w *Worker) Error(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell("error", map[string]any{"what": err.Error()})
}

// Work is what the application does with records that follow each other.
func (w *Worker) Work(name string, offsets []int64) {
	start := Now()
	micros, _ := strconv.Atoi(w.given["work_us"])
	time.Sleep(time.Duration(micros*len(offsets)) * time.Microsecond)
	w.mu.Lock()
	defer w.mu.Unlock()
	first, last := offsets[0], offsets[0]
	batch := func() {
		w.tell("batch", map[string]any{"p": name, "from": first, "to": last, "t0": start})
	}
	for _, offset := range offsets[1:] {
		if offset != last+1 {
			batch()
			first = offset
		}
		last = offset
	}
	batch()
	w.at[name], w.dirty[name] = last+1, last+1
}

// IsDue tells whether it is time to commit.
func (w *Worker) IsDue() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.dirty) > 0 && time.Since(w.committed) > w.Millis("commit_ms")
}

// TakeDirty is what is to be committed, of these partitions or all; it counts as committed unless that fails.
func (w *Worker) TakeDirty(names []string) map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := map[string]int64{}
	for name, offset := range w.dirty {
		if names == nil || slices.Contains(names, name) {
			out[name] = offset
			delete(w.dirty, name)
		}
	}
	w.committed = time.Now()
	if len(out) > 0 {
		w.tell("sent", map[string]any{"o": out})
	}
	return out
}

// Committed notes the answer to a commit: ok is a bool, or nil where the client does not tell.
func (w *Worker) Committed(offsets map[string]int64, start int64, ok any, generation int32, why string) {
	if len(offsets) == 0 {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	more := map[string]any{"ok": ok, "o": offsets, "t0": start, "gen": generation}
	if why != "" {
		more["why"] = why
	}
	w.tell("commit", more)
	if ok == false {
		// What was refused may be from before a rebalance: only where it is now may be committed.
		for name := range offsets {
			if at, there := w.at[name]; there {
				w.dirty[name] = at
			}
		}
	}
}

// Left ends the process, whatever its client still does.
func (w *Worker) Left() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.tell("left", nil)
	os.Exit(0)
}
