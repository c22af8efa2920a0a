package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// options is the command line that all peers understand.
type options struct {
	values map[string]string
	known  map[string]bool
	sets   map[string]string
	wrong  error
}

func parse(arguments []string) (*options, error) {
	o := &options{values: map[string]string{}, known: map[string]bool{}, sets: map[string]string{}}
	for at := 0; at < len(arguments); at++ {
		name, found := strings.CutPrefix(arguments[at], "--")
		if !found {
			return nil, fmt.Errorf("%s: options begin with --", arguments[at])
		}
		if name == "idle" || name == "paused-all" {
			o.values[name] = "true"
			continue
		}
		at++
		if at == len(arguments) {
			return nil, fmt.Errorf("--%s has no value", name)
		}
		if name != "set" {
			o.values[name] = arguments[at]
			continue
		}
		key, value, found := strings.Cut(arguments[at], "=")
		if !found {
			return nil, fmt.Errorf("--set key=value")
		}
		o.sets[key] = value
	}
	return o, nil
}

func (o *options) has(name string) bool {
	return o.values[name] != ""
}

// text is an option's value; without a default it must be there.
func (o *options) text(name string, ifMissing ...string) string {
	o.known[name] = true
	if value, found := o.values[name]; found {
		return value
	}
	if len(ifMissing) == 0 {
		o.fail(fmt.Errorf("--%s is missing", name))
		return ""
	}
	return ifMissing[0]
}

// number may end in k or m, which count bytes.
func (o *options) number(name string, ifMissing ...string) int64 {
	text := o.text(name, ifMissing...)
	factor := int64(1)
	digits := text
	switch {
	case strings.HasSuffix(text, "k"):
		digits, factor = text[:len(text)-1], 1<<10
	case strings.HasSuffix(text, "m"):
		digits, factor = text[:len(text)-1], 1<<20
	}
	number, err := strconv.ParseInt(digits, 10, 40)
	if err != nil || number < 0 {
		o.fail(fmt.Errorf("--%s %s: not a number of use here", name, text))
	}
	return number * factor
}

func (o *options) duration(name string, unit time.Duration, ifMissing ...string) time.Duration {
	text := o.text(name, ifMissing...)
	number, err := strconv.ParseFloat(text, 64)
	if err != nil || number < 0 || number > 1e9 {
		o.fail(fmt.Errorf("--%s %s: not a time of use here", name, text))
		return 0
	}
	return time.Duration(number * float64(unit))
}

func (o *options) fail(err error) {
	if o.wrong == nil {
		o.wrong = err
	}
}

// finish tells what was wrong, options that nobody asked for included.
func (o *options) finish() error {
	for name := range o.values {
		if !o.known[name] {
			o.fail(fmt.Errorf("--%s is not an option here", name))
		}
	}
	return o.wrong
}
