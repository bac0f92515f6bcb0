package harness

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/harness-mcp/harness-mcp/core"
)

// Whatever a row shows is compared, but for the clock and the cursor.
func TestASnapshotIsTheSameOnlyWithEveryFieldOfItTheSame(t *testing.T) {
	typ := reflect.TypeFor[core.Session]()
	for i := range typ.NumField() {
		var x, y core.Session
		alter(reflect.ValueOf(&x).Elem(), 1)
		alter(reflect.ValueOf(&y).Elem(), 1)
		if !sameSnapshot(&x, &y) {
			t.Fatal("two of the same are not")
		}
		alter(reflect.ValueOf(&y).Elem().Field(i), 2)
		name := typ.Field(i).Name
		if got, want := sameSnapshot(&x, &y), name == "UpdatedAt" || name == "LastSeq"; got != want {
			t.Errorf("with another %s the snapshot is the same: %t", name, got)
		}
	}
}

// alter returns a value, and all that hangs on it, a content of its own.
func alter(v reflect.Value, n int) {
	switch v.Kind() {
	case reflect.String:
		v.SetString(fmt.Sprint("text", n))
	case reflect.Int, reflect.Int64:
		v.SetInt(int64(n))
	case reflect.Uint8, reflect.Uint64:
		v.SetUint(uint64(n))
	case reflect.Float64:
		v.SetFloat(float64(n))
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		alter(v.Elem(), n)
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		alter(v.Index(0), n)
	case reflect.Map:
		key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		alter(key, n)
		alter(value, n)
		v.Set(reflect.MakeMap(v.Type()))
		v.SetMapIndex(key, value)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Unix(1, 0).Add(time.Duration(n))))
			return
		}
		for i := range v.NumField() {
			alter(v.Field(i), n)
		}
	default:
		panic("a kind of field that is not known here: " + v.Kind().String())
	}
}
