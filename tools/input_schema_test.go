package tools

import (
	"reflect"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestSchemasAreMadeFromStructs(t *testing.T) {
	want := `{"type":"object","properties":{` +
		`"name":{"type":"string","maxLength":20},` +
		`"mode":{"type":"string","enum":["default","auto_edit"]},` +
		`"yes":{"type":"boolean"},"maybe":{"type":"boolean"},` +
		`"count":{"type":"integer","minimum":1,"maximum":9},` +
		`"words":{"type":"array","items":{"type":"string"},"maxItems":3},` +
		`"env":{"type":"object","additionalProperties":{"type":"string"}},` +
		`"options":{"type":"object"},` +
		`"servers":{"type":"object","additionalProperties":{"type":"object"}},` +
		`"answers":{"type":"object","additionalProperties":{"type":"array","items":{"type":"string"}}},` +
		`"schema":{"type":"object","description":"a schema"},` +
		`"blocks":{"type":"array","items":{"type":"object","properties":{"type":{"type":"string","enum":["text","image"]},` +
		`"text":{"type":"string"},"data":{"type":"string","description":"base64"},"mimeType":{"type":"string"}},` +
		`"required":["type"],"additionalProperties":false}},` +
		`"wait_ms":{"type":"integer","minimum":0,"maximum":600000},` +
		`"idempotency_key":{"type":"string","maxLength":128}},` +
		`"required":["name"],"additionalProperties":false}`
	if d := cmp.Diff(want, string(inputSchema(fieldsOf(reflect.TypeFor[everyKind]())))); d != "" {
		t.Error(d)
	}
}
