package core

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// parts returns pointers to the leaf fields of a configuration, by their paths.
func parts(v reflect.Value, path string, into map[string]any) map[string]any {
	for i := range v.NumField() {
		f, name := v.Field(i), path+v.Type().Field(i).Name
		if f.Kind() == reflect.Struct {
			parts(f, name+".", into)
		} else {
			into[name] = f.Addr().Interface()
		}
	}
	return into
}

// example fills a part with a value that no other part has.
func example(v reflect.Value, text string) {
	switch v.Interface().(type) {
	case json.RawMessage:
		v.SetBytes([]byte(`{"value of":"` + text + `"}`))
		return
	case map[string]json.RawMessage:
		v.Set(reflect.ValueOf(map[string]json.RawMessage{text: json.RawMessage(`{"value of":1}`)}))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(text)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int64:
		v.SetInt(int64(len(text)))
	case reflect.Uint64:
		v.SetUint(uint64(len(text)))
	case reflect.Slice:
		v.Set(reflect.ValueOf([]string{text}))
	case reflect.Map:
		v.Set(reflect.ValueOf(map[string]string{text: "value of " + text}))
	default:
		panic("an option has a new type: " + v.Type().String())
	}
}

func TestEveryPartOfAConfigurationHasOneRowInTheTable(t *testing.T) {
	var cfg SessionConfig
	rows, names := map[any]int{}, map[string]int{}
	for _, o := range options {
		rows[o.of(&cfg)]++
		names[o.name]++
		if o.names != nil {
			rows[o.names(&cfg)]++
		}
		if (o.resume == resumeAgain) != (o.names != nil) || (o.needs == nil) != (o.does == "") {
			t.Errorf("the row of %q is half filled", o.name)
		}
	}
	fields := parts(reflect.ValueOf(&cfg).Elem(), "", map[string]any{})
	for path, p := range fields {
		if rows[p] != 1 {
			t.Errorf("%s has %d rows", path, rows[p])
		}
	}
	if len(rows) != len(fields) {
		t.Errorf("the table is about %d parts of %d", len(rows), len(fields))
	}
	for name, n := range names {
		if name != "" && n > 1 {
			t.Errorf("%d rows are named %s", n, name)
		}
	}
}

// Every rule is tried on every row, with the stored settings as a store returns
// them: a part that a resume takes from there has to be stored.
func TestAResumeJoinsEveryPartByItsRule(t *testing.T) {
	for i, o := range options {
		t.Run(fmt.Sprint(i, o.name), func(t *testing.T) {
			var was, with, none SessionConfig
			example(o.in(&was), "stored")
			if o.names != nil {
				*o.names(&was) = namesIn(o.in(&was))
			}
			example(o.in(&with), "another")
			rec := SessionRecord{Launch: was, Session: Session{ReasoningEffort: was.ReasoningEffort, ApprovalMode: was.ApprovalMode, SandboxMode: was.SandboxMode}}
			stored, err := json.Marshal(rec)
			if err != nil {
				t.Fatal(err)
			}
			rec = SessionRecord{}
			if err := json.Unmarshal(stored, &rec); err != nil {
				t.Fatal(err)
			}
			silent, err := ResumeConfig(rec, none)
			if o.resume == resumeAgain {
				if e := AsError(err); e.Code != CodeConfigMissing || !slices.Equal(e.Details["missing"].([]string), []string{"stored"}) {
					t.Errorf("without it: %v", err)
				}
				if strings.Contains(string(stored), "value of") {
					t.Error("its value is stored")
				}
				if got, err := ResumeConfig(rec, was); err != nil || !reflect.DeepEqual(o.in(&got).Interface(), o.in(&was).Interface()) {
					t.Errorf("given again it is %v, %v", o.in(&got), err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			loud, err := ResumeConfig(rec, with)
			if o.name == "provider" {
				if CodeOf(err) != CodeInvalidArgument {
					t.Errorf("another provider: %v", err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			want := map[resumeRule][2]*SessionConfig{resumeStored: {&was, &was}, resumeGiven: {&was, &with}, resumeFresh: {&none, &none}}[o.resume]
			for j, got := range []*SessionConfig{&silent, &loud} {
				if !reflect.DeepEqual(o.in(got).Interface(), o.in(want[j]).Interface()) {
					t.Errorf("row %d, given %v: %v, want %v", i, j == 1, o.in(got), o.in(want[j]))
				}
			}
		})
	}
}
