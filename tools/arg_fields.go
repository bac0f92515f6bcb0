package tools

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"
)

// The kinds of JSON values that an argument struct can name beside Go's own
// strings, booleans, integers, lists of strings and maps of strings.
type (
	// anyObject is an object whose values may be anything.
	anyObject map[string]json.RawMessage
	// rawObject is an object that is passed on unchanged: the order of its members
	// may be significant.
	rawObject json.RawMessage
	// objectMap is an object whose values are objects.
	objectMap map[string]json.RawMessage
	// answerMap is an object whose values are lists of strings.
	answerMap map[string][]string
)

// field is one argument, as its struct field's tags describe it:
//
//	Name string `arg:"name,required" doc:"..." enum:"a|b" min:"0" max:"9"`
//
// The option wait marks an argument that sets how long a call may wait and is
// not part of the idempotency hash; key marks the idempotency key. For a string
// max bounds its bytes, for a list its items. The tag instead:"X=..." is advice
// for the value X, which is not in the enum.
type field struct {
	name     string
	alias    string
	index    []int
	typ      reflect.Type
	required bool
	wait     bool
	key      bool
	doc      string
	enum     []string
	instead  map[string]string // advice by wrong value
	min, max *int64
}

// fieldsOf lists the arguments of a struct type in order, embedded structs in
// place. It panics on a tag that it cannot read: that is a bug of this package.
func fieldsOf(t reflect.Type) []field {
	var out []field
	for i := range t.NumField() {
		sf := t.Field(i)
		if sf.Anonymous {
			for _, f := range fieldsOf(sf.Type) {
				f.index = append([]int{i}, f.index...)
				out = append(out, f)
			}
			continue
		}
		out = append(out, fieldOf(sf, i))
	}
	return out
}

func fieldOf(sf reflect.StructField, i int) field {
	parts := strings.Split(sf.Tag.Get("arg"), ",")
	f := field{name: parts[0], index: []int{i}, typ: sf.Type, doc: sf.Tag.Get("doc"), alias: sf.Tag.Get("alias")}
	if f.name == "" {
		panic(fmt.Sprintf("tools: field %s has no arg tag", sf.Name))
	}
	for _, o := range parts[1:] {
		switch o {
		case "required":
			f.required = true
		case "wait":
			f.wait = true
		case "key":
			f.key = true
		default:
			panic(fmt.Sprintf("tools: field %s has an unknown option %q", sf.Name, o))
		}
	}
	if e := sf.Tag.Get("enum"); e != "" {
		f.enum = strings.Split(e, "|")
	}
	if word, advice, ok := strings.Cut(sf.Tag.Get("instead"), "="); ok {
		f.instead = map[string]string{word: advice}
	}
	f.min, f.max = bound(sf, "min"), bound(sf, "max")
	if strings.HasSuffix(f.name, "_ms") && f.max == nil {
		f.max = new(maxMilliseconds)
	}
	return f
}

func bound(sf reflect.StructField, tag string) *int64 {
	s := sf.Tag.Get(tag)
	if s == "" {
		return nil
	}
	n, err := strconv.ParseInt(s, 10, 64)
	if err != nil {
		panic(fmt.Sprintf("tools: field %s: %s is no number", sf.Name, tag))
	}
	return &n
}
