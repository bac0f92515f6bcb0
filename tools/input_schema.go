package tools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
)

// inputSchema makes the JSON Schema of an argument struct: one flat object that
// refuses unknown properties, with only the keywords that every client
// understands. Properties have the order of the struct, since people and models
// read them in order.
func inputSchema(fields []field) json.RawMessage {
	var b bytes.Buffer
	writeObject(&b, fields)
	return b.Bytes()
}

func writeObject(b *bytes.Buffer, fields []field) {
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, f := range fields {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, "%q:", f.name)
		writeField(b, f)
		if f.required {
			required = append(required, f.name)
		}
	}
	b.WriteByte('}')
	if len(required) > 0 {
		b.WriteString(`,"required":`)
		b.Write(encode(required))
	}
	b.WriteString(`,"additionalProperties":false}`)
}

func writeField(b *bytes.Buffer, f field) {
	t := f.typ
	if t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	b.WriteByte('{')
	writeType(b, t)
	if len(f.enum) > 0 {
		b.WriteString(`,"enum":`)
		b.Write(encode(f.enum))
	}
	low, high := boundWords(t)
	if f.min != nil {
		fmt.Fprintf(b, `,%q:%d`, low, *f.min)
	}
	if f.max != nil && *f.max != maxMilliseconds { // that one is no advice to a model
		fmt.Fprintf(b, `,%q:%d`, high, *f.max)
	}
	if f.doc != "" {
		b.WriteString(`,"description":`)
		b.Write(encode(f.doc))
	}
	b.WriteByte('}')
}

func boundWords(t reflect.Type) (low, high string) {
	switch t.Kind() {
	case reflect.String:
		return "minLength", "maxLength"
	case reflect.Slice:
		return "minItems", "maxItems"
	}
	return "minimum", "maximum"
}

// writeType writes the type and its element types. It panics on a type that it
// does not know: that is a bug of this package, found by any test that lists
// the tools.
func writeType(b *bytes.Buffer, t reflect.Type) {
	switch {
	case t == reflect.TypeFor[anyObject](), t == reflect.TypeFor[rawObject]():
		b.WriteString(`"type":"object"`)
	case t == reflect.TypeFor[objectMap]():
		b.WriteString(`"type":"object","additionalProperties":{"type":"object"}`)
	case t == reflect.TypeFor[answerMap]():
		b.WriteString(`"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}`)
	case t == reflect.TypeFor[map[string]string]():
		b.WriteString(`"type":"object","additionalProperties":{"type":"string"}`)
	case t.Kind() == reflect.String:
		b.WriteString(`"type":"string"`)
	case t.Kind() == reflect.Bool:
		b.WriteString(`"type":"boolean"`)
	case t.Kind() == reflect.Int64:
		b.WriteString(`"type":"integer"`)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.String:
		b.WriteString(`"type":"array","items":{"type":"string"}`)
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Struct:
		b.WriteString(`"type":"array","items":`)
		writeObject(b, fieldsOf(t.Elem()))
	default:
		panic(fmt.Sprintf("tools: no schema for %s", t))
	}
}
