package tools

import (
	"encoding/json"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// The arguments of start_session that ask how to start, and are no part of the
// configuration.
var startArguments = []string{"resume", "reuse", "idempotency_key"}

func TestEveryArgumentOfStartSessionReachesTheConfiguration(t *testing.T) {
	for _, f := range fieldsOf(reflect.TypeFor[startSessionArgs]()) {
		var in startSessionArgs
		v := reflect.ValueOf(&in).Elem().FieldByIndex(f.index)
		switch v.Interface().(type) {
		case string:
			v.SetString("x")
		case bool:
			v.SetBool(true)
		case []string:
			v.Set(reflect.ValueOf([]string{"x"}))
		case map[string]string:
			v.Set(reflect.ValueOf(map[string]string{"x": "y"}))
		case objectMap, anyObject:
			v.Set(reflect.ValueOf(map[string]json.RawMessage{"x": json.RawMessage("{}")}).Convert(v.Type()))
		case rawObject:
			v.SetBytes([]byte("{}"))
		case *int64:
			v.Set(reflect.ValueOf(ptr(int64(7))))
		default:
			t.Fatalf("%s has a new type, %s", f.name, v.Type())
		}
		reached := !reflect.DeepEqual(config(in), core.SessionConfig{})
		if reached == slices.Contains(startArguments, f.name) {
			t.Errorf("%s reaches the configuration: %v", f.name, reached)
		}
	}
}

func TestATimeoutOfZeroIsNone(t *testing.T) {
	var in startSessionArgs
	in.RequestMS, in.TurnIdleMS = ptr(int64(0)), ptr(int64(250))
	if got, want := config(in).Timeouts, (core.Timeouts{Request: -1, TurnIdle: 250 * time.Millisecond}); got != want {
		t.Errorf("timeouts = %+v, want %+v", got, want)
	}
}
