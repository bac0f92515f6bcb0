package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// retention bounds what is kept of ended resources: by age, by size, or both.
type retention struct {
	age   time.Duration // 0: the default
	bytes int64         // 0: no limit
}

// sizes are the units of a retention by size.
var sizes = []struct {
	unit  string
	bytes int64
}{{"KB", 1 << 10}, {"MB", 1 << 20}, {"GB", 1 << 30}, {"TB", 1 << 40}}

// UnmarshalText reads "30d", "12h", "2GB" or "30d,2GB".
func (r *retention) UnmarshalText(b []byte) error {
	var out retention
	for part := range strings.SplitSeq(string(b), ",") {
		part = strings.TrimSpace(part)
		if size, ok := parseSize(part); ok && size > 0 {
			out.bytes = size
		} else if age, ok := parseAge(part); ok && age > 0 {
			out.age = age
		} else {
			return fmt.Errorf("%q is neither an age (30d, 12h) nor a size (500MB, 2GB); both go with a comma between", part)
		}
	}
	*r = out
	return nil
}

func parseSize(s string) (int64, bool) {
	for _, u := range sizes {
		if n, ok := strings.CutSuffix(strings.ToUpper(s), u.unit); ok {
			f, err := strconv.ParseFloat(n, 64)
			return int64(f * float64(u.bytes)), err == nil
		}
	}
	return 0, false
}

func parseAge(s string) (time.Duration, bool) {
	if n, ok := strings.CutSuffix(s, "d"); ok {
		f, err := strconv.ParseFloat(n, 64)
		return time.Duration(f * float64(24*time.Hour)), err == nil
	}
	d, err := time.ParseDuration(s)
	return d, err == nil
}
