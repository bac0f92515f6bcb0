package schema_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/harness-mcp/harness-mcp/internal/schema"
)

func TestDocumentsAreChecked(t *testing.T) {
	const object = `{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"n":{"type":"integer"}},"additionalProperties":false}`
	for name, c := range map[string]struct{ schema, doc, want string }{
		"met":              {object, `{"name":"x","n":1}`, ""},
		"missing":          {object, `{}`, "name"},
		"wrong type":       {object, `{"name":"x","n":"1"}`, "/n"},
		"unknown":          {object, `{"name":"x","more":1}`, "more"},
		"not JSON":         {object, `{`, "not JSON"},
		"schema alone":     {object, "", ""},
		"no schema":        {`{"type":"nothing"}`, "", "type"},
		"schema not JSON":  {`{`, "", "not JSON"},
		"another document": {`{"$ref":"http://127.0.0.1:1/other.json"}`, "", "nothing is fetched"},
		"a file":           {`{"$ref":"file:///etc/passwd"}`, "", "nothing is fetched"},
	} {
		t.Run(name, func(t *testing.T) {
			var doc json.RawMessage
			if c.doc != "" {
				doc = json.RawMessage(c.doc)
			}
			err := schema.Check(json.RawMessage(c.schema), doc)
			switch {
			case c.want == "" && err != nil:
				t.Errorf("error = %v", err)
			case c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)):
				t.Errorf("error = %v, want one with %q", err, c.want)
			case err != nil && strings.Contains(err.Error(), "\n"):
				t.Errorf("error of several lines: %q", err)
			}
		})
	}
}
