package tools

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/harness-mcp/harness-mcp/core"
)

// given holds the arguments of a call by name, without waits and the
// idempotency key.
type given map[string]any

// canonical returns the one JSON form of equal arguments.
func (g given) canonical() json.RawMessage { return encode(g) }

// word returns a string argument, "" if it is absent.
func (g given) word(name string) string {
	s, _ := g[name].(string)
	return s
}

// readArguments decodes raw into the struct that into points to, and returns
// the arguments that are present. It is lenient: null is absent, JSON text in a
// string is accepted where another type is wanted, and a single string is
// accepted as a list of one, and a number or boolean where a string is wanted is
// its JSON text. Unknown arguments are errors. All problems are
// reported in one CodeInvalidArgument.
func readArguments(tool string, raw json.RawMessage, fields []field, into any) (given, error) {
	members, err := readMembers(raw)
	if err != nil {
		return nil, invalid(tool, fields, true, []string{"the arguments must be one object, not " + kindOf(raw)})
	}
	r := reader{given: given{}}
	r.readStruct("", members, fields, reflect.ValueOf(into).Elem())
	if len(r.problems) > 0 {
		return nil, invalid(tool, fields, r.lost, r.problems)
	}
	for _, f := range fields {
		if f.wait || f.key {
			delete(r.given, f.name)
		}
	}
	return r.given, nil
}

// invalid returns the error for wrong arguments. With lost set its hint lists
// all arguments of the tool; a wrong value already has its alternatives in the
// problem.
func invalid(tool string, fields []field, lost bool, problems []string) error {
	refused := core.Errorf(core.CodeInvalidArgument, "%s", strings.Join(problems, "; "))
	if !lost {
		return refused
	}
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.name
		if f.required {
			names[i] += " (required)"
		}
	}
	takes := "It takes no arguments."
	if len(names) > 0 {
		takes = tool + " takes: " + strings.Join(names, ", ") + "."
	}
	return refused.WithHint("%s", takes)
}

// reader collects the problems of a call's arguments, and the values as they
// were decoded.
type reader struct {
	problems []string
	lost     bool // a name is wrong or missing, and no similar one is known
	given    given
}

func (r *reader) problem(format string, args ...any) {
	r.problems = append(r.problems, fmt.Sprintf(format, args...))
}

// readStruct decodes members into a struct. path is "" for the arguments
// themselves, else the prefix of names in messages, such as "content[0].".
func (r *reader) readStruct(path string, given map[string]json.RawMessage, fields []field, into reflect.Value) {
	r.refuseUnknown(path, given, fields)
	for _, f := range fields {
		raw, ok := given[f.name]
		if !ok && f.alias != "" {
			raw, ok = given[f.alias]
		}
		if !ok || isNull(raw) {
			if f.required {
				r.problem("%s%s is required", path, f.name)
				r.lost = r.lost || path == ""
			}
			continue
		}
		before := len(r.problems)
		v := into.FieldByIndex(f.index)
		r.readValue(path+f.name, raw, v)
		if len(r.problems) > before {
			continue
		}
		r.check(path+f.name, f, v)
		if path == "" {
			r.given[f.name] = v.Interface()
		}
	}
}

func (r *reader) refuseUnknown(path string, given map[string]json.RawMessage, fields []field) {
	names := make([]string, 0, len(fields))
	known := make(map[string]bool, len(fields))
	for _, f := range fields {
		names = append(names, f.name)
		known[f.name] = true
		if f.alias != "" {
			known[f.alias] = true
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if known[name] {
			continue
		}
		shown := clip(name, maxShownValue)
		if near := nearestName(shown, names); near != "" {
			r.problem("unknown argument %s%s (did you mean %s?)", path, shown, near)
		} else {
			r.problem("unknown argument %s%s", path, shown)
			r.lost = r.lost || path == ""
		}
	}
}

// readValue decodes one value of the kind of v. what names it in messages.
func (r *reader) readValue(what string, raw json.RawMessage, v reflect.Value) {
	t := v.Type()
	switch {
	case t == reflect.TypeFor[rawObject]():
		inner := unquoted(raw)
		if kindOf(inner) != "an object" {
			r.wrong(what, "an object", raw)
			return
		}
		v.SetBytes(inner)
	case t.Kind() == reflect.Pointer:
		p := reflect.New(t.Elem())
		before := len(r.problems)
		r.readValue(what, raw, p.Elem())
		if len(r.problems) == before {
			v.Set(p)
		}
	case t.Kind() == reflect.String:
		s, ok := text(raw)
		if !ok {
			r.wrong(what, "a string", raw)
			return
		}
		v.SetString(s)
	case t.Kind() == reflect.Bool:
		var b bool
		if inner := unquoted(raw); isNull(inner) || json.Unmarshal(inner, &b) != nil {
			r.wrong(what, "true or false", raw)
			return
		}
		v.SetBool(b)
	case t.Kind() == reflect.Int64:
		n, ok := wholeNumber(unquoted(raw))
		if !ok && isHuge(unquoted(raw)) {
			r.problem("%s is out of range: %s", what, clip(string(unquoted(raw)), maxShownValue))
			return
		}
		if !ok {
			r.wrong(what, "a whole number", raw)
			return
		}
		v.SetInt(n)
	case t.Kind() == reflect.Slice:
		r.readList(what, raw, v)
	case t.Kind() == reflect.Map:
		r.readMap(what, raw, v)
	default:
		panic("tools: no reader for " + t.String())
	}
}

func (r *reader) readList(what string, raw json.RawMessage, v reflect.Value) {
	ofStrings := v.Type().Elem().Kind() == reflect.String
	var items []json.RawMessage
	if inner := unquoted(raw); isNull(inner) || json.Unmarshal(inner, &items) != nil {
		if _, ok := text(raw); !ofStrings || !ok {
			r.wrong(what, "a list", raw)
			return
		}
		items = []json.RawMessage{raw}
	}
	out := reflect.MakeSlice(v.Type(), len(items), len(items))
	for i, item := range items {
		place := fmt.Sprintf("%s[%d]", what, i)
		if ofStrings {
			r.readValue(place, item, out.Index(i))
			continue
		}
		given, err := readMembers(item)
		if err != nil {
			r.wrong(place, "an object", item)
			continue
		}
		r.readStruct(place+".", given, fieldsOf(v.Type().Elem()), out.Index(i))
	}
	v.Set(out)
}

func (r *reader) readMap(what string, raw json.RawMessage, v reflect.Value) {
	given, err := readMembers(raw)
	if err != nil {
		r.wrong(what, "an object", raw)
		return
	}
	t := v.Type()
	out := reflect.MakeMap(t)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		item := given[name]
		place := what + "." + clip(name, maxShownValue)
		key := reflect.ValueOf(name)
		if isNull(item) && t != reflect.TypeFor[anyObject]() {
			continue
		}
		if t == reflect.TypeFor[objectMap]() {
			if item = unquoted(item); kindOf(item) != "an object" {
				r.wrong(place, "an object", item)
				continue
			}
		}
		if t.Elem() == reflect.TypeFor[json.RawMessage]() {
			out.SetMapIndex(key, reflect.ValueOf(canonical(item)))
			continue
		}
		e := reflect.New(t.Elem()).Elem()
		r.readValue(place, item, e)
		out.SetMapIndex(key, e)
	}
	v.Set(out)
}

// check reports a value that is outside its field's bounds or enum. An empty
// string is treated as absent.
func (r *reader) check(what string, f field, v reflect.Value) {
	if v.Kind() == reflect.Pointer {
		v = v.Elem()
	}
	switch v.Kind() {
	case reflect.String:
		s := v.String()
		switch {
		case s == "" && f.required:
			r.problem("%s must not be empty", what)
		case s != "" && len(f.enum) > 0 && !slices.Contains(f.enum, s):
			r.wrongWord(what, s, f.enum)
			if f.instead[s] != "" {
				r.problems[len(r.problems)-1] += ": " + f.instead[s]
			}
		case f.max != nil && int64(len(s)) > *f.max:
			r.problem("%s has %d bytes, at most %d are allowed", what, len(s), *f.max)
		}
	case reflect.Slice:
		if f.typ == reflect.TypeFor[rawObject]() {
			return
		}
		n := int64(v.Len())
		if f.min != nil && n < *f.min || f.max != nil && n > *f.max {
			r.problem("%s takes %s items, not %d", what, span(f), n)
		}
		for i := range v.Len() {
			if e := v.Index(i); len(f.enum) > 0 && !slices.Contains(f.enum, e.String()) {
				r.wrongWord(what, e.String(), f.enum)
			}
		}
	case reflect.Int64:
		if n := v.Int(); f.min != nil && n < *f.min || f.max != nil && n > *f.max {
			r.problem("%s must be %s, not %d", what, span(f), n)
		}
	}
}

func (r *reader) wrong(what, wanted string, raw json.RawMessage) {
	r.problem("%s must be %s, not %s", what, wanted, kindOf(raw))
}

func (r *reader) wrongWord(what, got string, words []string) {
	shown := clip(got, maxShownValue)
	tail := ""
	if near := nearestName(shown, words); near != "" {
		tail = " (did you mean " + near + "?)"
	}
	if len(words) <= maxShownWords {
		r.problem("%s must be one of %s, not %q%s", what, strings.Join(words, ", "), shown, tail)
		return
	}
	r.problem("%s has no %q%s", what, shown, tail)
}

func span(f field) string {
	switch {
	case f.min != nil && f.max != nil:
		return fmt.Sprintf("%d to %d", *f.min, *f.max)
	case f.min != nil:
		return fmt.Sprintf("at least %d", *f.min)
	}
	return fmt.Sprintf("at most %d", *f.max)
}
