// Package suite is what the suite programs in Go share: options, cases, result lines, transcripts, records. They are
// those of the Python suites (tests/python/suite.py).
package suite

import (
	"bufio"
	"flag"
	"fmt"
	"math/rand"
	"os"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	caseMax  = 120 * time.Second
	parallel = 4
)

// Case is a name and what is done.
type Case struct {
	Name string
	Body func(*Context)
}

// Context has names of its own, options and the transcript of one case.
type Context struct {
	Bootstrap string
	suite     string
	name      string
	run       string
	mu        sync.Mutex
	lines     []string
	open      []func()
}

// Name is a topic, a group or an id that no other case and no other run uses.
func (c *Context) Name(what string) string {
	return fmt.Sprintf("%s-%s.%s-%s", c.run, c.suite, c.name, what)
}

// Line adds a line to the transcript.
func (c *Context) Line(format string, values ...any) {
	text := strings.ReplaceAll(fmt.Sprintf(format, values...), c.run, "<run>")
	text = strings.ReplaceAll(text, c.Bootstrap, "<broker>")
	c.mu.Lock()
	defer c.mu.Unlock()
	c.lines = append(c.lines, strings.Join(strings.Fields(text), " "))
}

// Later is done when the case has ended.
func (c *Context) Later(done func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = append(c.open, done)
}

// failure is what ends a case.
type failure struct{ why string }

// Check ends the case unless something holds. It is for the goroutine of the case.
func Check(holds bool, format string, values ...any) {
	if !holds {
		_, file, line, _ := runtime.Caller(1)
		if strings.HasSuffix(file, "/suite.go") {
			_, file, line, _ = runtime.Caller(2)
		}
		panic(failure{fmt.Sprintf("%s @%s:%d", fmt.Sprintf(format, values...), file[strings.LastIndex(file, "/")+1:], line)})
	}
}

// Passes ends the case with an error, if there is one.
func Passes(what string, err error) {
	Check(err == nil, "%s: %v", what, err)
}

// Same ends the case unless two values are equal.
func Same(what string, expected, found any) {
	Check(reflect.DeepEqual(expected, found), "%s: expected %s, got %s", what, short(expected), short(found))
}

func short(value any) string {
	text := fmt.Sprintf("%v", value)
	if len(text) > 300 {
		return text[:300] + "..."
	}
	return text
}

// Eventually waits for a condition.
func Eventually(what string, max time.Duration, condition func() bool) {
	deadline := time.Now().Add(max)
	for !condition() {
		Check(time.Now().Before(deadline), "%s: not within %v", what, max)
		time.Sleep(20 * time.Millisecond)
	}
}

// Main runs the cases and ends the program.
func Main(suite string, cases []Case) {
	bootstrap := flag.String("bootstrap", "", "HOST:PORT")
	chosen := flag.String("case", "", "substring of the names of cases")
	_ = flag.String("target", "kafka", "kafka or thalweg")
	transcript := flag.String("transcript", "", "file")
	flag.Parse()
	if *bootstrap == "" || flag.NArg() > 0 {
		fmt.Fprintln(os.Stderr, "--bootstrap HOST:PORT [--case SUBSTRING] [--target kafka|thalweg] [--transcript FILE]")
		os.Exit(2)
	}
	run := fmt.Sprintf("r%04x", rand.Intn(1<<16))
	places := make(chan struct{}, parallel)
	var running sync.WaitGroup
	var mu sync.Mutex
	transcripts := map[string][]string{}
	failed := false
	for _, one := range cases {
		if !strings.Contains(one.Name, *chosen) {
			continue
		}
		running.Add(1)
		places <- struct{}{}
		go func() {
			defer func() { <-places; running.Done() }()
			c := &Context{Bootstrap: *bootstrap, suite: suite, name: one.Name, run: run}
			begin := time.Now()
			why := c.body(one.Body)
			mu.Lock()
			defer mu.Unlock()
			if why == "" {
				fmt.Printf("pass %s.%s %d\n", suite, one.Name, time.Since(begin).Milliseconds())
			} else {
				fmt.Printf("fail %s.%s %d: %s\n", suite, one.Name, time.Since(begin).Milliseconds(), why)
				c.Line("E case failed")
				failed = true
			}
			c.mu.Lock()
			transcripts[one.Name] = c.lines
			c.mu.Unlock()
		}()
	}
	running.Wait()
	if *transcript != "" {
		write(*transcript, suite, transcripts)
	}
	if failed {
		os.Exit(1)
	}
	os.Exit(0)
}

func write(path, suite string, transcripts map[string][]string) {
	file, err := os.Create(path)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	out := bufio.NewWriter(file)
	names := make([]string, 0, len(transcripts))
	for name := range transcripts {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(out, "## %s.%s\n", suite, name)
		for _, line := range transcripts[name] {
			fmt.Fprintln(out, line)
		}
	}
	if err := out.Flush(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
}

// body runs a case; gives why it failed.
func (c *Context) body(body func(*Context)) string {
	done := make(chan string, 1)
	go func() {
		defer func() {
			switch it := recover().(type) {
			case nil:
				done <- ""
			case failure:
				done <- strings.Join(strings.Fields(it.why), " ")
			default:
				done <- strings.Join(strings.Fields(fmt.Sprintf("panic: %v", it)), " ")
			}
		}()
		body(c)
	}()
	why := fmt.Sprintf("no end after %v", caseMax)
	select {
	case why = <-done:
	case <-time.After(caseMax):
		return why
	}
	c.mu.Lock()
	open := c.open
	c.mu.Unlock()
	for _, one := range slices.Backward(open) {
		one()
	}
	return why
}
